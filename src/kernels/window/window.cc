// SPDX-License-Identifier: Apache-2.0
#include "kernels/window/window.h"

#include <algorithm>

#include "base/checked.h"

namespace stowage {

TapRange taps_within(const Window& w, std::size_t axis, std::int64_t o, std::int64_t lo,
                     std::int64_t hi) {
  const std::int64_t first = o * w.stride[axis] - w.pad_begin[axis], d = w.dilation[axis];
  const std::int64_t begin = first < lo ? ceil_div(lo - first, d) : 0;
  const std::int64_t end = first < hi ? ceil_div(hi - first, d) : 0;
  return {std::min(begin, w.kernel[axis]),
          std::clamp(end, std::min(begin, w.kernel[axis]), w.kernel[axis])};
}

OutRange outputs_inside(const Window& w, std::size_t axis, std::int64_t first, std::int64_t reach) {
  const std::int64_t lo = w.pad_begin[axis] - first;
  const std::int64_t hi = w.in[axis] - 1 - reach - first + w.pad_begin[axis];
  OutRange r{};
  r.begin = std::min(lo > 0 ? ceil_div(lo, w.stride[axis]) : 0, w.out[axis]);
  r.end = hi < 0 ? r.begin : std::clamp(hi / w.stride[axis] + 1, r.begin, w.out[axis]);
  return r;
}

std::vector<std::int64_t> count_taps(const Window& w, std::size_t axis, bool count_padding) {
  const std::int64_t lo = count_padding ? -w.pad_begin[axis] : 0;
  const std::int64_t hi = w.in[axis] + (count_padding ? w.pad_end[axis] : 0);
  std::vector<std::int64_t> counts;
  for (std::int64_t o = 0; o < w.out[axis]; ++o)
    counts.push_back(taps_within(w, axis, o, lo, hi).count());
  return counts;
}

PhaseAxis phase_axis(const Window& w, std::size_t axis, std::int64_t first) {
  PhaseAxis p;
  p.first = first;
  p.count = first < w.out[axis] ? (w.out[axis] - 1 - first) / w.stride[axis] + 1 : 0;
  for (std::int64_t k = 0; k < w.kernel[axis]; ++k) {
    const std::int64_t at = first + w.pad_begin[axis] - k * w.dilation[axis];
    if (at % w.stride[axis] != 0) continue;
    p.taps.push_back(k);
    p.base.push_back(at / w.stride[axis]);
  }
  return p;
}

}  // namespace stowage
