// SPDX-License-Identifier: Apache-2.0
// What devices store of f32 in half precision, for the host that converts for them.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

namespace stowage {

/// The largest finite half.
constexpr float kLargestHalf = 65504;

/// Finite, and beyond what a half has.
inline bool beyond_half(float v) noexcept { return std::isfinite(v) && std::abs(v) > kLargestHalf; }

/// Finite values end at the largest half; infinities and NaN are kept.
inline void clip_to_half(std::span<float> values) noexcept {
  for (float& v : values) {
    if (beyond_half(v)) v = std::copysign(kLargestHalf, v);
  }
}

}  // namespace stowage
