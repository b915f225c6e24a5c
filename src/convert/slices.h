// SPDX-License-Identifier: Apache-2.0
// Casts of tensors whose layouts have tails: several nests make such a tensor, and what one of them
// reads or writes has gaps where the others' elements are. Slices of the whole tensor have none: in
// the one with wider elements they are a few ranges, which are cast as they lie, to or from scratch
// memory; a conversion without a cast moves the narrower elements between that and the other side.
#pragma once

#include "convert/job.h"

namespace stowage::conversion {

/// Scratch memory of a slice: half of a small L1, for what is read and written is in it as well.
inline constexpr std::int64_t kSliceScratch = 16 * 1024;

struct Slices {
  static constexpr int kMostLoops = 4;

  bool cast_first;         ///< the source is cast; else the destination is, last
  std::int64_t elements;   ///< of a range
  std::int64_t ranges, n;  ///< ranges of a slice; slices
  int range_loops, loops;
  /// Over the ranges of a slice and over slices, innermost first. The former have distances on the
  /// side that is cast alone; in scratch memory ranges follow each other.
  std::array<Loop, kMostLoops> range_loop, loop;
  /// Where the innermost loop over slices leaves less than one: how far behind its last slice
  /// another begins, which ends where the axis does and does a part of that one again. 0: nowhere.
  std::int64_t rest_is, rest_os;
};

/// Cuts both sides to the first slice, the one that is cast to the narrower elements in scratch
/// memory; false, and any sides, where a slice is one range of neither side, where what is cast has
/// short ranges, or where either would take more loops.
bool cut_slices(Side& src, Side& dst, Slices& out);

/// Where iteration i of the loops is, on the side that `stride` says.
std::int64_t place_of(std::span<const Loop> loops, std::int64_t i,
                      std::int64_t Loop::*stride) noexcept;

}  // namespace stowage::conversion
