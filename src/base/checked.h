// SPDX-License-Identifier: Apache-2.0
// Size arithmetic that throws instead of wrapping.
#pragma once

#include <cstdint>

#include "base/text.h"

namespace stowage {

inline std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t out;
  if (__builtin_mul_overflow(a, b, &out)) fail(ErrorCode::limit, "a size exceeds 64 bits");
  return out;
}

inline std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t out;
  if (__builtin_add_overflow(a, b, &out)) fail(ErrorCode::limit, "a size exceeds 64 bits");
  return out;
}

/// ceil(a / b) for a >= 0, b > 0.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }

/// The smallest multiple of b that is >= a.
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) { return ceil_div(a, b) * b; }

}  // namespace stowage
