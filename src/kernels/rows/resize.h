// SPDX-License-Identifier: Apache-2.0
// Resizing as blends of the last two axes.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/kernel.h"
#include "kernels/rows/resize_taps.h"

namespace stowage {

struct BlendParams {
  ResizeRule rule;
  Mapping from, to;
  int workers = 1;

  void fields(Archive& a) { a("rule", rule)("from", from)("to", to)("workers", workers); }
};

extern const KernelDef kResizeBlend;

/// Taps along the rows that it takes.
inline constexpr int kMostBlendTaps = 16;

struct BlendRows {
  std::int64_t pixel = 1;           ///< contiguous floats inside of w
  std::int64_t scratch_floats = 0;  ///< of one worker
};

/// Nothing unless rows are dense: h and w plain digits, and what lies inside of w contiguous.
std::optional<BlendRows> blend_rows_of(const BlendParams& p);

}  // namespace stowage
