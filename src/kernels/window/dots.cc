// SPDX-License-Identifier: Apache-2.0
#include "kernels/window/dots.h"

#include <algorithm>

#include "base/checked.h"
#include "base/thread_pool.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/window/dots.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/first_lanes-inl.h"
#include "kernels/math-inl.h"
#include "kernels/posts-inl.h"

#ifndef STOWAGE_KERNELS_DOTS_ONCE
#define STOWAGE_KERNELS_DOTS_ONCE

namespace stowage {
namespace {

constexpr std::int64_t kMostOutputs = 8, kMostTapRows = 64;

struct Dots {
  ConvFacts facts;
  BoundPosts posts;
  int bias = -1;
  int threads = 1;
  OutRange inside;  ///< of a row: the pixels that read no padding left and right

  std::int64_t rows() const { return facts.batch * facts.w.out[0] * facts.w.out[1]; }

  /// Floats of a row of taps for one output channel.
  std::int64_t tap_row() const { return facts.w.kernel[2] * facts.in_channels; }
};

struct DotsCall {
  const float* in;
  const float* weights;
  const float* bias;  // may be null; padded
  const float* operands[kMostPosts];
  float* out;
};

}  // namespace
}  // namespace stowage
#endif

HWY_BEFORE_NAMESPACE();

namespace stowage::HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_SCALAR
/// Pixels whose sums stay in registers.
template <int O>
constexpr int kTile = std::min(8, (kLanes >= 16 ? 24 : 12) / O);

/// Results of a tile, one behind the other as they lie in the output, in whole vectors.
constexpr std::int64_t kMostResults = 32;

/// A row of output pixels, and the rows of the input under it with their weights.
struct Line {
  const Dots* dots;
  const float* in[kMostTapRows];
  const float* weights[kMostTapRows];
  int rows;
  const float* bias;
  const float* operands[kMostPosts];  // of channels: repeated
  float* out;
};

template <int O, int P>
HWY_INLINE void add_vector(const float* in, std::int64_t pitch, const float* weights,
                           std::int64_t tap_row, V (&sums)[P][O]) {
  V w[O];
  STOWAGE_UNROLL
  for (int o = 0; o < O; ++o) w[o] = hn::LoadU(kTag, weights + o * tap_row);
  STOWAGE_UNROLL
  for (int p = 0; p < P; ++p) {
    const V x = hn::LoadU(kTag, in + p * pitch);
    STOWAGE_UNROLL
    for (int o = 0; o < O; ++o) sums[p][o] = hn::MulAdd(x, w[o], sums[p][o]);
  }
}

/// The same for the first `count` lanes. What is behind them may be anything, on either side.
template <int O, int P>
HWY_NOINLINE void add_tail(const float* in, std::int64_t pitch, const float* weights,
                           std::int64_t tap_row, std::int64_t count, V (&sums)[P][O]) {
  for (int p = 0; p < P; ++p) {
    const V x = load_first(kTag, in + p * pitch, count);
    for (int o = 0; o < O; ++o) {
      sums[p][o] = hn::MulAdd(x, load_first(kTag, weights + o * tap_row, count), sums[p][o]);
    }
  }
}

/// The sum of all blocks of four lanes.
template <class T>
HWY_INLINE void add_blocks(T d, hn::Vec<T> v, float* to) {
  if constexpr (hn::MaxLanes(T()) <= 4) {
    hn::StoreU(v, d, to);
  } else {
    const hn::Half<T> half;
    add_blocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)), to);
  }
}

/// The sums of all lanes of each, next to each other.
HWY_INLINE void add_lanes(V a, V b, V c, V d, float* to) {
  const hn::RepartitionToWide<D> pairs;
  const auto fold = [&](V x, V y) HWY_ATTR {
    return hn::Add(hn::InterleaveLower(kTag, x, y), hn::InterleaveUpper(kTag, x, y));
  };
  const auto ab = hn::BitCast(pairs, fold(a, b)), cd = hn::BitCast(pairs, fold(c, d));
  const V blocks = hn::Add(hn::BitCast(kTag, hn::InterleaveLower(pairs, ab, cd)),
                           hn::BitCast(kTag, hn::InterleaveUpper(pairs, ab, cd)));
  add_blocks(kTag, blocks, to);
}

