// SPDX-License-Identifier: Apache-2.0
#include "kernels/window/winograd_transform.h"

#include <algorithm>

#include "base/checked.h"
#include "base/index.h"
#include "kernels/window/winograd_points.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/window/winograd_transform.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/first_lanes-inl.h"
#include "kernels/posts-inl.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::HWY_NAMESPACE {
namespace {

HWY_INLINE V times(double factor, V x) {
  return factor == 1 ? x : hn::Mul(hn::Set(kTag, static_cast<float>(factor)), x);
}

HWY_INLINE V plus(V sum, double factor, V x) {
  if (factor == 1) return hn::Add(sum, x);
  if (factor == -1) return hn::Sub(sum, x);
  return hn::MulAdd(hn::Set(kTag, static_cast<float>(factor)), x, sum);
}

/// Bt d along an axis.
template <int M>
HWY_INLINE void input_axis(const V (&d)[M + 2], V (&v)[M + 2]) {
  constexpr const WinogradMatrices<M>& t = kWinograd<M>;
  constexpr int kPairs = M / 2;
  V first = d[M], last = d[M + 1];
  STOWAGE_UNROLL
  for (int k = 0; k < kPairs; ++k) {
    first = plus(first, t.all[idx(k)], d[2 * k]);
    last = plus(last, t.all[idx(k)], d[2 * k + 1]);
  }
  v[0] = first;
  v[M + 1] = last;
  STOWAGE_UNROLL
  for (int i = 0; i < kPairs; ++i) {
    const double a = kWinogradPoints<M>[idx(i)];
    V even = d[M], odd = times(a, d[M - 1]);
    STOWAGE_UNROLL
    for (int k = 0; k < kPairs - 1; ++k) {
      even = plus(even, t.others[idx(i)][idx(k)], d[2 * k + 2]);
      odd = plus(odd, a * t.others[idx(i)][idx(k)], d[2 * k + 1]);
    }
    v[1 + 2 * i] = hn::Add(even, odd);
    v[2 + 2 * i] = hn::Sub(even, odd);
  }
}

/// At m along an axis.
template <int M>
HWY_INLINE void output_axis(const V (&m)[M + 2], V (&y)[M]) {
  constexpr const WinogradMatrices<M>& t = kWinograd<M>;
  constexpr int kPairs = M / 2;
  V even[kPairs], odd[kPairs];
  STOWAGE_UNROLL
  for (int i = 0; i < kPairs; ++i) {
    even[i] = hn::Add(m[1 + 2 * i], m[2 + 2 * i]);
    odd[i] = hn::Sub(m[1 + 2 * i], m[2 + 2 * i]);
  }
  STOWAGE_UNROLL
  for (int k = 0; k < M; ++k) {
    V sum = times(t.powers[0][idx(k)], k % 2 == 0 ? even[0] : odd[0]);
    STOWAGE_UNROLL
    for (int i = 1; i < kPairs; ++i) {
      sum = plus(sum, t.powers[idx(i)][idx(k)], k % 2 == 0 ? even[i] : odd[i]);
    }
    if (k == 0) sum = hn::Add(sum, m[0]);
    if (k == M - 1) sum = hn::Add(sum, m[M + 1]);
    y[k] = sum;
  }
}

/// Rows or columns of a tile, `step` from each other, that are inside the image: [begin, end).
struct Inside {
  int begin, end;

  Inside(std::int64_t first, std::int64_t step, int size, std::int64_t extent)
      : begin(static_cast<int>(
            std::clamp<std::int64_t>(ceil_div(std::max<std::int64_t>(-first, 0), step), 0, size))),
        end(static_cast<int>(std::clamp<std::int64_t>(
            ceil_div(std::max<std::int64_t>(extent - first, 0), step), begin, size))) {}
};

/// Where a tile is: its first result.
struct TileAt {
  std::int64_t image, y, x;

  TileAt(const WinogradTiles& t, std::int64_t number)
      : image(number / (t.rows * t.columns)),
        y(first(number / t.columns % t.rows, t.tile, t.w.dilation[1])),
        x(first(number % t.columns, t.tile, t.w.dilation[2])) {}

