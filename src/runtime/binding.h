// SPDX-License-Identifier: Apache-2.0
// Memory of the caller as the memory of model inputs and outputs: what a plan allows.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "plan/plan.h"
#include "stowage/model.h"

namespace stowage {

/// How a plan takes memory that is bound to a port.
struct PortPlace {
  PortFormat format;
  /// The slot that is no part of another one and whose memory the caller's replaces; -1: none, run
  /// copies.
  int replaced = -1;
  /// Slots that run fills from it, for an input; for an output the one that it is copied from.
  std::vector<int> copied;
};

/// An input lies where the caller has it if a kernel of the host reads it in its layout, and no
/// output lies in its memory: that would change when the caller changes the input.
PortPlace input_place(const Plan& plan, int input);

/// An output lies where the caller wants it unless it is a constant, on a device, or shares its
/// memory with an input or another output.
PortPlace output_place(const Plan& plan, int output);

/// Enters into `own` (by slot; see slot_pointers) that the slot `root` lies at `at`, and with it
/// what the plan has made a part of it, so that its pieces are still written where they belong.
/// Outputs among them have places of their own; they are copied from those.
void replace_memory(const Plan& plan, int root, std::byte* at, std::span<std::byte*> own);

/// Throws Error(usage) unless `view`, of `bytes` bytes, is memory of this format. `view` has the
/// axes of the port.
void expect_format(const PortFormat& format, const TensorView& view, std::size_t bytes);

}  // namespace stowage
