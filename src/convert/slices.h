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
  bool cast_first;        ///< the source is cast; else the destination is, last
  std::int64_t elements;  ///< of a range
  Chain ranges;           ///< of a slice; in scratch memory they follow each other
  Chain parts;            ///< slices, but for the rests below
  /// Where the innermost loop of `parts` leaves less than a slice: how far behind its last one
  /// another begins, which ends where the axis does and does a part of that one again. 0: nowhere.
  std::int64_t rest_is, rest_os;

  /// Whether such a rest follows slice i.
  bool has_rest(std::int64_t i) const noexcept {
    return rest_os > 0 && (i + 1) % parts.loops[0].n == 0;
  }

  std::int64_t rests() const noexcept { return rest_os > 0 ? parts.n / parts.loops[0].n : 0; }
};

/// Cuts both sides to the first slice, the one that is cast to the narrower elements in scratch
/// memory. False, and any sides: no axis without tails is long enough, a slice is one range of
/// neither side, what is cast has short ranges or more tails than elements, or there would be more
/// loops than a chain has.
bool cut_slices(Side& src, Side& dst, Slices& out);

}  // namespace stowage::conversion