/// Bias and posts.
template <int O, int P>
HWY_INLINE void finish(const Line& line, std::int64_t x, const V (&sums)[P][O]) {
  constexpr int kResults = P * O;
  constexpr std::int64_t kVectors = (kResults + kLanes - 1) / kLanes;
  static_assert(kVectors * kLanes <= kMostResults);
  const BoundPosts& posts = line.dots->posts;
  HWY_ALIGN float values[kMostResults] = {};
  const auto sum = [&](int i) HWY_ATTR {
    return i < kResults ? sums[std::min(i, kResults - 1) / O][i % O] : hn::Zero(kTag);
  };
  STOWAGE_UNROLL
  for (int i = 0; i < kResults; i += 4) {
    add_lanes(sum(i), sum(i + 1), sum(i + 2), sum(i + 3), values + i);
  }
  const bool adds = posts.adds && line.operands[0] != nullptr;
  const std::int64_t at = x * O;
  float* const to = line.out + at;
  const bool more = posts.in_registers < posts.count;
  const auto store = [&](std::int64_t i, V y) HWY_ATTR {
    if (i + kLanes <= kResults) {
      hn::StoreU(y, kTag, to + i);
    } else {
      store_first(kTag, y, kResults - i, to + i);
    }
  };
  for (std::int64_t i = 0; i < kVectors * kLanes; i += kLanes) {
    V y = hn::Add(hn::Load(kTag, values + i), hn::Load(kTag, line.bias + i));
    if (adds) y = hn::Add(y, hn::LoadU(kTag, line.operands[0] + at + i));
    if (posts.clips) y = clip(y, hn::Set(kTag, posts.lo), hn::Set(kTag, posts.hi));
    more ? hn::Store(y, kTag, values + i) : store(i, y);
  }
  if (!more) return;
  apply_flat_posts(posts, values, kVectors, line.operands, at);
  for (std::int64_t i = 0; i < kVectors * kLanes; i += kLanes) {
    store(i, hn::Load(kTag, values + i));
  }
}

/// P pixels from `x`, all of which read these taps of the w axis.
template <int O, int P>
void pixels(const Line& line, std::int64_t x, TapRange taps) {
  const Dots& dots = *line.dots;
  const Window& w = dots.facts.w;
  const std::int64_t channels = dots.facts.in_channels, tap_row = dots.tap_row();
  const std::int64_t pitch = w.stride[2] * channels, step = w.dilation[2] * channels;
  const std::int64_t first = (x * w.stride[2] - w.pad_begin[2]) * channels + taps.begin * step;
  // Taps that touch are one run.
  const bool touch = w.dilation[2] == 1;
  const std::int64_t runs = touch ? std::min<std::int64_t>(taps.count(), 1) : taps.count();
  const std::int64_t length = touch ? taps.count() * channels : channels;
  V sums[P][O];
  STOWAGE_UNROLL
  for (int p = 0; p < P; ++p) {
    STOWAGE_UNROLL
    for (int o = 0; o < O; ++o) sums[p][o] = hn::Zero(kTag);
  }
  for (int r = 0; r < line.rows; ++r) {
    const float* in = line.in[r] + first;
    const float* weights = line.weights[r] + taps.begin * channels;
    for (std::int64_t run = 0; run < runs; ++run, in += step, weights += channels) {
      std::int64_t i = 0;
      for (; i + kLanes <= length; i += kLanes) {
        add_vector<O, P>(in + i, pitch, weights + i, tap_row, sums);
      }
      if (i < length) add_tail<O, P>(in + i, pitch, weights + i, tap_row, length - i, sums);
    }
  }
  finish<O, P>(line, x, sums);
}

template <int O>
void whole_line(const Line& line) {
  const Window& w = line.dots->facts.w;
  const OutRange inside = line.dots->inside;
  const auto one = [&](std::int64_t x) { pixels<O, 1>(line, x, taps_inside(w, 2, x)); };
  std::int64_t x = 0;
  for (; x < inside.begin; ++x) one(x);
  for (; x + kTile<O> <= inside.end; x += kTile<O>) {
    pixels<O, kTile<O>>(line, x, {0, w.kernel[2]});
  }
  for (; x < w.out[2]; ++x) one(x);
}

/// As many outputs as there are, at most O.
template <int O>
void line_of(const Line& line) {
  if constexpr (O > 1) {
    if (line.dots->facts.out_channels < O) return line_of<O - 1>(line);
  }
  whole_line<O>(line);
}

