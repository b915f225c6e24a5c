// SPDX-License-Identifier: Apache-2.0
#include "kernels/rows/rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rows/rows.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/first_lanes-inl.h"
#include "kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::HWY_NAMESPACE {
namespace {

/// Calls f(d, i) for vectors that tile [i, n), fewer elements than a full one has: smaller powers
/// of two, then single lanes.
template <class F>
HWY_INLINE void tile_rest(std::int64_t i, std::int64_t n, F f) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  if (lanes > 8) {
    for (; i + 8 <= n; i += 8) f(hn::CappedTag<float, 8>(), i);
  }
  if (lanes > 4) {
    for (; i + 4 <= n; i += 4) f(hn::CappedTag<float, 4>(), i);
  }
  for (; i < n; ++i) f(hn::CappedTag<float, 1>(), i);
}

/// Calls f(d, i) for vectors that tile [0, n). Nothing outside of the range is touched.
template <class F>
HWY_INLINE void tile(std::int64_t n, F f) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) f(d, i);
  tile_rest(i, n, f);
}

/// The sum over such vectors, to which sum = f(d, i, sum) adds each. Four sums go side by side, for
/// one addition takes as long as it takes to begin that many.
template <class F>
HWY_INLINE float sum_of(std::int64_t n, F f) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  std::int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    s0 = f(d, i, s0);
    s1 = f(d, i + lanes, s1);
    s2 = f(d, i + 2 * lanes, s2);
    s3 = f(d, i + 3 * lanes, s3);
  }
  for (; i + lanes <= n; i += lanes) s0 = f(d, i, s0);
  float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
  tile_rest(i, n, [&](auto narrow, std::int64_t k) HWY_ATTR {
    sum += hn::GetLane(hn::SumOfLanes(narrow, f(narrow, k, hn::Zero(narrow))));
  });
  return sum;
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
  constexpr bool extreme = K == Reduction::max || K == Reduction::min;
  if constexpr (!extreme) {
    return acc + sum_of(n, [&](auto d, std::int64_t i, auto sum)
                               HWY_ATTR { return join<K>(d, sum, hn::LoadU(d, x + i)); });
  } else {
    const hn::ScalableTag<float> d;
    const hn::CappedTag<float, 1> one;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const auto join_one = [&](float v) HWY_ATTR {
      acc = hn::GetLane(join<K>(one, hn::Set(one, acc), hn::Set(one, v)));
    };
    if (n < lanes) {
      for (std::int64_t i = 0; i < n; ++i) join_one(x[i]);
      return acc;
    }
    auto a = hn::LoadU(d, x), b = hn::LoadU(d, x + n - lanes);  // what is met twice changes nothing
    for (std::int64_t i = lanes; i + lanes <= n; i += 2 * lanes) {
      a = join<K>(d, a, hn::LoadU(d, x + i));
      b = join<K>(d, b, hn::LoadU(d, x + std::min(i + lanes, n - lanes)));
    }
    a = join<K>(d, a, b);
    if (hn::AllFalse(d, hn::IsNaN(a))) {
      join_one(hn::GetLane(K == Reduction::max ? hn::MaxOfLanes(d, a) : hn::MinOfLanes(d, a)));
    } else {
      join_one(std::numeric_limits<float>::quiet_NaN());
    }
    return acc;
  }
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
  return acc + sum_of(n, [&](auto d, std::int64_t i, auto sum) HWY_ATTR {
           const auto v = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean));
           return hn::MulAdd(v, v, sum);
         });
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

/// The largest element; any number where one is NaN.
float largest(const float* x, std::int64_t n) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if (n < lanes) return *std::max_element(x, x + n);
  auto a = hn::LoadU(d, x), b = hn::LoadU(d, x + n - lanes), c = a, e = b;
  std::int64_t i = lanes;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a = hn::Max(a, hn::LoadU(d, x + i));
    b = hn::Max(b, hn::LoadU(d, x + i + lanes));
    c = hn::Max(c, hn::LoadU(d, x + i + 2 * lanes));
    e = hn::Max(e, hn::LoadU(d, x + i + 3 * lanes));
  }
  for (; i + lanes <= n; i += lanes) a = hn::Max(a, hn::LoadU(d, x + i));
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(hn::Max(a, b), hn::Max(c, e))));
}

