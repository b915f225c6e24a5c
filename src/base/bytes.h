// SPDX-License-Identifier: Apache-2.0
// Aligned memory.
#pragma once

#include <cstddef>

namespace stowage {

/// Alignment of every tensor and of every buffer of an arena.
inline constexpr std::size_t kAlignment = 64;
/// Kernels may read this far behind the last cell of a buffer.
inline constexpr std::size_t kVectorSlack = 64;

/// Zeroed, kAlignment-aligned; release with std::free. Throws Error(limit).
std::byte* allocate_zeroed(std::size_t bytes);

}  // namespace stowage
