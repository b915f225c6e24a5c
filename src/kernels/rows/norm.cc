// SPDX-License-Identifier: Apache-2.0
#include "kernels/rows/norm.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/numbers.h"
#include "base/thread_pool.h"
#include "kernels/copy/digit_loops.h"
#include "kernels/rows/axis_loops.h"
#include "kernels/rows/rows.h"

namespace stowage {

namespace {

/// Product of extents [from, end).
std::int64_t elements_from(const Shape& shape, int from) {
  std::int64_t count = 1;
  for (int i = from; i < shape.rank(); ++i) count = checked_mul(count, shape[i]);
  return count;
}

/// Moments over the pixels of every channel of every image, whatever lies innermost: channels, and
/// then as many as are contiguous are taken together, or pixels. Or a few pixels of a channel, and
/// the next channel's behind them, as when groups of channels of an image that lies channels last
/// have become the channels: then all of these are taken together, and sums of a channel's columns
/// added up.
struct InstanceNorm {
  static constexpr std::int64_t kColumns = 64;

  std::vector<StridedLoop<2>> over;   ///< images and channels: strides of x, of scale and bias
  std::vector<StridedLoop<1>> along;  ///< pixels
  std::int64_t columns = 1;           ///< contiguous cells of channels
  std::int64_t each = 1;              ///< contiguous pixels of each of these channels
  std::int64_t run = 1;               ///< contiguous pixels where there are no such channels
  std::int64_t rows = 1,
               stride = 0;  ///< the innermost loop of pixels where channels are contiguous
  std::int64_t pixels = 1;
  float epsilon = 0;

  void operator()(const KernelArgs& args) const noexcept {
    // A line of each row is the least that pays: smaller parts would read lines twice.
    constexpr std::int64_t kLine = kAlignment / sizeof(float);
    const std::int64_t outer = loop_count(over);
    const int threads = args.pool == nullptr ? 1 : args.pool->threads();
    std::int64_t chunk = kColumns;
    while (chunk > kLine && outer * ceil_div(columns, chunk) < threads) chunk /= 2;
    chunk = std::max(chunk / each, std::int64_t{1}) * each;
    const std::int64_t chunks = ceil_div(columns, chunk);
    parallel(args.pool, at(outer * chunks), [&](std::size_t task) {
      const auto i = static_cast<std::int64_t>(task);
      const std::int64_t first = i % chunks * chunk;
      const auto offset = loop_offset(over, i / chunks);
      const std::int64_t channel = offset[1] + first / each;
      channels(args.input<float>(0) + offset[0] + first, args.output<float>(0) + offset[0] + first,
               args.input<float>(1) + channel, args.input<float>(2) + channel,
               std::min(chunk, columns - first));
    });
  }

  /// Adds what f(x, sums) adds for each innermost loop. Loop by loop, so that the sums of many
  /// pixels do not lose what they are made of.
  template <class F>
  void gather(const float* x, std::int64_t n, float* mean_of, F f) const noexcept {
    std::array<double, kColumns> sums{};
    for_each_offset(along.data(), along.size(), [&](const auto& offset) {
      std::array<float, kColumns> part{};
      f(x + offset[0], part.data());
      for (std::int64_t v = 0; v < n; ++v) sums[at(v)] += static_cast<double>(part[at(v)]);
    });
    for (std::int64_t first = 0; first < n; first += each) {
      double sum = 0;
      for (std::int64_t v = first; v < first + each; ++v) sum += sums[at(v)];
      std::fill_n(mean_of + first, each, static_cast<float>(sum / static_cast<double>(pixels)));
    }
  }

  void channels(const float* x, float* y, const float* scale, const float* bias,
                std::int64_t n) const noexcept {
    float mean[kColumns], factor[kColumns], shift[kColumns];
    const bool by_row = run > 1;
    gather(x, n, mean, [&](const float* from, float* sums) {
      if (by_row) {
        *sums = reduce_row(Reduction::sum, from, run, 0);
      } else {
        reduce_columns(Reduction::sum, from, stride, rows, n, sums);
      }
    });
    gather(x, n, factor, [&](const float* from, float* sums) {
      if (by_row) {
        *sums = deviation_row(from, run, *mean, 0);
      } else {
        deviation_columns(from, stride, rows, n, mean, sums);
      }
    });
    for (std::int64_t v = 0; v < n; ++v) {
      factor[v] = scale[v / each] / std::sqrt(factor[v] + epsilon);
      shift[v] = bias[v / each];
    }
    for_each_offset(along.data(), along.size(), [&](const auto& offset) {
      if (by_row) {
        normalise_row(x + offset[0], y + offset[0], run, *mean, *factor, *shift);
      } else {
        normalise_columns(x + offset[0], y + offset[0], stride, rows, n, mean, factor, shift);
      }
    });
  }
};

std::optional<InstanceNorm> instance_norm_of(const Mapping& mapping, const Mapping& parameter) {
  const auto is_pixel = [](int i) { return i >= 2; };
  if (!no_tails(mapping, is_pixel)) return std::nullopt;
  InstanceNorm k;
  const Follower follower{parameter, {-1, 0, -1, -1, -1, -1, -1, -1}};
  for (const Digit& d : mapping.linear_digits()) {
    if (d.e == 1 || is_pixel(d.dim)) continue;
    k.over.push_back({d.e, {d.stride, follower_stride(follower, d)}});
  }
  std::ranges::sort(k.over, [](const auto& a, const auto& b) { return a.stride[0] > b.stride[0]; });
  k.over = fuse_loops(k.over);
  k.along = loops_along(mapping, is_pixel);
  k.columns = take_run(k.over);
  if (k.columns == 1) {
    k.run = take_run(k.along);
    const auto follows = [&](const StridedLoop<2>& l) {
      return l.stride[0] == k.run && l.stride[1] == 1;
    };
    if (k.run > 1 && 2 * k.run <= InstanceNorm::kColumns && !k.over.empty() &&
        follows(k.over.back())) {
      k.each = std::exchange(k.run, 1);
      k.columns = k.each * k.over.back().extent;
      k.over.pop_back();
    }
  }
  if (k.columns > 1 && !k.along.empty()) {
    k.rows = k.along.back().extent;
    k.stride = k.along.back().stride[0];
    k.along.pop_back();
  }
  k.pixels = elements_from(mapping.shape(), 2);
  return k;
}

struct BoundInstanceNorm {
  InstanceNorm norm;
  TailZero tails;
};

BoundInstanceNorm bind_instance_norm(const InstanceNormParams& p) {
  BoundInstanceNorm b{*instance_norm_of(p.mapping, p.parameter), TailZero(p.mapping)};
  b.norm.epsilon = p.epsilon;
  return b;
}

void run_instance_norm(const BoundInstanceNorm& b, const KernelArgs& args) noexcept {
  b.norm(args);
  b.tails.run(args.out[0]);
}

/// Moments over runs of contiguous elements.
struct LayerNorm {
  static constexpr std::int64_t kTaskElements = 16384;

