// SPDX-License-Identifier: Apache-2.0
#include "kernels/rows/rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rows/rows.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::HWY_NAMESPACE {
namespace {

/// Calls f(d, i) for vectors that tile [0, n): full ones, then smaller powers of two, then single
/// lanes. Nothing outside of the range is touched.
template <class F>
HWY_INLINE void tile(std::int64_t n, F f) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) f(d, i);
  if (lanes > 8) {
    for (; i + 8 <= n; i += 8) f(hn::CappedTag<float, 8>(), i);
  }
  if (lanes > 4) {
    for (; i + 4 <= n; i += 4) f(hn::CappedTag<float, 4>(), i);
  }
  for (; i < n; ++i) f(hn::CappedTag<float, 1>(), i);
}

void blend_rows_simd(const float* const* rows, const float* weights, int taps, float* y,
                     std::int64_t n) {
  tile(n, [&](auto d, std::int64_t i) HWY_ATTR {
    auto sum = hn::Mul(hn::Set(d, weights[0]), hn::LoadU(d, rows[0] + i));
    for (int t = 1; t < taps; ++t) {
      sum = hn::MulAdd(hn::Set(d, weights[t]), hn::LoadU(d, rows[t] + i), sum);
    }
    hn::StoreU(sum, d, y + i);
  });
}

void blend_pixels_simd(const float* x, const std::int64_t* index, const float* weights, int taps,
                       float* y, std::int64_t pixels, std::int64_t n) {
  for (std::int64_t p = 0; p < pixels; ++p, index += taps, weights += taps, y += n) {
    tile(n, [&](auto d, std::int64_t i) HWY_ATTR {
      auto sum = hn::Mul(hn::Set(d, weights[0]), hn::LoadU(d, x + index[0] * n + i));
      for (int t = 1; t < taps; ++t) {
        sum = hn::MulAdd(hn::Set(d, weights[t]), hn::LoadU(d, x + index[t] * n + i), sum);
      }
      hn::StoreU(sum, d, y + i);
    });
  }
}

template <Reduction K, class D, class V>
HWY_INLINE V join(D d, V acc, V x) {
  if constexpr (K == Reduction::sum) return hn::Add(acc, x);
  if constexpr (K == Reduction::sum_square) return hn::MulAdd(x, x, acc);
  if constexpr (K == Reduction::sum_abs) return hn::Add(acc, hn::Abs(x));
  // NaN stays once it is there.
  const auto better = K == Reduction::max ? hn::Lt(acc, x) : hn::Lt(x, acc);
  (void)d;
  return hn::IfThenElse(hn::Or(better, hn::IsNaN(x)), x, acc);
}

template <Reduction K>
void columns_of(const float* x, std::int64_t stride, std::int64_t rows, std::int64_t n,
                float* acc) {
  tile(n, [&](auto d, std::int64_t i) HWY_ATTR {
    auto sum = hn::LoadU(d, acc + i);
    for (std::int64_t r = 0; r < rows; ++r) {
      sum = join<K>(d, sum, hn::LoadU(d, x + r * stride + i));
    }
    hn::StoreU(sum, d, acc + i);
  });
}

template <Reduction K>
float row_of(const float* x, std::int64_t n, float acc) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  if (n >= lanes) {
    constexpr float start = K == Reduction::max   ? -std::numeric_limits<float>::infinity()
                            : K == Reduction::min ? std::numeric_limits<float>::infinity()
                                                  : 0.0f;
    auto a = hn::Set(d, start), b = a;
    for (; i + 2 * lanes <= n; i += 2 * lanes) {
      a = join<K>(d, a, hn::LoadU(d, x + i));
      b = join<K>(d, b, hn::LoadU(d, x + i + lanes));
    }
    HWY_ALIGN float partial[2 * hn::MaxLanes(d)];
    hn::Store(a, d, partial);
    hn::Store(b, d, partial + lanes);
    // The partial results are squares and magnitudes already.
    constexpr Reduction again = K == Reduction::max || K == Reduction::min ? K : Reduction::sum;
    const hn::CappedTag<float, 1> one;
    for (std::int64_t k = 0; k < 2 * lanes; ++k) {
      acc = hn::GetLane(join<again>(one, hn::Set(one, acc), hn::Set(one, partial[k])));
    }
  }
  const hn::CappedTag<float, 1> one;
  for (; i < n; ++i) acc = hn::GetLane(join<K>(one, hn::Set(one, acc), hn::Set(one, x[i])));
  return acc;
}

