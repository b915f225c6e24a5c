// SPDX-License-Identifier: Apache-2.0
// Elementwise functions for every instruction set, from one source.
#include "ops/elementwise/functions.h"

#include <cstring>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/elementwise/functions.cc"
// This order only.
// clang-format off
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>
// clang-format on

HWY_BEFORE_NAMESPACE();

namespace stowage::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

HWY_INLINE V set(float x) { return hn::Set(D(), x); }

/// `y` where x is a number, else x.
HWY_INLINE V keep_nan(V x, V y) { return hn::IfThenElse(hn::IsNaN(x), x, y); }

/// Highway's Exp is garbage above 104, where the result is infinite; infinity comes out of 104.
HWY_INLINE V exp_of(V x) {
  const D d;
  return keep_nan(x, hn::Exp(d, hn::Min(x, set(104.0f))));
}

HWY_INLINE V log_of(V x) {
  const D d;
  const V infinity = set(std::numeric_limits<float>::infinity());
  const V nan = set(std::numeric_limits<float>::quiet_NaN());
  V y = hn::Log(d, x);
  y = hn::IfThenElse(hn::Eq(x, infinity), x, y);
  y = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(infinity), y);
  return keep_nan(x, hn::IfThenElse(hn::Lt(x, hn::Zero(d)), nan, y));
}

HWY_INLINE V expm1_of(V x) {
  const D d;
  return keep_nan(x, hn::Expm1(d, hn::Min(x, set(104.0f))));
}

HWY_INLINE V tanh_of(V x) {
  const D d;
  return keep_nan(x, hn::Tanh(d, x));
}

HWY_INLINE V sigmoid_of(V x) { return hn::Div(set(1.0f), hn::Add(set(1.0f), exp_of(hn::Neg(x)))); }

/// The rational approximation that Eigen and XLA use.
HWY_INLINE V erf_of(V x) {
  const V y = hn::Min(hn::Max(x, set(-4.0f)), set(4.0f));
  const V z = hn::Mul(y, y);
  V p = set(-2.72614225801306e-10f);
  for (const float c : {2.77068142495902e-08f, -2.10102402082508e-06f, -5.69250639462346e-05f,
                        -7.34990630326855e-04f, -2.95459980854025e-03f, -1.60960333262415e-02f}) {
    p = hn::MulAdd(p, z, set(c));
  }
  V q = set(-1.45660718464996e-05f);
  for (const float c : {-2.13374055278905e-04f, -1.68282697438203e-03f, -7.37332916720468e-03f,
                        -1.42647390514189e-02f}) {
    q = hn::MulAdd(q, z, set(c));
  }
  return keep_nan(x, hn::Div(hn::Mul(y, p), q));
}

HWY_INLINE V softplus_of(V x) {
  const D d;
  const V tail = hn::Log1p(d, hn::Exp(d, hn::Neg(hn::Abs(x))));
  return keep_nan(x, hn::Add(hn::Max(x, hn::Zero(d)), tail));
}

/// tanh(softplus(x)) = (e^2 + 2e) / (e^2 + 2e + 2) with e = exp(x); 1 long before e^2 overflows.
HWY_INLINE V mish_of(V x) {
  const V e = exp_of(hn::Min(x, set(20.0f)));
  const V n = hn::Mul(e, hn::Add(e, set(2.0f)));
  return keep_nan(x, hn::Mul(x, hn::Div(n, hn::Add(n, set(2.0f)))));
}

HWY_INLINE V clip_of(V x, V lo, V hi) {
  const V y = hn::IfThenElse(hn::Lt(x, lo), lo, x);
  return hn::IfThenElse(hn::Lt(hi, y), hi, y);
}

HWY_INLINE V elu_of(V x, V a) {
  const D d;
  const V negative = hn::Mul(a, expm1_of(hn::Min(x, hn::Zero(d))));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), negative, x);
}

HWY_INLINE V gelu_tanh_of(V x) {
  const V cube = hn::Mul(hn::Mul(x, x), x);
  const V y = hn::Mul(set(0.7978845608f), hn::MulAdd(set(0.044715f), cube, x));
  return hn::Mul(hn::Mul(set(0.5f), x), hn::Add(set(1.0f), tanh_of(y)));
}

