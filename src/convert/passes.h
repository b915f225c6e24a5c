// SPDX-License-Identifier: Apache-2.0
// Conversions in two passes: where both sides are made of short runs, as between two packings of
// weights, no block of rows and columns is long enough for a kernel. A tile of the tensor that has
// long runs on both sides is moved into scratch memory in a layout between the two, and from there
// to the destination; each of the passes is a conversion whose rows and columns are long.
#pragma once

#include "convert/job.h"

namespace stowage::conversion {

/// Scratch memory of a tile: half of a small L1, which source and destination pass through.
inline constexpr std::int64_t kTileBytes = 16 * 1024;

struct Passes {
  Nest first, second;  ///< from the source to the tile, and from the tile to the destination
};

/// Makes it a job of two passes of the nest, which has a tile and whose scalars have so many bytes.
void set_passes(const Nest& nest, int scalar, const Between& between, Job& job) noexcept;

/// Likewise, by way of the best layout, if that saves at least so many nanoseconds.
void choose_passes(const Nest& nest, int scalar, double least, const Tuning& tuning,
                   Job& job) noexcept;

/// The passes of a job of the nest, of units of so many iterations of its chain a.
void make_passes(const Nest& nest, const Job& job, std::int64_t part, Passes& out) noexcept;

}  // namespace stowage::conversion