 private:
  /// `step` tiles lie inside one another, before the next as many.
  static std::int64_t first(std::int64_t i, int size, std::int64_t step) {
    return i / step * step * size + i % step;
  }
};

template <int M, class Load>
HWY_INLINE void input_block(const Inside& ys, const Inside& xs, const Load& load, float* to,
                            std::int64_t place_stride) {
  constexpr int kSize = M + 2;
  HWY_ALIGN float columns[kSize * kSize * kLanes];
  for (int x = 0; x < kSize; ++x) {
    V d[kSize];
    const bool inside = x >= xs.begin && x < xs.end;
    STOWAGE_UNROLL
    for (int y = 0; y < kSize; ++y) {
      d[y] = inside && y >= ys.begin && y < ys.end ? load(y, x) : hn::Zero(kTag);
    }
    V v[kSize];
    input_axis<M>(d, v);
    STOWAGE_UNROLL
    for (int i = 0; i < kSize; ++i) hn::Store(v[i], kTag, columns + (i * kSize + x) * kLanes);
  }
  for (int y = 0; y < kSize; ++y) {
    V d[kSize];
    STOWAGE_UNROLL
    for (int x = 0; x < kSize; ++x) d[x] = hn::Load(kTag, columns + (y * kSize + x) * kLanes);
    float* row = to + y * kSize * place_stride;
    V v[kSize];
    input_axis<M>(d, v);
    STOWAGE_UNROLL
    for (int i = 0; i < kSize; ++i) hn::StoreU(v[i], kTag, row + i * place_stride);
  }
}

template <int M>
void input_tiles(const WinogradTiles& t, const WinogradInput& call) {
  constexpr int kSize = M + 2;
  const Window& w = t.w;
  const std::int64_t tail = t.in.padded ? 0 : t.in_channels % kLanes;
  const std::int64_t full = tail == 0 ? call.block_end : t.in_channels / kLanes;
  const std::int64_t pitch = w.dilation[1] * w.in[2] * t.in.pixel,
                     step = w.dilation[2] * t.in.pixel;
  for (std::int64_t i = 0; i < call.count; ++i) {
    const TileAt at(t, call.first + i);
    const std::int64_t y = at.y - w.pad_begin[1], x = at.x - w.pad_begin[2];
    const Inside ys(y, w.dilation[1], kSize, w.in[1]), xs(x, w.dilation[2], kSize, w.in[2]);
    const std::int64_t corner = at.image * t.in.image + (y * w.in[2] + x) * t.in.pixel;
    float* to = call.to + i * call.tile_stride;
    for (std::int64_t b = call.block_begin; b < call.block_end; ++b) {
      const std::int64_t origin = corner + b * t.in.block;
      float* const block = to + b * kLanes;
      if (b < full) {
        const auto load = [&](int v, int u) HWY_ATTR {
          return hn::LoadU(kTag, call.in + (origin + v * pitch + u * step));
        };
        input_block<M>(ys, xs, load, block, call.place_stride);
      } else {
        const auto load = [&](int v, int u) HWY_ATTR {
          return load_first(kTag, call.in + (origin + v * pitch + u * step), tail);
        };
        input_block<M>(ys, xs, load, block, call.place_stride);
      }
    }
  }
}

/// The results of a tile in one block of channels.
struct OutputBlock {
  const WinogradTiles& t;
  const float* operands[kMostPosts];  // of the block
  float* out;                         // of the block
  V bias;
  std::int64_t valid;  // channels

  HWY_INLINE V in_registers(V y, std::int64_t at) const {
    y = hn::Add(y, bias);
    const BoundPosts& posts = t.posts;
    if (posts.adds && operands[0] != nullptr) y = hn::Add(y, hn::LoadU(kTag, operands[0] + at));
    if (posts.clips) y = clip(y, hn::Set(kTag, posts.lo), hn::Set(kTag, posts.hi));
    return y;
  }

