// SPDX-License-Identifier: Apache-2.0
// Casts of tensors whose layouts have tails: several nests make such a tensor, and what one of them
// reads or writes has gaps where the others' elements are. Slices of the whole tensor have none: in
// the one with wider elements they are a few ranges, which are cast as they lie, to or from scratch
// memory; a conversion without a cast moves the narrower elements between that and the other side.
#pragma once

#include "convert/job.h"

namespace stowage::conversion {

/// Scratch memory of a slice: half of a small L1, which the other side passes through.
inline constexpr std::int64_t kSliceScratch = 16 * 1024;

struct Slices {
  static constexpr int kMostLoops = 4;

  bool cast_first;         ///< the source is cast; else the destination is, last
  std::int64_t elements;   ///< of a range
  std::int64_t ranges, n;  ///< ranges of a slice; slices but for the rests below
  int range_loops, loops;
  /// Over the ranges of a slice and over slices, innermost first. The former have distances on the
  /// side that is cast alone; in scratch memory ranges follow each other.
  std::array<Loop, kMostLoops> range_loop, loop;
  /// Where the innermost loop over slices leaves less than one: how far behind its last slice
  /// another begins, which ends where the axis does and does a part of that one again. 0: nowhere.
  std::int64_t rest_is, rest_os;

  /// Whether such a rest follows slice i.
  bool has_rest(std::int64_t i) const noexcept { return rest_os > 0 && (i + 1) % loop[0].n == 0; }

  std::int64_t rests() const noexcept { return rest_os > 0 ? n / loop[0].n : 0; }
};

/// Cuts both sides to the first slice, the one that is cast to the narrower elements in scratch
/// memory. False, and any sides: no axis without tails is long enough, a slice is one range of
/// neither side, what is cast has short ranges or more tails than elements, or there would be more
/// than kMostLoops.
bool cut_slices(Side& src, Side& dst, Slices& out);

/// Where iteration i of the loops is, on the side that `stride` says.
std::int64_t place_of(std::span<const Loop> loops, std::int64_t i,
                      std::int64_t Loop::*stride) noexcept;

}  // namespace stowage::conversion
