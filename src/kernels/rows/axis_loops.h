// SPDX-License-Identifier: Apache-2.0
// The cells of a tensor as loops along some axes and loops over the others.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/copy/digit_loops.h"

namespace stowage {

/// Loops along the digits of the axes for which `pick` is true, outermost first, fused; in the
/// order of their cells, which need not be that of their indices (keep_order).
template <class F>
std::vector<StridedLoop<1>> loops_along(const Mapping& mapping, F pick) {
  std::vector<StridedLoop<1>> loops;
  for (const Digit& d : mapping.linear_digits()) {
    if (d.e > 1 && pick(static_cast<int>(d.dim))) loops.push_back({d.e, {d.stride}});
  }
  std::ranges::sort(loops, [](const auto& a, const auto& b) { return a.stride[0] > b.stride[0]; });
  return fuse_loops(loops);
}

/// Cells of larger offsets along these axes have larger indices: blocks of an axis may also lie
/// inside one another, as after a shuffle of channels that moves no byte.
template <class F>
bool keep_order(const Mapping& mapping, F pick) {
  std::vector<Digit> digits;
  for (const Digit& d : mapping.linear_digits()) {
    if (d.e > 1 && pick(static_cast<int>(d.dim))) digits.push_back(d);
  }
  std::ranges::sort(digits, [](const Digit& a, const Digit& b) { return a.stride > b.stride; });
  return std::ranges::is_sorted(digits, [](const Digit& a, const Digit& b) {
    return a.dim != b.dim ? a.dim < b.dim : a.q > b.q;
  });
}

/// The axes for which `pick` is true have no tail.
template <class F>
bool no_tails(const Mapping& mapping, F pick) {
  for (int i = 0; i < mapping.shape().rank(); ++i) {
    if (pick(i) && mapping.padded(i) != mapping.shape()[i]) return false;
  }
  return true;
}

/// Contiguous cells.
struct CellRun {
  std::int64_t first = 0, count = 1;
};

/// The elements along the axes for which `pick` is true, in the order of their indices, as runs.
/// No tail is among them.
template <class F>
std::vector<CellRun> runs_along(const Mapping& mapping, F pick) {
  const Shape& shape = mapping.shape();
  std::int64_t count = 1;
  for (int i = 0; i < shape.rank(); ++i) count *= pick(i) ? shape[i] : 1;
  std::array<std::int64_t, kMaxRank> index{};
  std::vector<CellRun> runs;
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t cell =
        mapping.offset({index.data(), static_cast<std::size_t>(shape.rank())});
    if (!runs.empty() && runs.back().first + runs.back().count == cell) {
      ++runs.back().count;
    } else {
      runs.push_back({cell, 1});
    }
    for (int i = shape.rank(); i-- > 0;) {
      if (!pick(i)) continue;
      std::int64_t& x = index[static_cast<std::size_t>(i)];
      if (++x < shape[i]) break;
      x = 0;
    }
  }
  return runs;
}

/// Takes the innermost loop when it is contiguous in all N tensors; 1 otherwise.
template <std::size_t N>
std::int64_t take_run(std::vector<StridedLoop<N>>& loops) {
  if (loops.empty()) return 1;
  for (std::int64_t s : loops.back().stride) {
    if (s != 1) return 1;
  }
  const std::int64_t run = loops.back().extent;
  loops.pop_back();
  return run;
}

template <std::size_t N>
std::int64_t loop_count(const std::vector<StridedLoop<N>>& loops) {
  std::int64_t count = 1;
  for (const auto& l : loops) count *= l.extent;
  return count;
}

/// Offsets of one index of the fused index space of the loops.
template <std::size_t N>
std::array<std::int64_t, N> loop_offset(const std::vector<StridedLoop<N>>& loops,
                                        std::int64_t index) {
  std::array<std::int64_t, N> offset{};
  for (std::size_t k = loops.size(); k-- > 0;) {
    const std::int64_t i = index % loops[k].extent;
    index /= loops[k].extent;
    for (std::size_t s = 0; s < N; ++s) offset[s] += i * loops[k].stride[s];
  }
  return offset;
}

}  // namespace stowage