void reduce_columns_simd(Reduction kind, const float* x, std::int64_t stride, std::int64_t rows,
                         std::int64_t n, float* acc) {
  switch (kind) {
    case Reduction::sum:
      return columns_of<Reduction::sum>(x, stride, rows, n, acc);
    case Reduction::max:
      return columns_of<Reduction::max>(x, stride, rows, n, acc);
    case Reduction::min:
      return columns_of<Reduction::min>(x, stride, rows, n, acc);
    case Reduction::sum_square:
      return columns_of<Reduction::sum_square>(x, stride, rows, n, acc);
    case Reduction::sum_abs:
      return columns_of<Reduction::sum_abs>(x, stride, rows, n, acc);
  }
}

float reduce_row_simd(Reduction kind, const float* x, std::int64_t n, float acc) {
  switch (kind) {
    case Reduction::sum:
      return row_of<Reduction::sum>(x, n, acc);
    case Reduction::max:
      return row_of<Reduction::max>(x, n, acc);
    case Reduction::min:
      return row_of<Reduction::min>(x, n, acc);
    case Reduction::sum_square:
      return row_of<Reduction::sum_square>(x, n, acc);
    case Reduction::sum_abs:
      return row_of<Reduction::sum_abs>(x, n, acc);
  }
  return acc;
}

void deviation_columns_simd(const float* x, std::int64_t stride, std::int64_t rows, std::int64_t n,
                            const float* mean, float* acc) {
  tile(n, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto centre = hn::LoadU(d, mean + i);
    auto sum = hn::LoadU(d, acc + i);
    for (std::int64_t r = 0; r < rows; ++r) {
      const auto v = hn::Sub(hn::LoadU(d, x + r * stride + i), centre);
      sum = hn::MulAdd(v, v, sum);
    }
    hn::StoreU(sum, d, acc + i);
  });
}

float deviation_row_simd(const float* x, std::int64_t n, float mean, float acc) {
  const hn::ScalableTag<float> full;
  HWY_ALIGN float lane_sums[hn::MaxLanes(full)] = {};
  // Each width of `tile` adds into the lanes that it has.
  tile(n, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto v = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean));
    hn::StoreU(hn::MulAdd(v, v, hn::LoadU(d, lane_sums)), d, lane_sums);
  });
  for (const float s : lane_sums) acc += s;
  return acc;
}

void normalise_columns_simd(const float* x, float* y, std::int64_t stride, std::int64_t rows,
                            std::int64_t n, const float* mean, const float* scale,
                            const float* bias) {
  tile(n, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto centre = hn::LoadU(d, mean + i), a = hn::LoadU(d, scale + i),
               b = hn::LoadU(d, bias + i);
    for (std::int64_t r = 0; r < rows; ++r) {
      const auto v = hn::Sub(hn::LoadU(d, x + r * stride + i), centre);
      hn::StoreU(hn::MulAdd(v, a, b), d, y + r * stride + i);
    }
  });
}

void normalise_row_simd(const float* x, float* y, std::int64_t n, float mean, float scale,
                        float bias) {
  tile(n, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto v = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean));
    hn::StoreU(hn::MulAdd(v, hn::Set(d, scale), hn::Set(d, bias)), d, y + i);
  });
}

