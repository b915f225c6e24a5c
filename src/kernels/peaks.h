// SPDX-License-Identifier: Apache-2.0
// Loops that do nothing but what bounds all others: multiply-adds, loads, stores.
#pragma once

#include <cstdint>

namespace stowage {

/// Multiply-adds in registers, none of which waits for the one before. The result keeps them from
/// being left out.
float multiply_adds(std::int64_t steps) noexcept;

/// Of a step of multiply_adds, a multiplication and an addition being two.
std::int64_t multiply_adds_flops() noexcept;

/// Floats that the loops below take at a time: `count` is a multiple of it.
inline constexpr std::int64_t kPeakGroup = 64;

/// The sum of `count` floats, in four sums, which reads as fast as the machine does.
float read_all(const float* x, std::int64_t count) noexcept;

/// z = x / 2 + y, which reads twice and writes once.
void triad(float* z, const float* x, const float* y, std::int64_t count) noexcept;

}  // namespace stowage