/// The smaller or larger operand; NaN when one is NaN.
HWY_INLINE V min_of(V x, V y) { return keep_nan(x, hn::IfThenElse(hn::Lt(x, y), x, y)); }

HWY_INLINE V max_of(V x, V y) { return keep_nan(x, hn::IfThenElse(hn::Lt(y, x), x, y)); }

HWY_INLINE V leak(V x, V slope) {
  return hn::IfThenElse(hn::Lt(x, hn::Zero(D())), hn::Mul(slope, x), x);
}

/// Row by row; `f` takes `Operands` vectors, of which those with S are one element a row.
template <int Operands, bool S0, bool S1, bool S2, class F>
HWY_INLINE void rows_of(const ElementwiseCall& call, F f) {
  const D d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t r = 0; r < call.rows; ++r) {
    const float* p0 = call.in[0] + r * call.in_stride[0];
    const float* p1 = Operands > 1 ? call.in[1] + r * call.in_stride[1] : p0;
    const float* p2 = Operands > 2 ? call.in[2] + r * call.in_stride[2] : p0;
    float* q = call.out + r * call.out_stride;
    const V s0 = S0 ? set(*p0) : hn::Zero(d), s1 = S1 ? set(*p1) : hn::Zero(d),
            s2 = S2 ? set(*p2) : hn::Zero(d);
    const auto at = [&](std::int64_t i) HWY_ATTR {
      const V x0 = S0 ? s0 : hn::LoadU(d, p0 + i);
      if constexpr (Operands == 1) {
        return f(x0);
      } else {
        const V x1 = S1 ? s1 : hn::LoadU(d, p1 + i);
        if constexpr (Operands == 2) {
          return f(x0, x1);
        } else {
          return f(x0, x1, S2 ? s2 : hn::LoadU(d, p2 + i));
        }
      }
    };
    std::int64_t i = 0;
    for (; i + lanes <= call.n; i += lanes) hn::StoreU(at(i), d, q + i);
    if (i < call.n) {
      // What follows the row belongs to somebody else, perhaps to another thread.
      HWY_ALIGN float last[hn::MaxLanes(d)];
      hn::Store(at(i), d, last);
      std::memcpy(q + i, last, static_cast<std::size_t>(call.n - i) * sizeof(float));
    }
  }
}

template <class F>
HWY_INLINE void unary(const ElementwiseCall& call, F f) {
  if (call.scalar[0]) return rows_of<1, true, false, false>(call, f);
  rows_of<1, false, false, false>(call, f);
}

template <class F>
HWY_INLINE void binary(const ElementwiseCall& call, F f) {
  if (call.scalar[0] && call.scalar[1]) return rows_of<2, true, true, false>(call, f);
  if (call.scalar[0]) return rows_of<2, true, false, false>(call, f);
  if (call.scalar[1]) return rows_of<2, false, true, false>(call, f);
  rows_of<2, false, false, false>(call, f);
}

