// SPDX-License-Identifier: Apache-2.0
#include "kernels/rows/resize.h"

#include <algorithm>
#include <vector>

#include "base/checked.h"
#include "base/numbers.h"
#include "base/thread_pool.h"
#include "kernels/copy/digit_loops.h"
#include "kernels/rows/axis_loops.h"
#include "kernels/rows/rows.h"

namespace stowage {

namespace {

/// Blends of the last two axes: rows first, into a row as wide as the input, then pixels of
/// `pixel` floats along it.
struct BlendKernel {
  AxisTaps y, x;
  std::int64_t pixel = 1, in_width = 1, out_width = 1, out_height = 1;
  std::int64_t in_row = 0, out_row = 0;
  std::vector<StridedLoop<2>> over;  ///< strides of output and input
  std::int64_t row_floats = 0;       ///< scratch of one worker's row
  int workers = 1;

  void run(const KernelArgs& args) const noexcept {
    const std::int64_t rows = loop_count(over) * out_height;
    const std::int64_t share = ceil_div(rows, workers);
    parallel(args.pool, at(workers), [&](std::size_t worker) {
      float* blended =
          reinterpret_cast<float*>(args.scratch) + static_cast<std::int64_t>(worker) * row_floats;
      const auto first = static_cast<std::int64_t>(worker) * share;
      for (std::int64_t r = first; r < std::min(first + share, rows); ++r) {
        const auto offset = loop_offset(over, r / out_height);
        row(r % out_height, args.input<float>(0) + offset[1], args.output<float>(0) + offset[0],
            blended);
      }
    });
  }

  void row(std::int64_t i, const float* in, float* out, float* blended) const noexcept {
    const std::int64_t* index = y.index.data() + i * y.count;
    const float* from = in + index[0] * in_row;
    if (y.count > 1) {
      const float* rows[kMostBlendTaps] = {};
      for (int t = 0; t < y.count; ++t) rows[t] = in + index[t] * in_row;
      blend_rows(rows, y.weight.data() + i * y.count, y.count, blended, in_width * pixel);
      from = blended;
    }
    float* to = out + i * out_row;
    blend_pixels(from, x.index.data(), x.weight.data(), x.count, to, out_width, pixel);
  }
};

/// All but the taps. Nothing unless rows are dense: h and w plain digits, and what lies inside of w
/// contiguous.
std::optional<BlendKernel> blend_kernel(const Mapping& from, const Mapping& to) {
  const int rank = to.shape().rank(), w = rank - 1, h = rank - 2;
  const auto digit_of = [](const Mapping& m, int axis) -> std::optional<Digit> {
    std::optional<Digit> found;
    int count = 0;
    for (const Digit& d : m.linear_digits()) {
      if (d.dim == axis && ++count == 1) found = d;
    }
    if (count == 1 && found->q == 1 && found->e == m.shape()[axis]) return found;
    return std::nullopt;
  };
  const auto in_w = digit_of(from, w), in_h = digit_of(from, h), out_w = digit_of(to, w),
             out_h = digit_of(to, h);
  if (!in_w || !in_h || !out_w || !out_h || in_w->stride != out_w->stride) return std::nullopt;
  BlendKernel k;
  k.pixel = in_w->stride;
  Follower follower{from, {}};
  for (int i = 0; i < rank; ++i) follower.axis[at(i)] = i;
  // Loops over everything but h and w; the innermost must be the pixel.
  for (const Digit& d : to.linear_digits()) {
    if (d.e == 1 || d.dim == w || d.dim == h) continue;
    k.over.push_back({d.e, {d.stride, follower_stride(follower, d)}});
  }
  std::ranges::sort(k.over, [](const auto& a, const auto& b) { return a.stride[0] > b.stride[0]; });
  k.over = fuse_loops(k.over);
  if (take_run(k.over) != k.pixel) return std::nullopt;
  for (const auto& loop : k.over) {
    if (loop.stride[0] < k.pixel) return std::nullopt;
  }
  k.in_width = from.shape()[w];
  k.out_width = to.shape()[w];
  k.out_height = to.shape()[h];
  k.in_row = in_h->stride;
  k.out_row = out_h->stride;
  k.row_floats = round_up(k.in_width * k.pixel + 16, 16);
  return k;
}

struct BoundBlend {
  BlendKernel kernel;
  TailZero tails;
};

BoundBlend bind_blend(const BlendParams& p) {
  BoundBlend b{*blend_kernel(p.from, p.to), TailZero(p.to)};
  b.kernel.y = axis_taps(p.rule, p.rule.in.size() - 2);
  b.kernel.x = axis_taps(p.rule, p.rule.in.size() - 1);
  b.kernel.workers = p.workers;
  return b;
}

void run_blend(const BoundBlend& b, const KernelArgs& args) noexcept {
  b.kernel.run(args);
  b.tails.run(args.out[0]);
}

}  // namespace

constexpr KernelDef kResizeBlend = kernel_def<BlendParams, bind_blend, run_blend>("resize_blend");

std::optional<BlendRows> blend_rows_of(const BlendParams& p) {
  const auto kernel = blend_kernel(p.from, p.to);
  if (!kernel) return std::nullopt;
  return BlendRows{kernel->pixel, kernel->row_floats};
}

}  // namespace stowage