/// A NaN makes its row NaN by the sum of the exponentials, whatever the maximum is.
void softmax_row_simd(const float* x, float* y, std::int64_t n, bool logarithm) {
  const float max = largest(x, n);
  const hn::ScalableTag<float> d;
  const hn::Vec<decltype(d)> top = hn::Set(d, max);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t rest = n % lanes, whole = n - rest;
  float sum = sum_of(whole, [&](auto tag, std::int64_t i, auto so_far) HWY_ATTR {
    const auto e = exp(tag, hn::Sub(hn::LoadU(tag, x + i), hn::Set(tag, max)));
    if (!logarithm) hn::StoreU(e, tag, y + i);
    return hn::Add(so_far, e);
  });
  if (rest > 0) {
    const auto mask = hn::FirstN(d, static_cast<std::size_t>(rest));
    const auto all = exp(d, hn::Sub(load_first(d, x + whole, rest), top));
    const auto e = hn::IfThenElseZero(mask, all);
    if (!logarithm) store_first(d, e, rest, y + whole);
    sum += hn::GetLane(hn::SumOfLanes(d, e));
  }
  if (!logarithm) {
    const float scale = 1.0f / sum;
    return tile(n, [&](auto tag, std::int64_t i) HWY_ATTR {
      hn::StoreU(hn::Mul(hn::LoadU(tag, y + i), hn::Set(tag, scale)), tag, y + i);
    });
  }
  const float log_sum = std::log(sum);
  tile(n, [&](auto tag, std::int64_t i) HWY_ATTR {
    // Two steps: the difference is exact where the result is small.
    const auto down = hn::Sub(hn::LoadU(tag, x + i), hn::Set(tag, max));
    hn::StoreU(hn::Sub(down, hn::Set(tag, log_sum)), tag, y + i);
  });
}

/// Rows of at most two vectors, kRows of them side by side: each waits for its maximum and its sum,
/// and the others' work is done meanwhile.
template <int kRows>
void softmax_short_rows(const float* x, float* y, std::int64_t n) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t first = std::min(n, lanes), second = n - first;
  const auto in_first = hn::FirstN(d, static_cast<std::size_t>(first)),
             in_second = hn::FirstN(d, static_cast<std::size_t>(second));
  const V none = hn::Set(d, -std::numeric_limits<float>::infinity());  // e^none is 0
  V a[kRows], b[kRows], scale[kRows];
  for (int r = 0; r < kRows; ++r, x += n) {
    a[r] = hn::IfThenElse(in_first, load_first(d, x, first), none);
    b[r] = second == 0 ? none : hn::IfThenElse(in_second, load_first(d, x + first, second), none);
  }
  for (int r = 0; r < kRows; ++r) {
    const V max = hn::MaxOfLanes(d, hn::Max(a[r], b[r]));
    a[r] = exp(d, hn::Sub(a[r], max));
    b[r] = exp(d, hn::Sub(b[r], max));
  }
  for (int r = 0; r < kRows; ++r) {
    scale[r] = hn::Div(hn::Set(d, 1.0f), hn::SumOfLanes(d, hn::Add(a[r], b[r])));
  }
  for (int r = 0; r < kRows; ++r, y += n) {
    store_first(d, hn::Mul(a[r], scale[r]), first, y);
    if (second > 0) store_first(d, hn::Mul(b[r], scale[r]), second, y + first);
  }
}

void softmax_rows_simd(const float* x, float* y, std::int64_t rows, std::int64_t n,
                       bool logarithm) {
  constexpr int kTogether = 4;
  std::int64_t r = 0;
  if (!logarithm && n <= 2 * static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<float>()))) {
    for (; r + kTogether <= rows; r += kTogether) {
      softmax_short_rows<kTogether>(x + r * n, y + r * n, n);
    }
    for (; r < rows; ++r) softmax_short_rows<1>(x + r * n, y + r * n, n);
    return;
  }
  for (; r < rows; ++r) softmax_row_simd(x + r * n, y + r * n, n, logarithm);
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
HWY_EXPORT(softmax_rows_simd);
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

void softmax_rows(const float* x, float* y, std::int64_t rows, std::int64_t n, bool log) noexcept {
  HWY_DYNAMIC_DISPATCH(softmax_rows_simd)(x, y, rows, n, log);
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
