// SPDX-License-Identifier: Apache-2.0
// A step of a plan over memory: pointers, and a kernel bound or a conversion compiled.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "plan/plan.h"
#include "stowage/convert.h"

namespace stowage {

/// Belongs to one session: a kernel may keep its working state there. The plan is shared.
struct BoundStep {
  std::vector<const std::byte*> in;
  std::vector<std::byte*> out;
  std::byte* scratch = nullptr;
  std::optional<Conversion> conversion;  ///< else `kernel`
  BoundKernel kernel;

  bool may_throw() const { return !conversion && kernel.may_throw(); }

  /// Throws only where may_throw(). `pool` may be null.
  void run(ThreadPool* pool) const;
};

/// Where each slot of the plan lies: constants in the plan, all else in `arena`; null: on a device.
/// `own`, if it is not empty: by slot, memory that a slot has instead of the arena's, or null.
std::vector<std::byte*> slot_pointers(const Plan& plan, std::byte* arena,
                                      std::span<std::byte* const> own = {});

/// Makes a bound step work where slots lie now.
void point(BoundStep& bound, const Step& step, std::span<std::byte* const> slots) noexcept;

/// `slots`: see slot_pointers. Throws what binding a kernel does, with the node in the trail.
BoundStep bind_step(const Plan& plan, const Step& step, std::span<std::byte* const> slots,
                    std::byte* arena);

}  // namespace stowage