  std::vector<StridedLoop<1>> over;  ///< where the runs begin
  std::int64_t run = 1;
  float epsilon = 0;

  void operator()(const KernelArgs& args) const noexcept {
    const float* bias = args.optional_input<float>(2);
    const std::int64_t runs = loop_count(over);
    const std::int64_t group = std::max<std::int64_t>(kTaskElements / run, 1);
    parallel(args.pool, at(ceil_div(runs, group)), [&](std::size_t task) {
      const std::int64_t first = static_cast<std::int64_t>(task) * group;
      for (std::int64_t i = first; i < std::min(first + group, runs); ++i) {
        const std::int64_t offset = loop_offset(over, i)[0];
        const float* x = args.input<float>(0) + offset;
        const auto count = static_cast<float>(run);
        const float mean = reduce_row(Reduction::sum, x, run, 0) / count;
        const float variance = deviation_row(x, run, mean, 0) / count;
        normalise_row_by_element(x, args.output<float>(0) + offset, run, mean,
                                 1 / std::sqrt(variance + epsilon), args.input<float>(1), bias);
      }
    });
  }
};

LayerNorm bind_layer_norm(const LayerNormParams& p) {
  LayerNorm k;
  k.run = elements_from(p.mapping.shape(), p.axis);
  k.over = loops_along(p.mapping, [&](int i) { return i < p.axis; });
  k.epsilon = p.epsilon;
  return k;
}

void run_layer_norm(const LayerNorm& norm, const KernelArgs& args) noexcept { norm(args); }

bool is_channel(int i) { return i == 1; }

struct Lrn {
  LrnCall call;
  std::vector<StridedLoop<1>> over;
  std::int64_t columns = 1;
  TailZero tails;
};

/// Nothing unless the channels are one loop, in their order, and pixels are contiguous.
std::optional<Lrn> lrn_of(const LrnParams& p) {
  const auto along = loops_along(p.mapping, is_channel);
  if (along.size() != 1 || !no_tails(p.mapping, is_channel) || !keep_order(p.mapping, is_channel)) {
    return std::nullopt;
  }
  Lrn lrn{{p.mapping.shape()[1], along[0].stride[0], p.before, p.after, p.alpha, p.beta, p.bias},
          loops_along(p.mapping, [](int i) { return !is_channel(i); }),
          1,
          TailZero(p.mapping)};
  lrn.columns = take_run(lrn.over);
  if (lrn.columns == 1) return std::nullopt;
  return lrn;
}

Lrn bind_lrn(const LrnParams& p) { return *lrn_of(p); }

void run_lrn(const Lrn& lrn, const KernelArgs& args) noexcept {
  constexpr std::int64_t kColumns = 64;
  const std::int64_t chunks = ceil_div(lrn.columns, kColumns);
  parallel(args.pool, at(loop_count(lrn.over) * chunks), [&](std::size_t task) {
    const auto i = static_cast<std::int64_t>(task);
    const std::int64_t first = i % chunks * kColumns;
    const std::int64_t offset = loop_offset(lrn.over, i / chunks)[0] + first;
    lrn_columns(lrn.call, args.input<float>(0) + offset, args.output<float>(0) + offset,
                std::min(kColumns, lrn.columns - first));
  });
  lrn.tails.run(args.out[0]);
}

}  // namespace

constexpr KernelDef kInstanceNorm =
    kernel_def<InstanceNormParams, bind_instance_norm, run_instance_norm>("instance_norm");
constexpr KernelDef kLayerNorm =
    kernel_def<LayerNormParams, bind_layer_norm, run_layer_norm>("layer_norm");
constexpr KernelDef kLrn = kernel_def<LrnParams, bind_lrn, run_lrn>("lrn_columns");

InstanceNormFit instance_norm_fit(const InstanceNormParams& p) {
  const auto norm = instance_norm_of(p.mapping, p.parameter);
  if (!norm) return InstanceNormFit::none;
  return norm->run > 1 || norm->columns > 1 ? InstanceNormFit::runs : InstanceNormFit::single;
}

bool layer_norm_fits(const LayerNormParams& p) {
  const auto along = loops_along(p.mapping, [&](int i) { return i >= p.axis; });
  const bool contiguous = along.empty() || (along.size() == 1 && along[0].stride[0] == 1);
  return contiguous && p.mapping.bijective();
}

bool lrn_fits(const LrnParams& p) { return lrn_of(p).has_value(); }

}  // namespace stowage