void run(const ElementwiseCall& call) {
  const D d;
  const V a = set(call.a), b = set(call.b), one = set(1.0f), zero = hn::Zero(d);
  const auto ramp = [&](V x) HWY_ATTR { return clip_of(x, zero, one); };
  switch (call.fn) {
    case Fn::clip:
      return unary(call, [&](V x) HWY_ATTR { return clip_of(x, a, b); });
    case Fn::leaky_relu:
      return unary(call, [&](V x) HWY_ATTR { return leak(x, a); });
    case Fn::neg:
      return unary(call, [&](V x) HWY_ATTR { return hn::Neg(x); });
    case Fn::abs:
      return unary(call, [&](V x) HWY_ATTR { return hn::Abs(x); });
    case Fn::sign:
      return unary(call, [&](V x) HWY_ATTR {
        const V y = hn::IfThenElse(hn::Lt(zero, x), one, zero);
        return keep_nan(x, hn::IfThenElse(hn::Lt(x, zero), hn::Neg(one), y));
      });
    case Fn::sigmoid:
      return unary(call, [&](V x) HWY_ATTR { return sigmoid_of(x); });
    case Fn::tanh:
      return unary(call, [&](V x) HWY_ATTR { return tanh_of(x); });
    case Fn::exp:
      return unary(call, [&](V x) HWY_ATTR { return exp_of(x); });
    case Fn::log:
      return unary(call, [&](V x) HWY_ATTR { return log_of(x); });
    case Fn::sqrt:
      return unary(call, [&](V x) HWY_ATTR { return hn::Sqrt(x); });
    case Fn::floor:
      return unary(call, [&](V x) HWY_ATTR { return hn::Floor(x); });
    case Fn::ceil:
      return unary(call, [&](V x) HWY_ATTR { return hn::Ceil(x); });
    case Fn::round:
      return unary(call, [&](V x) HWY_ATTR { return hn::Round(x); });
    case Fn::reciprocal:
      return unary(call, [&](V x) HWY_ATTR { return hn::Div(one, x); });
    case Fn::erf:
      return unary(call, [&](V x) HWY_ATTR { return erf_of(x); });
    case Fn::softplus:
      return unary(call, [&](V x) HWY_ATTR { return softplus_of(x); });
    case Fn::softsign:
      return unary(call, [&](V x) HWY_ATTR { return hn::Div(x, hn::Add(one, hn::Abs(x))); });
    case Fn::elu:
      return unary(call, [&](V x) HWY_ATTR { return elu_of(x, a); });
    case Fn::selu:
      return unary(call, [&](V x) HWY_ATTR { return hn::Mul(b, elu_of(x, a)); });
    case Fn::hard_sigmoid:
      return unary(call, [&](V x) HWY_ATTR { return ramp(hn::MulAdd(a, x, b)); });
    case Fn::hard_swish:
      return unary(call, [&](V x) HWY_ATTR {
        return hn::Mul(x, ramp(hn::MulAdd(x, set(1.0f / 6), set(0.5f))));
      });
    case Fn::mish:
      return unary(call, [&](V x) HWY_ATTR { return mish_of(x); });
    case Fn::swish:
      return unary(call, [&](V x) HWY_ATTR { return hn::Mul(x, sigmoid_of(hn::Mul(a, x))); });
    case Fn::gelu:
      return unary(call, [&](V x) HWY_ATTR {
        const V e = erf_of(hn::Mul(x, set(0.70710678118654752f)));
        return hn::Mul(hn::Mul(set(0.5f), x), hn::Add(one, e));
      });
    case Fn::gelu_tanh:
      return unary(call, [&](V x) HWY_ATTR { return gelu_tanh_of(x); });
    case Fn::thresholded_relu:
      return unary(call, [&](V x) HWY_ATTR { return hn::IfThenElseZero(hn::Lt(a, x), x); });
    case Fn::square:
      return unary(call, [&](V x) HWY_ATTR { return hn::Mul(x, x); });
    case Fn::scale:
      return unary(call, [&](V x) HWY_ATTR { return hn::Mul(x, a); });
    case Fn::add:
      return binary(call, [](V x, V y) HWY_ATTR { return hn::Add(x, y); });
    case Fn::sub:
      return binary(call, [](V x, V y) HWY_ATTR { return hn::Sub(x, y); });
    case Fn::mul:
      return binary(call, [](V x, V y) HWY_ATTR { return hn::Mul(x, y); });
    case Fn::div:
      return binary(call, [](V x, V y) HWY_ATTR { return hn::Div(x, y); });
    case Fn::min:
      return binary(call, [](V x, V y) HWY_ATTR { return min_of(x, y); });
    case Fn::max:
      return binary(call, [](V x, V y) HWY_ATTR { return max_of(x, y); });
    case Fn::prelu:
      return binary(call, [](V x, V y) HWY_ATTR { return leak(x, y); });
    case Fn::affine: {
      const auto f = [](V x, V y, V z) HWY_ATTR { return hn::MulAdd(x, y, z); };
      if (call.scalar[1]) return rows_of<3, false, true, true>(call, f);
      return rows_of<3, false, false, false>(call, f);
    }
  }
}

}  // namespace
}  // namespace stowage::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace stowage {

HWY_EXPORT(run);

void run_elementwise(const ElementwiseCall& call) noexcept { HWY_DYNAMIC_DISPATCH(run)(call); }

}  // namespace stowage
#endif