/// Row (image, z, y) of the output.
void run_row(const Dots& dots, const DotsCall& call, std::int64_t row) {
  const ConvFacts& f = dots.facts;
  const Window& w = f.w;
  const std::int64_t y = row % w.out[1], z = row / w.out[1] % w.out[0],
                     image = row / w.out[1] / w.out[0];
  Line line;
  line.dots = &dots;
  line.rows = 0;
  const TapRange zs = taps_inside(w, 0, z), ys = taps_inside(w, 1, y);
  for (std::int64_t kz = zs.begin; kz < zs.end; ++kz) {
    const std::int64_t iz = z * w.stride[0] - w.pad_begin[0] + kz * w.dilation[0];
    for (std::int64_t ky = ys.begin; ky < ys.end; ++ky) {
      const std::int64_t iy = y * w.stride[1] - w.pad_begin[1] + ky * w.dilation[1];
      line.in[line.rows] =
          call.in + (((image * w.in[0] + iz) * w.in[1] + iy) * w.in[2]) * f.in_channels;
      line.weights[line.rows++] =
          call.weights + (kz * w.kernel[1] + ky) * f.out_channels * dots.tap_row();
    }
  }
  const std::int64_t at = row * w.out[2] * f.out_channels;
  dots.posts.advance(call.operands, at, 0, line.operands);
  line.out = call.out + at;
  constexpr float kNone[kMostOutputs] = {};
  HWY_ALIGN float bias[kMostResults];
  repeat_channels(call.bias == nullptr ? kNone : call.bias, f.out_channels, bias);
  line.bias = bias;
  HWY_ALIGN float repeated[kMostPosts][kMostResults];
  repeat_operands(dots.posts, f.out_channels, repeated, line.operands);
  line_of<kMostOutputs>(line);
}
#else
void run_row(const Dots&, const DotsCall&, std::int64_t) {}  // dots_fit says no
#endif

std::int64_t dots_lanes() { return kLanes; }

}  // namespace
}  // namespace stowage::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace stowage {

namespace {

HWY_EXPORT(run_row);
HWY_EXPORT(dots_lanes);

Dots bind(const DotsParams& p) {
  return {p.facts, BoundPosts(p.posts), p.bias, p.threads, outputs_inside(p.facts.w, 2)};
}

void run(const Dots& dots, const KernelArgs& args) noexcept {
  DotsCall call{args.input<float>(0),
                args.input<float>(1),
                args.optional_input<float>(dots.bias),
                {},
                args.output<float>(0)};
  dots.posts.resolve(args, 0, 0, call.operands);
  const std::int64_t rows = dots.rows();
  const std::int64_t tasks = std::min(rows, std::int64_t{dots.threads > 1 ? 4 * dots.threads : 1});
  parallel(args.pool, static_cast<std::size_t>(tasks), [&](std::size_t i) {
    const auto task = static_cast<std::int64_t>(i);
    for (std::int64_t r = rows * task / tasks; r < rows * (task + 1) / tasks; ++r) {
      HWY_DYNAMIC_DISPATCH(run_row)(dots, call, r);
    }
  });
}

}  // namespace

constexpr KernelDef kConvDots = kernel_def<DotsParams, bind, run>("conv_dots", takes_any);

bool dots_fit(const ConvFacts& f) noexcept {
  return f.group == 1 && f.out_channels <= kMostOutputs && HWY_DYNAMIC_DISPATCH(dots_lanes)() > 1 &&
         f.w.kernel[0] * f.w.kernel[1] <= kMostTapRows;
}

double dots_efficiency(const DotsParams& p) noexcept {
  // In multiply-adds of a vector, as measured: a vector of the input is loaded for one of each
  // output; a result is added up across its lanes.
  constexpr double kLoad = 1.2, kResult = 4, kPixel = 4;
  const ConvFacts& f = p.facts;
  const std::int64_t lanes = HWY_DYNAMIC_DISPATCH(dots_lanes)();
  const bool touch = f.w.dilation[2] == 1;
  const std::int64_t runs = touch ? 1 : f.w.kernel[2];
  const std::int64_t length = touch ? f.w.kernel[2] * f.in_channels : f.in_channels;
  const auto vectors =
      static_cast<double>(f.w.kernel[0] * f.w.kernel[1] * runs * ceil_div(length, lanes));
  const auto outputs = static_cast<double>(f.out_channels);
  const double useful =
      outputs * static_cast<double>(f.w.taps() * f.in_channels) / static_cast<double>(lanes);
  return useful / (1.3 * vectors * std::max(outputs, kLoad) + kResult * outputs + kPixel +
                   posts_cost(BoundPosts(p.posts)));
}

}  // namespace stowage
#endif