  HWY_INLINE void store(V y, std::int64_t at) const {
    if (valid == kLanes) {
      hn::StoreU(y, kTag, out + at);
    } else if (t.out.padded) {
      // An infinite input times the zeros behind the weights is no zero.
      const auto mask = hn::FirstN(kTag, idx(valid));
      hn::StoreU(hn::IfThenElseZero(mask, y), kTag, out + at);
    } else {
      store_first(kTag, y, valid, out + at);
    }
  }
};

/// `at`: of the first pixel. Results outside of the image are not stored.
template <int M>
HWY_INLINE void output_block(const OutputBlock& b, const float* from, std::int64_t place_stride,
                             std::int64_t at, const Inside& ys, const Inside& xs) {
  constexpr int kSize = M + 2;
  HWY_ALIGN float columns[M * kSize * kLanes];
  for (int x = 0; x < kSize; ++x) {
    V m[kSize];
    STOWAGE_UNROLL
    for (int y = 0; y < kSize; ++y) {
      m[y] = hn::LoadU(kTag, from + (y * kSize + x) * place_stride);
    }
    V y[M];
    output_axis<M>(m, y);
    STOWAGE_UNROLL
    for (int i = 0; i < M; ++i) hn::Store(y[i], kTag, columns + (i * kSize + x) * kLanes);
  }
  const WinogradTiles& t = b.t;
  const bool more = t.posts.in_registers < t.posts.count;
  HWY_ALIGN float values[M * M * kLanes];
  std::int64_t pixels[M * M];
  int count = 0;
  for (int y = 0; y < ys.end; ++y) {
    V m[kSize];
    STOWAGE_UNROLL
    for (int x = 0; x < kSize; ++x) m[x] = hn::Load(kTag, columns + (y * kSize + x) * kLanes);
    const std::int64_t row = at + y * t.w.dilation[1] * t.w.out[2] * t.out.pixel;
    V v[M];
    output_axis<M>(m, v);
    STOWAGE_UNROLL
    for (int x = 0; x < M; ++x) {
      if (x >= xs.end) break;
      const std::int64_t pixel = row + x * t.w.dilation[2] * t.out.pixel;
      const V result = b.in_registers(v[x], pixel);
      if (more) {
        pixels[count] = pixel;
        hn::Store(result, kTag, values + count++ * kLanes);
      } else {
        b.store(result, pixel);
      }
    }
  }
  if (!more) return;
  const DensePixels<M * M> dense(1);
  apply_posts(t.posts, {values, dense.at, 0, count, 1, b.operands, pixels, 0});
  for (int i = 0; i < count; ++i) b.store(hn::Load(kTag, values + i * kLanes), pixels[i]);
}

template <int M>
void output_tiles(const WinogradTiles& t, const WinogradOutput& call) {
  for (std::int64_t i = 0; i < call.count; ++i) {
    const TileAt tile(t, call.first + i);
    const Inside ys(tile.y, t.w.dilation[1], M, t.w.out[1]);
    const Inside xs(tile.x, t.w.dilation[2], M, t.w.out[2]);
    const std::int64_t at = tile.image * t.out.image + (tile.y * t.w.out[2] + tile.x) * t.out.pixel;
    const float* from = call.from + i * call.tile_stride;
    for (std::int64_t b = call.block_begin; b < call.block_end; ++b, from += kLanes) {
      OutputBlock block{t,
                        {},
                        call.out + b * t.out.block,
                        hn::Zero(kTag),
                        std::min(t.out_channels - b * kLanes, kLanes)};
      if (call.bias != nullptr) block.bias = hn::LoadU(kTag, call.bias + b * kLanes);
      t.posts.advance(call.operands, b * t.out.block, b * kLanes, block.operands);
      output_block<M>(block, from, call.place_stride, at, ys, xs);
    }
  }
}

template <int M>
void weights(const float* taps, std::int64_t channels, float* to, std::int64_t place_stride) {
  constexpr const WinogradMatrices<M>& t = kWinograd<M>;
  constexpr int kSize = M + 2;
  double rows[3][kWinogradMostRow];
  for (int i = 0; i < kSize; ++i) {
    const auto& g = t.taps[idx(i)];
    for (int x = 0; x < 3; ++x) {
      for (std::int64_t o = 0; o < channels; ++o) {
        rows[x][o] = g[0] * static_cast<double>(taps[x * channels + o]) +
                     g[1] * static_cast<double>(taps[(3 + x) * channels + o]) +
                     g[2] * static_cast<double>(taps[(6 + x) * channels + o]);
      }
    }
    for (int j = 0; j < kSize; ++j) {
      const auto& h = t.taps[idx(j)];
      float* const place = to + (i * kSize + j) * place_stride;
      for (std::int64_t o = 0; o < channels; ++o) {
        place[o] = static_cast<float>(h[0] * rows[0][o] + h[1] * rows[1][o] + h[2] * rows[2][o]);
      }
    }
  }
}

void input(const WinogradTiles& t, const WinogradInput& call) {
  if (t.tile == 2) return input_tiles<2>(t, call);
  if (t.tile == 4) return input_tiles<4>(t, call);
  input_tiles<6>(t, call);
}

void output(const WinogradTiles& t, const WinogradOutput& call) {
  if (t.tile == 2) return output_tiles<2>(t, call);
  if (t.tile == 4) return output_tiles<4>(t, call);
  output_tiles<6>(t, call);
}

void filters(int tile, const float* taps, std::int64_t channels, float* to,
             std::int64_t place_stride) {
  if (tile == 2) return weights<2>(taps, channels, to, place_stride);
  if (tile == 4) return weights<4>(taps, channels, to, place_stride);
  weights<6>(taps, channels, to, place_stride);
}

}  // namespace
}  // namespace stowage::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace stowage {

namespace {

HWY_EXPORT(input);
HWY_EXPORT(output);
HWY_EXPORT(filters);

}  // namespace

void winograd_input(const WinogradTiles& tiles, const WinogradInput& call) noexcept {
  HWY_DYNAMIC_DISPATCH(input)(tiles, call);
}

void winograd_output(const WinogradTiles& tiles, const WinogradOutput& call) noexcept {
  HWY_DYNAMIC_DISPATCH(output)(tiles, call);
}

void winograd_weights(int tile, const float* taps, std::int64_t channels, float* to,
                      std::int64_t place_stride) noexcept {
  HWY_DYNAMIC_DISPATCH(filters)(tile, taps, channels, to, place_stride);
}

}  // namespace stowage
#endif
