// SPDX-License-Identifier: Apache-2.0
// Loops over the cells of a layout, derived from its digits: the same few lines serve every
// layout there is.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/text.h"
#include "kernels/kernel.h"

namespace stowage {

/// A tensor that is walked along with another one, the leader. `axis[i]` is its axis that runs
/// with axis i of the leader, or -1 where the same element serves all indices.
struct Follower {
  Mapping mapping;
  std::array<int, kMaxRank> axis{-1, -1, -1, -1, -1, -1, -1, -1};

  void fields(Archive& a) { a("mapping", mapping)("axis", axis); }
};

/// A loop with one stride, in cells, for the leader and each follower.
template <std::size_t N>
struct StridedLoop {
  std::int64_t extent = 1;
  std::array<std::int64_t, N> stride{};
};

/// Fuses neighbours of loops (outermost first) that step evenly in all N tensors.
template <std::size_t N>
std::vector<StridedLoop<N>> fuse_loops(const std::vector<StridedLoop<N>>& loops) {
  std::vector<StridedLoop<N>> out;
  for (const StridedLoop<N>& loop : loops) {
    if (loop.extent == 1) continue;
    bool even = !out.empty();
    for (std::size_t k = 0; even && k < N; ++k) {
      even = out.back().stride[k] == loop.stride[k] * loop.extent;
    }
    if (even) {
      out.back().extent *= loop.extent;
      out.back().stride = loop.stride;
    } else {
      out.push_back(loop);
    }
  }
  return out;
}

/// The stride of the follower's digit that is digit `d` of the leader, 0 where it has none.
inline std::int64_t follower_stride(const Follower& follower, const Digit& d) {
  const int axis = follower.axis[static_cast<std::size_t>(d.dim)];
  if (axis < 0) return 0;
  for (const Digit& f : follower.mapping.linear_digits()) {
    if (f.dim == axis && f.q == d.q && f.e == d.e) return f.stride;
  }
  fail(ErrorCode::internal, "layouts ", follower.mapping.layout().text(),
       " and its leader differ in a digit; this is a bug in Stowage");
}

/// Loops over every cell of the leader that is not a gap, tails included, in memory order,
/// outermost first. Stride 0 is the leader's.
template <std::size_t N>
std::vector<StridedLoop<N>> digit_loops(const Mapping& leader,
                                        const std::vector<Follower>& followers) {
  std::vector<Digit> digits(leader.linear_digits().begin(), leader.linear_digits().end());
  std::ranges::sort(digits, [](const Digit& a, const Digit& b) { return a.stride > b.stride; });
  std::vector<StridedLoop<N>> loops;
  for (const Digit& d : digits) {
    if (d.e == 1) continue;
    StridedLoop<N> loop;
    loop.extent = d.e;
    loop.stride[0] = d.stride;
    for (std::size_t k = 0; k + 1 < N && k < followers.size(); ++k) {
      loop.stride[k + 1] = follower_stride(followers[k], d);
    }
    loops.push_back(loop);
  }
  return fuse_loops(loops);
}

/// Calls f(offsets) for each index of the loops [0, count).
template <std::size_t N, class F>
void for_each_offset(const StridedLoop<N>* loops, std::size_t count, F&& f) {
  std::array<std::int64_t, 2 * kMaxDigits> index{};
  std::array<std::int64_t, N> offset{};
  for (;;) {
    f(offset);
    std::size_t i = count;
    for (;;) {
      if (i == 0) return;
      --i;
      for (std::size_t k = 0; k < N; ++k) offset[k] += loops[i].stride[k];
      if (++index[i] < loops[i].extent) break;
      for (std::size_t k = 0; k < N; ++k) offset[k] -= loops[i].stride[k] * loops[i].extent;
      index[i] = 0;
    }
  }
}

/// Writes zeros into the tail cells of a layout, or looks for them there.
///
/// A cell is in the tail when x >= extent for some axis, x being the sum of digit * q. With the
/// digits of `extent` as the bound, that is: equal digits down to some level, a greater digit
/// there (at the last level, an equal one, too), anything below. Each level is one strided box.
class TailZero {
 public:
  explicit TailZero(const Mapping& mapping) : bytes_(mapping.element_bytes()) {
    const Shape& shape = mapping.shape();
    if (shape.elements() == 0 && mapping.cells() == 0) return;
    for (int axis = 0; axis < shape.rank(); ++axis) add_axis(mapping, axis);
  }

  bool empty() const { return boxes_.empty(); }

  void run(std::byte* data) const noexcept {
    for (const Box& box : boxes_) {
      for_each_offset(box.loops.data(), box.loops.size(), [&](const auto& offset) {
        std::memset(data + (box.first + offset[0]) * bytes_, 0,
                    static_cast<std::size_t>(box.run * bytes_));
      });
    }
  }

  /// Every byte of the tail is zero.
  bool holds(const std::byte* data) const noexcept {
    bool zero = true;
    for (const Box& box : boxes_) {
      for_each_offset(box.loops.data(), box.loops.size(), [&](const auto& offset) {
        const std::byte* const run = data + (box.first + offset[0]) * bytes_;
        zero = zero && std::all_of(run, run + box.run * bytes_,
                                   [](std::byte b) { return b == std::byte{0}; });
      });
    }
    return zero;
  }

 private:
  struct Box {
    std::int64_t first = 0, run = 1;
    std::vector<StridedLoop<1>> loops;
  };

  void add_axis(const Mapping& mapping, int axis) {
    std::vector<Digit> own;
    for (const Digit& d : mapping.linear_digits()) {
      if (d.dim == axis) own.push_back(d);
    }
    std::ranges::sort(own, [](const Digit& a, const Digit& b) { return a.q > b.q; });
    std::int64_t rest = mapping.shape()[axis], first = 0;
    for (std::size_t level = 0; level < own.size(); ++level) {
      const std::int64_t bound = rest / own[level].q;
      const bool last = level + 1 == own.size();
      const std::int64_t from = bound + (last ? 0 : 1);
      if (from < own[level].e) add_box(mapping, own, level, first, from);
      if (bound >= own[level].e) return;  // the extent is not a cell: nothing overflows here
      first += bound * own[level].stride;
      rest -= bound * own[level].q;
    }
  }

  void add_box(const Mapping& mapping, const std::vector<Digit>& own, std::size_t level,
               std::int64_t first, std::int64_t from) {
    std::vector<StridedLoop<1>> loops;
    for (const Digit& d : mapping.linear_digits()) {
      std::int64_t extent = d.e;
      for (std::size_t k = 0; k <= level; ++k) {
        if (own[k] == d) extent = k == level ? d.e - from : 1;
      }
      loops.push_back({extent, {d.stride}});
    }
    std::ranges::sort(loops,
                      [](const auto& a, const auto& b) { return a.stride[0] > b.stride[0]; });
    Box box;
    box.first = first + from * own[level].stride;
    box.loops = fuse_loops(loops);
    if (!box.loops.empty() && box.loops.back().stride[0] == 1) {
      box.run = box.loops.back().extent;
      box.loops.pop_back();
    }
    for (const auto& loop : box.loops) {
      if (loop.extent == 0) return;
    }
    if (box.run > 0) boxes_.push_back(std::move(box));
  }

  std::int64_t bytes_;
  std::vector<Box> boxes_;
};

}  // namespace stowage
