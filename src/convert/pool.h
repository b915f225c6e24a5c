// SPDX-License-Identifier: Apache-2.0
// The loops of a nest that nothing has taken yet.
#pragma once

#include <algorithm>

#include "convert/nest.h"

namespace stowage::conversion {

inline constexpr Loop kOneIteration{
    .n = 1, .valid = 1, .is = 0, .os = 0, .ps = 0, .step = 0, .dim = -1};

struct Pool {
  std::array<Loop, kMaxLoops> loops;
  int count = 0;

  explicit Pool(const Nest& nest) noexcept : count(nest.count) {
    std::copy_n(nest.loops.begin(), nest.count, loops.begin());
  }

  /// What all loops together move, of elements of so many bytes.
  std::int64_t bytes(std::int64_t element) const noexcept {
    for (int i = 0; i < count; ++i) element *= loops[i].n;
    return element;
  }

  int find_source(std::int64_t stride) const noexcept {
    for (int i = 0; i < count; ++i) {
      if (loops[i].dim < 0 && loops[i].is == stride) return i;
    }
    return -1;
  }

  int find_destination(std::int64_t stride) const noexcept {
    for (int i = 0; i < count; ++i) {
      if (loops[i].dim < 0 && loops[i].os == stride) return i;
    }
    return -1;
  }

  /// The loop, neither a computed one nor a digit of an end, whose iterations are nearest to each
  /// other; -1: none.
  int find_nearest(std::int64_t Loop::*stride) const noexcept {
    int best = -1;
    for (int i = 0; i < count; ++i) {
      if (loops[i].dim < 0 && (best < 0 || loops[i].*stride < loops[best].*stride)) best = i;
    }
    return best;
  }

  /// The same of those whose iterations all have a source.
  int find_nearest_whole(std::int64_t Loop::*stride) const noexcept {
    int best = -1;
    for (int i = 0; i < count; ++i) {
      const Loop& loop = loops[i];
      if (loop.dim >= 0 || loop.valid < loop.n) continue;
      if (best < 0 || loop.*stride < loops[best].*stride) best = i;
    }
    return best;
  }

  Loop take(int i) noexcept {
    const Loop out = loops[i];
    for (--count; i < count; ++i) loops[i] = loops[i + 1];
    return out;
  }

  /// n iterations, a divisor of those that there are; a loop over such parts stays, if any.
  Loop take_part(int i, std::int64_t n) noexcept {
    Loop out = loops[i], &rest = loops[i];
    out.n = n;
    out.valid = std::min(n, out.valid);
    rest.n = rest.valid = rest.n / n;
    rest.is *= n;
    rest.os *= n;
    rest.ps *= n;
    if (rest.n == 1) take(i);
    return out;
  }
};

}  // namespace stowage::conversion