void normalise_row_by_element_simd(const float* x, float* y, std::int64_t n, float mean,
                                   float factor, const float* scale, const float* bias) {
  tile(n, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto v = hn::Mul(hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean)), hn::Set(d, factor));
    const auto shift = bias == nullptr ? hn::Zero(d) : hn::LoadU(d, bias + i);
    hn::StoreU(hn::MulAdd(v, hn::LoadU(d, scale + i), shift), d, y + i);
  });
}

void softmax_row_simd(const float* x, float* y, std::int64_t n, bool logarithm) {
  const float max = row_of<Reduction::max>(x, n, -std::numeric_limits<float>::infinity());
  const hn::ScalableTag<float> full;
  HWY_ALIGN float lane_sums[hn::MaxLanes(full)] = {};
  // Each width of `tile` adds into the lanes that it has.
  tile(n, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto e = exp(d, hn::Sub(hn::LoadU(d, x + i), hn::Set(d, max)));
    if (!logarithm) hn::StoreU(e, d, y + i);
    hn::StoreU(hn::Add(hn::LoadU(d, lane_sums), e), d, lane_sums);
  });
  float sum = 0;
  for (const float s : lane_sums) sum += s;
  const float log_sum = std::log(sum), scale = 1.0f / sum;
  tile(n, [&](auto d, std::int64_t i) HWY_ATTR {
    // Two steps: the difference is exact where the result is small.
    const auto down = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, max));
    hn::StoreU(logarithm ? hn::Sub(down, hn::Set(d, log_sum))
                         : hn::Mul(hn::LoadU(d, y + i), hn::Set(d, scale)),
               d, y + i);
  });
}

void softmax_columns_simd(const float* x, float* y, std::int64_t rows, std::int64_t stride,
                          std::int64_t n, bool logarithm) {
  tile(n, [&](auto d, std::int64_t i) HWY_ATTR {
    auto max = hn::LoadU(d, x + i);
    for (std::int64_t r = 1; r < rows; ++r) {
      max = join<Reduction::max>(d, max, hn::LoadU(d, x + r * stride + i));
    }
    auto sum = hn::Zero(d);
    for (std::int64_t r = 0; r < rows; ++r) {
      const auto e = exp(d, hn::Sub(hn::LoadU(d, x + r * stride + i), max));
      sum = hn::Add(sum, e);
      if (!logarithm) hn::StoreU(e, d, y + r * stride + i);
    }
    const auto log_sum = logarithm ? log(d, sum) : sum;
    const auto scale = hn::Div(hn::Set(d, 1.0f), sum);
    for (std::int64_t r = 0; r < rows; ++r) {
      float* to = y + r * stride + i;
      const auto down = hn::Sub(hn::LoadU(d, x + r * stride + i), max);
      hn::StoreU(logarithm ? hn::Sub(down, log_sum) : hn::Mul(hn::LoadU(d, to), scale), d, to);
    }
  });
}

/// t ^ -beta for t > 0; three quarters, as every net has it, without logarithms.
template <class D, class V>
HWY_INLINE V power(D d, V t, float beta) {
  if (beta == 0.75f) {
    const V root = hn::Sqrt(t);
    return hn::Div(hn::Set(d, 1.0f), hn::Mul(root, hn::Sqrt(root)));
  }
  return exp(d, hn::Mul(hn::Set(d, -beta), log(d, t)));
}

void lrn_columns_simd(const LrnCall& call, const float* x, float* y, std::int64_t n) {
  tile(n, [&](auto d, std::int64_t i) HWY_ATTR {
    for (std::int64_t c = 0; c < call.channels; ++c) {
      const std::int64_t first = std::max<std::int64_t>(0, c - call.before);
      const std::int64_t last = std::min(call.channels - 1, c + call.after);
      auto sum = hn::Zero(d);
      for (std::int64_t k = first; k <= last; ++k) {
        const auto v = hn::LoadU(d, x + k * call.stride + i);
        sum = hn::MulAdd(v, v, sum);
      }
      const auto t = hn::MulAdd(hn::Set(d, call.alpha), sum, hn::Set(d, call.bias));
      const auto v = hn::LoadU(d, x + c * call.stride + i);
      hn::StoreU(hn::Mul(v, power(d, t, call.beta)), d, y + c * call.stride + i);
    }
  });
}

}  // namespace
}  // namespace stowage::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace stowage {

