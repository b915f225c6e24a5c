// SPDX-License-Identifier: Apache-2.0
// Transpositions whose rows and columns are both too short for a kernel, because a longer loop lies
// between them on both sides (few images of few channels, N H W C to C H W N): that loop becomes
// the contiguous one of planes in scratch memory, and these become the result. Either step is a
// transposition of few columns or few rows, which have kernels of their own.
#pragma once

#include "convert/job.h"

namespace stowage::conversion {

/// Scratch memory of planes.
inline constexpr std::int64_t kPlanesBytes = 64 * 1024;

/// The loops that such a job walks in a unit.
struct Planes {
  Loop columns;        ///< contiguous in the source
  Loop rows;           ///< contiguous in the destination
  Loop between;        ///< next to the former in the source, to the latter in the destination
  int element;         ///< bytes
  std::int64_t pitch;  ///< bytes of a plane in scratch memory
};

/// Makes the job one by way of planes, of at least so many elements, if that is faster. `scalar`:
/// bytes of what the nest moves.
void choose_planes(const Nest& nest, int scalar, std::int64_t least, Job& job) noexcept;

Planes planes_of(const Job& job) noexcept;

/// n iterations of `between`: from the source to planes, and from planes to the destination.
Nest into_planes(const Planes& planes, std::int64_t n) noexcept;
Nest from_planes(const Planes& planes, std::int64_t n) noexcept;

}  // namespace stowage::conversion
