// SPDX-License-Identifier: Apache-2.0
// Aligned memory.
#pragma once

#include <cstddef>
#include <cstdlib>

namespace stowage {

/// Alignment of every tensor and of every buffer of an arena.
inline constexpr std::size_t kAlignment = 64;
/// Kernels may read this far behind the last cell of a buffer.
inline constexpr std::size_t kVectorSlack = 64;

/// kAlignment-aligned; release with std::free. From 1 MiB on in huge pages, where the system gives
/// them on request: the addresses that a conversion touches at once are in more 4 KiB pages than
/// the first level of address translation knows. Throws Error(limit).
void* allocate(std::size_t bytes);

/// Zeroed, kAlignment-aligned; release with std::free. Throws Error(limit).
std::byte* allocate_zeroed(std::size_t bytes);

/// Releases either, for smart pointers.
struct Free {
  void operator()(void* p) const noexcept { std::free(p); }
};

}  // namespace stowage