HWY_EXPORT(blend_rows_simd);
HWY_EXPORT(blend_pixels_simd);
HWY_EXPORT(reduce_columns_simd);
HWY_EXPORT(reduce_row_simd);
HWY_EXPORT(deviation_columns_simd);
HWY_EXPORT(deviation_row_simd);
HWY_EXPORT(normalise_columns_simd);
HWY_EXPORT(normalise_row_simd);
HWY_EXPORT(normalise_row_by_element_simd);
HWY_EXPORT(softmax_row_simd);
HWY_EXPORT(softmax_columns_simd);
HWY_EXPORT(lrn_columns_simd);

void blend_rows(const float* const* rows, const float* weights, int taps, float* y,
                std::int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(blend_rows_simd)(rows, weights, taps, y, n);
}

void blend_pixels(const float* x, const std::int64_t* index, const float* weights, int taps,
                  float* y, std::int64_t pixels, std::int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(blend_pixels_simd)(x, index, weights, taps, y, pixels, n);
}

void reduce_columns(Reduction kind, const float* x, std::int64_t stride, std::int64_t rows,
                    std::int64_t n, float* acc) noexcept {
  HWY_DYNAMIC_DISPATCH(reduce_columns_simd)(kind, x, stride, rows, n, acc);
}

float reduce_row(Reduction kind, const float* x, std::int64_t n, float acc) noexcept {
  return HWY_DYNAMIC_DISPATCH(reduce_row_simd)(kind, x, n, acc);
}

void deviation_columns(const float* x, std::int64_t stride, std::int64_t rows, std::int64_t n,
                       const float* mean, float* acc) noexcept {
  HWY_DYNAMIC_DISPATCH(deviation_columns_simd)(x, stride, rows, n, mean, acc);
}

float deviation_row(const float* x, std::int64_t n, float mean, float acc) noexcept {
  return HWY_DYNAMIC_DISPATCH(deviation_row_simd)(x, n, mean, acc);
}

void normalise_columns(const float* x, float* y, std::int64_t stride, std::int64_t rows,
                       std::int64_t n, const float* mean, const float* scale,
                       const float* bias) noexcept {
  HWY_DYNAMIC_DISPATCH(normalise_columns_simd)(x, y, stride, rows, n, mean, scale, bias);
}

void normalise_row(const float* x, float* y, std::int64_t n, float mean, float scale,
                   float bias) noexcept {
  HWY_DYNAMIC_DISPATCH(normalise_row_simd)(x, y, n, mean, scale, bias);
}

void normalise_row_by_element(const float* x, float* y, std::int64_t n, float mean, float factor,
                              const float* scale, const float* bias) noexcept {
  HWY_DYNAMIC_DISPATCH(normalise_row_by_element_simd)(x, y, n, mean, factor, scale, bias);
}

void softmax_row(const float* x, float* y, std::int64_t n, bool log) noexcept {
  HWY_DYNAMIC_DISPATCH(softmax_row_simd)(x, y, n, log);
}

void softmax_columns(const float* x, float* y, std::int64_t rows, std::int64_t stride,
                     std::int64_t n, bool log) noexcept {
  HWY_DYNAMIC_DISPATCH(softmax_columns_simd)(x, y, rows, stride, n, log);
}

void lrn_columns(const LrnCall& call, const float* x, float* y, std::int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(lrn_columns_simd)(call, x, y, n);
}

}  // namespace stowage
#endif
