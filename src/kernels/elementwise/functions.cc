// SPDX-License-Identifier: Apache-2.0
// Elementwise functions for every instruction set, from one source.
#include "kernels/elementwise/functions.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/functions.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

HWY_INLINE V set(float x) { return hn::Set(D(), x); }

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

/// e^x - 1: far from 0 the 1 is lost, and the function of math-inl.h ends where 2^n does.
HWY_INLINE V expm1_of(V x) {
  const D d;
  const V large = set(80.0f);
  return hn::IfThenElse(hn::Lt(large, x), exp(d, x), expm1(d, at_most(x, large)));
}

/// log(1 + x): near 0 Highway's, which knows what the sum loses.
HWY_INLINE V log1p_of(V x) {
  const D d;
  const auto near = hn::Lt(hn::Abs(x), set(0.5f));
  const V small = hn::IfThenElseZero(near, x);
  return hn::IfThenElse(near, hn::Log1p(d, small), log(d, hn::Add(set(1.0f), x)));
}

void run(const ElementwiseCall& call) {
  const D d;
  const V a = set(call.a), b = set(call.b), one = set(1.0f), zero = hn::Zero(d);
  switch (call.fn) {
    case Fn::clip:
      return unary(call, [&](V x) HWY_ATTR { return clip(x, a, b); });
    case Fn::leaky_relu:
      return unary(call, [&](V x) HWY_ATTR { return leak(d, x, a); });
    case Fn::neg:
      return unary(call, [&](V x) HWY_ATTR { return hn::Neg(x); });
    case Fn::abs:
      return unary(call, [&](V x) HWY_ATTR { return hn::Abs(x); });
    case Fn::sign:
      return unary(call, [&](V x) HWY_ATTR {
        const V y = hn::IfThenElse(hn::Lt(x, zero), hn::Neg(one), hn::Mul(x, zero));
        return hn::IfThenElse(hn::Lt(zero, x), one, y);
      });
    case Fn::sigmoid:
      return unary(call, [&](V x) HWY_ATTR { return sigmoid(d, x); });
    case Fn::tanh:
      return unary(call, [&](V x) HWY_ATTR { return tanh(d, x); });
    case Fn::exp:
      return unary(call, [&](V x) HWY_ATTR { return exp(d, x); });
    case Fn::log:
      return unary(call, [&](V x) HWY_ATTR { return log(d, x); });
    case Fn::expm1:
      return unary(call, [&](V x) HWY_ATTR { return expm1_of(x); });
    case Fn::log1p:
      return unary(call, [&](V x) HWY_ATTR { return log1p_of(x); });
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
      return unary(call, [&](V x) HWY_ATTR { return erf(d, x); });
    case Fn::softplus:
      return unary(call, [&](V x) HWY_ATTR { return softplus(d, x); });
    case Fn::softsign:
      return unary(call, [&](V x) HWY_ATTR { return hn::Div(x, hn::Add(one, hn::Abs(x))); });
    case Fn::elu:
      return unary(call, [&](V x) HWY_ATTR { return elu(d, x, a); });
    case Fn::selu:
      return unary(call, [&](V x) HWY_ATTR { return hn::Mul(b, elu(d, x, a)); });
    case Fn::hard_sigmoid:
      return unary(call, [&](V x) HWY_ATTR { return hard_sigmoid(d, x, a, b); });
    case Fn::hard_swish:
      return unary(call, [&](V x) HWY_ATTR { return hard_swish(d, x); });
    case Fn::mish:
      return unary(call, [&](V x) HWY_ATTR { return mish(d, x); });
    case Fn::swish:
      // The fused function is the one without a factor.
      if (call.a == 1.0f) return unary(call, [&](V x) HWY_ATTR { return silu(d, x); });
      return unary(call, [&](V x) HWY_ATTR { return swish(d, x, a); });
    case Fn::gelu:
      return unary(call, [&](V x) HWY_ATTR { return gelu(d, x); });
    case Fn::gelu_tanh:
      return unary(call, [&](V x) HWY_ATTR { return gelu_tanh(d, x); });
    case Fn::thresholded_relu:
      return unary(call, [&](V x) HWY_ATTR { return hn::IfThenZeroElse(hn::Le(x, a), x); });
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
      return binary(call, [](V x, V y) HWY_ATTR { return smaller(x, y); });
    case Fn::max:
      return binary(call, [](V x, V y) HWY_ATTR { return larger(x, y); });
    case Fn::prelu:
      return binary(call, [&](V x, V y) HWY_ATTR { return leak(d, x, y); });
    case Fn::affine: {
      const auto f = [](V x, V y, V z) HWY_ATTR { return hn::MulAdd(x, y, z); };
      if (call.scalar[1]) return rows_of<3, false, true, true>(call, f);
      return rows_of<3, false, false, false>(call, f);
    }
    case Fn::affine_clip: {
      const auto f = [&](V x, V y, V z) HWY_ATTR { return clip(hn::MulAdd(x, y, z), a, b); };
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
