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

/// Bt d along an axis; an axis of one element stays as it is.
template <int Size>
HWY_INLINE void input_axis(const V (&d)[Size], V (&v)[Size]) {
  if constexpr (Size == 1) {
    v[0] = d[0];
  } else {
    constexpr const WinogradPolynomials<Size>& t = kWinogradInput<Size>;
    constexpr int kPairs = t.kPairs;
    V first = d[Size - 2], last = d[Size - 1];
    STOWAGE_UNROLL
    for (int k = 0; k < kPairs; ++k) {
      first = plus(first, t.all[idx(k)], d[2 * k]);
      last = plus(last, t.all[idx(k)], d[2 * k + 1]);
    }
    v[0] = first;
    v[Size - 1] = last;
    STOWAGE_UNROLL
    for (int i = 0; i < kPairs; ++i) {
      const double a = kWinogradPoints<Size>[idx(i)];
      V even = d[Size - 2], odd = times(a, d[Size - 3]);
      STOWAGE_UNROLL
      for (int k = 0; k < kPairs - 1; ++k) {
        even = plus(even, t.others[idx(i)][idx(k)], d[2 * k + 2]);
        odd = plus(odd, a * t.others[idx(i)][idx(k)], d[2 * k + 1]);
      }
      v[1 + 2 * i] = hn::Add(even, odd);
      v[2 + 2 * i] = hn::Sub(even, odd);
    }
  }
}

/// At m along an axis.
template <int M, int R>
HWY_INLINE void output_axis(const V (&m)[M + R - 1], V (&y)[M]) {
  if constexpr (R == 1) {
    y[0] = m[0];
  } else {
    constexpr const WinogradMatrices<M, R>& t = kWinograd<M, R>;
    constexpr int kPairs = t.kPairs;
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
      if (k == M - 1) sum = hn::Add(sum, m[M + R - 2]);
      y[k] = sum;
    }
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
  std::int64_t image, z, y, x;

  TileAt(const WinogradTiles& t, std::int64_t number)
      : image(number / (t.rows * t.columns) / t.w.out[0]),
        z(number / (t.rows * t.columns) % t.w.out[0]),
        y(first(number / t.columns % t.rows, t.form.y.results, t.w.dilation[1])),
        x(first(number % t.columns, t.form.x.results, t.w.dilation[2])) {}

 private:
  /// `step` tiles lie inside one another, before the next as many.
  static std::int64_t first(std::int64_t i, int size, std::int64_t step) {
    return i / step * step * size + i % step;
  }
};

template <int Rows, int Columns, class Load>
HWY_INLINE void input_block(const Inside& ys, const Inside& xs, const Load& load, float* to,
                            std::int64_t place_stride) {
  const auto element = [&](int y, int x) HWY_ATTR {
    const bool inside = y >= ys.begin && y < ys.end && x >= xs.begin && x < xs.end;
    return inside ? load(y, x) : hn::Zero(kTag);
  };
  if constexpr (Rows == 1 || Columns == 1) {
    constexpr int kSize = Rows * Columns;
    V d[kSize], v[kSize];
    STOWAGE_UNROLL
    for (int i = 0; i < kSize; ++i) d[i] = Rows == 1 ? element(0, i) : element(i, 0);
    input_axis<kSize>(d, v);
    STOWAGE_UNROLL
    for (int i = 0; i < kSize; ++i) hn::StoreU(v[i], kTag, to + i * place_stride);
  } else {
    HWY_ALIGN float columns[Rows * Columns * kLanes];
    for (int x = 0; x < Columns; ++x) {
      V d[Rows], v[Rows];
      STOWAGE_UNROLL
      for (int y = 0; y < Rows; ++y) d[y] = element(y, x);
      input_axis<Rows>(d, v);
      STOWAGE_UNROLL
      for (int i = 0; i < Rows; ++i) hn::Store(v[i], kTag, columns + (i * Columns + x) * kLanes);
    }
    for (int y = 0; y < Rows; ++y) {
      V d[Columns], v[Columns];
      STOWAGE_UNROLL
      for (int x = 0; x < Columns; ++x) d[x] = hn::Load(kTag, columns + (y * Columns + x) * kLanes);
      float* row = to + y * Columns * place_stride;
      input_axis<Columns>(d, v);
      STOWAGE_UNROLL
      for (int i = 0; i < Columns; ++i) hn::StoreU(v[i], kTag, row + i * place_stride);
    }
  }
}

/// All blocks of channels of one tile in one plane of the input.
template <int Rows, int Columns>
void input_tile(const WinogradTiles& t, const float* corner, const Inside& ys, const Inside& xs,
                float* to, std::int64_t place_stride) {
  const Window& w = t.w;
  const std::int64_t blocks = ceil_div(t.in_channels, kLanes);
  const std::int64_t tail = t.in.padded ? 0 : t.in_channels % kLanes;
  const std::int64_t pitch = w.dilation[1] * w.in[2] * t.in.pixel,
                     step = w.dilation[2] * t.in.pixel;
  for (std::int64_t b = 0; b < blocks; ++b, corner += t.in.block, to += kLanes) {
    if (tail == 0 || b + 1 < blocks) {
      const auto load = [&](int v, int u)
                            HWY_ATTR { return hn::LoadU(kTag, corner + (v * pitch + u * step)); };
      input_block<Rows, Columns>(ys, xs, load, to, place_stride);
    } else {
      const auto load = [&](int v, int u) HWY_ATTR {
        return load_first(kTag, corner + (v * pitch + u * step), tail);
      };
      input_block<Rows, Columns>(ys, xs, load, to, place_stride);
    }
  }
}

template <int Rows, int Columns>
void input_tiles(const WinogradTiles& t, const WinogradInput& call) {
  const Window& w = t.w;
  const std::int64_t plane = ceil_div(t.in_channels, kLanes) * kLanes;
  for (std::int64_t i = 0; i < call.count; ++i) {
    const TileAt at(t, call.first + i);
    const std::int64_t y = at.y - w.pad_begin[1], x = at.x - w.pad_begin[2];
    const Inside ys(y, w.dilation[1], Rows, w.in[1]), xs(x, w.dilation[2], Columns, w.in[2]);
    float* to = call.to + i * call.tile_stride;
    for (std::int64_t tap = 0; tap < w.kernel[0]; ++tap, to += plane) {
      const std::int64_t z = at.z * w.stride[0] - w.pad_begin[0] + tap * w.dilation[0];
      const Inside zs(z, 1, 1, w.in[0]);
      const std::int64_t corner =
          at.image * t.in.image + ((z * w.in[1] + y) * w.in[2] + x) * t.in.pixel;
      input_tile<Rows, Columns>(t, call.in + corner, zs.begin < zs.end ? ys : zs, xs, to,
                                call.place_stride);
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
template <WinogradAxis Y, WinogradAxis X>
HWY_INLINE void output_block(const OutputBlock& b, const float* from, std::int64_t place_stride,
                             std::int64_t at, const Inside& ys, const Inside& xs) {
  constexpr int kRows = Y.size(), kColumns = X.size();
  HWY_ALIGN float columns[Y.results * kColumns * kLanes];
  for (int x = 0; x < kColumns; ++x) {
    if constexpr (kRows == 1) break;
    V m[kRows], y[Y.results];
    STOWAGE_UNROLL
    for (int i = 0; i < kRows; ++i) {
      m[i] = hn::LoadU(kTag, from + (i * kColumns + x) * place_stride);
    }
    output_axis<Y.results, Y.taps>(m, y);
    STOWAGE_UNROLL
    for (int i = 0; i < Y.results; ++i)
      hn::Store(y[i], kTag, columns + (i * kColumns + x) * kLanes);
  }
  const WinogradTiles& t = b.t;
  const bool more = t.posts.in_registers < t.posts.count;
  constexpr int kResults = Y.results * X.results;
  HWY_ALIGN float values[kResults * kLanes];
  std::int64_t pixels[kResults];
  int count = 0;
  for (int y = 0; y < ys.end; ++y) {
    V m[kColumns];
    STOWAGE_UNROLL
    for (int x = 0; x < kColumns; ++x) {
      m[x] = kRows == 1 ? hn::LoadU(kTag, from + x * place_stride)
                        : hn::Load(kTag, columns + (y * kColumns + x) * kLanes);
    }
    const std::int64_t row = at + y * t.w.dilation[1] * t.w.out[2] * t.out.pixel;
    V v[X.results];
    output_axis<X.results, X.taps>(m, v);
    STOWAGE_UNROLL
    for (int x = 0; x < X.results; ++x) {
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
  const DensePixels<kResults> dense(1);
  apply_posts(t.posts, {values, dense.at, 0, count, 1, b.operands, pixels, 0});
  for (int i = 0; i < count; ++i) b.store(hn::Load(kTag, values + i * kLanes), pixels[i]);
}

template <WinogradAxis Y, WinogradAxis X>
void output_tiles(const WinogradTiles& t, const WinogradOutput& call) {
  for (std::int64_t i = 0; i < call.count; ++i) {
    const TileAt tile(t, call.first + i);
    const Inside ys(tile.y, t.w.dilation[1], Y.results, t.w.out[1]);
    const Inside xs(tile.x, t.w.dilation[2], X.results, t.w.out[2]);
    const std::int64_t at = tile.image * t.out.image +
                            ((tile.z * t.w.out[1] + tile.y) * t.w.out[2] + tile.x) * t.out.pixel;
    const float* from = call.from + i * call.tile_stride;
    for (std::int64_t b = call.block_begin; b < call.block_end; ++b, from += kLanes) {
      OutputBlock block{t,
                        {},
                        call.out + b * t.out.block,
                        hn::Zero(kTag),
                        std::min(t.out_channels - b * kLanes, kLanes)};
      if (call.bias != nullptr) block.bias = hn::LoadU(kTag, call.bias + b * kLanes);
      t.posts.advance(call.operands, b * t.out.block, b * kLanes, block.operands);
      output_block<Y, X>(block, from, call.place_stride, at, ys, xs);
    }
  }
}

void input(const WinogradTiles& t, const WinogradInput& call) {
  with_form(t.form, [&](auto form) {
    constexpr WinogradForm f = kWinogradForms[form];
    input_tiles<f.y.size(), f.x.size()>(t, call);
  });
}

void output(const WinogradTiles& t, const WinogradOutput& call) {
  with_form(t.form, [&](auto form) {
    constexpr WinogradForm f = kWinogradForms[form];
    output_tiles<f.y, f.x>(t, call);
  });
}

}  // namespace
}  // namespace stowage::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace stowage {

namespace {

/// G, a row of taps for each element.
template <WinogradAxis Axis>
const double* taps_of() {
  if constexpr (Axis.taps == 1) {
    static constexpr double kOne = 1;
    return &kOne;
  } else {
    return kWinograd<Axis.results, Axis.taps>.taps[0].data();
  }
}

HWY_EXPORT(input);
HWY_EXPORT(output);

}  // namespace

void winograd_input(const WinogradTiles& tiles, const WinogradInput& call) noexcept {
  HWY_DYNAMIC_DISPATCH(input)(tiles, call);
}

void winograd_output(const WinogradTiles& tiles, const WinogradOutput& call) noexcept {
  HWY_DYNAMIC_DISPATCH(output)(tiles, call);
}

void winograd_weights(const WinogradForm& form, const float* taps, std::int64_t channels, float* to,
                      std::int64_t place_stride) noexcept {
  const double *g = nullptr, *h = nullptr;
  with_form(form, [&](auto i) {
    g = taps_of<kWinogradForms[i].y>();
    h = taps_of<kWinogradForms[i].x>();
  });
  const int height = form.y.taps, width = form.x.taps;
  double rows[kWinogradMostTaps][kWinogradMostRow], sums[kWinogradMostRow];
  for (int i = 0; i < form.y.size(); ++i, g += height) {
    for (int x = 0; x < width; ++x) {
      std::fill_n(rows[x], channels, 0.0);
      for (int y = 0; y < height; ++y) {
        const float* const row = taps + (y * width + x) * channels;
        for (std::int64_t o = 0; o < channels; ++o)
          rows[x][o] += g[y] * static_cast<double>(row[o]);
      }
    }
    for (int j = 0; j < form.x.size(); ++j, to += place_stride) {
      std::fill_n(sums, channels, 0.0);
      for (int x = 0; x < width; ++x) {
        for (std::int64_t o = 0; o < channels; ++o) sums[o] += h[j * width + x] * rows[x][o];
      }
      for (std::int64_t o = 0; o < channels; ++o) to[o] = static_cast<float>(sums[o]);
    }
  }
}

}  // namespace stowage
#endif
