// SPDX-License-Identifier: Apache-2.0
// The functions of one f32 element on vectors: what posts and elementwise kernels compute, so
// that a fused activation is the unfused one to the bit. Included once a target.
//
// Every function gives NaN for NaN, has the limits of numpy at the infinities (x * sigmoid(x) and
// the like are NaN at -inf, where they multiply it by 0), and never passes through an infinity that
// its result does not have. It holds whether or not the processor flushes subnormal numbers.
#if defined(STOWAGE_KERNELS_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef STOWAGE_KERNELS_MATH_INL_H_
#undef STOWAGE_KERNELS_MATH_INL_H_
#else
#define STOWAGE_KERNELS_MATH_INL_H_
#endif

// This order only.
// clang-format off
#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>
// clang-format on

#include <limits>

HWY_BEFORE_NAMESPACE();

namespace stowage::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// max(x, bound) and min(x, bound), NaN where x is. hn::Max does it on x86 and WASM, whose
// instructions return their second operand where the comparison fails, but not on AArch64 (FMAXNM)
// nor in Highway's scalar emulation: both drop a NaN.
#undef STOWAGE_SECOND_OPERAND_WINS
#if (HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR) || HWY_TARGET == HWY_WASM
#define STOWAGE_SECOND_OPERAND_WINS 1
#else
#define STOWAGE_SECOND_OPERAND_WINS 0
#endif

#if HWY_TARGET == HWY_NEON
template <std::size_t N>
HWY_INLINE hn::Vec128<float, N> at_least(hn::Vec128<float, N> x, hn::Vec128<float, N> bound) {
  if constexpr (N == 4) {
    return hn::Vec128<float, N>(vmaxq_f32(bound.raw, x.raw));
  } else {
    return hn::Vec128<float, N>(vmax_f32(bound.raw, x.raw));
  }
}

template <std::size_t N>
HWY_INLINE hn::Vec128<float, N> at_most(hn::Vec128<float, N> x, hn::Vec128<float, N> bound) {
  if constexpr (N == 4) {
    return hn::Vec128<float, N>(vminq_f32(bound.raw, x.raw));
  } else {
    return hn::Vec128<float, N>(vmin_f32(bound.raw, x.raw));
  }
}
#else
template <class V>
HWY_INLINE V at_least(V x, V bound) {
#if STOWAGE_SECOND_OPERAND_WINS
  return hn::Max(bound, x);
#else
  return hn::IfThenElse(hn::Lt(x, bound), bound, x);
#endif
}

template <class V>
HWY_INLINE V at_most(V x, V bound) {
#if STOWAGE_SECOND_OPERAND_WINS
  return hn::Min(bound, x);
#else
  return hn::IfThenElse(hn::Lt(bound, x), bound, x);
#endif
}
#endif

/// min(max(x, lo), hi)
template <class V>
HWY_INLINE V clip(V x, V lo, V hi) {
  return at_most(at_least(x, lo), hi);
}

/// The smaller or larger operand; NaN when one is NaN.
template <class V>
HWY_INLINE V smaller(V x, V y) {
  return hn::IfThenElse(hn::IsNaN(x), x, at_most(y, x));
}

template <class V>
HWY_INLINE V larger(V x, V y) {
  return hn::IfThenElse(hn::IsNaN(x), x, at_least(y, x));
}

/// x = n ln 2 + r with a whole n and |r| <= ln 2 / 2, for |x| < 2^20: e^r - 1 and n.
template <class D>
struct ReducedExp {
  hn::Vec<D> r_expm1, n;
};

template <class D, class V>
HWY_INLINE ReducedExp<D> reduce_exp(D d, V x) {
  // Added to a small number it leaves the nearest integer in the low bits.
  const V magic = hn::Set(d, 12582912.0f);
  const V shifted = hn::MulAdd(x, hn::Set(d, 1.44269504f), magic);
  const V n = hn::Sub(shifted, magic);
  // ln 2 in two parts; n times the first is exact.
  V r = hn::MulAdd(n, hn::Set(d, -0.693145751953125f), x);
  r = hn::MulAdd(n, hn::Set(d, -1.428606765330187e-6f), r);
  // A minimax polynomial, that of XNNPACK's f32 expm1: e^r - 1 = r + r^2 (1/2 + ...).
  V p = hn::Set(d, 0x1.6b7338p-10f);
  for (const float c : {0x1.12278ep-7f, 0x1.555716p-5f, 0x1.5554b0p-3f, 0x1.fffffep-2f}) {
    p = hn::MulAdd(p, r, hn::Set(d, c));
  }
  p = hn::MulAdd(p, hn::Mul(r, r), r);
  return {p, n};
}

#if HWY_TARGET <= HWY_AVX3
/// x 2^n for whole numbers n, rounded once.
template <class D, class V>
HWY_INLINE V times_power_of_two(D, V x, V n) {
  if constexpr (sizeof(x.raw) == 64) return V{_mm512_scalef_ps(x.raw, n.raw)};
  if constexpr (sizeof(x.raw) == 32) return V{_mm256_scalef_ps(x.raw, n.raw)};
  if constexpr (sizeof(x.raw) == 16) return V{_mm_scalef_ps(x.raw, n.raw)};
}

/// 2^n for whole numbers -126 <= n <= 127, infinity for n = 128.
template <class D, class V>
HWY_INLINE V power_of_two(D d, V n) {
  return times_power_of_two(d, hn::Set(d, 1.0f), n);
}
#else
template <class D, class VI>
HWY_INLINE hn::Vec<D> power_of_two_bits(D d, VI n) {
  const hn::Rebind<std::int32_t, D> di;
  return hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(n, hn::Set(di, 127))));
}

template <class D, class V>
HWY_INLINE V power_of_two(D d, V n) {
  return power_of_two_bits(d, hn::ConvertTo(hn::Rebind<std::int32_t, D>(), n));
}

/// In two steps, for 2^n need not be a normal number; -252 <= n <= 254.
template <class D, class V>
HWY_INLINE V times_power_of_two(D d, V x, V n) {
  const auto whole = hn::ConvertTo(hn::Rebind<std::int32_t, D>(), n);
  const auto half = hn::ShiftRight<1>(whole);
  return hn::Mul(hn::Mul(x, power_of_two_bits(d, half)),
                 power_of_two_bits(d, hn::Sub(whole, half)));
}
#endif

/// e^x within 1 ulp, 0 and infinity where that is the nearest float.
template <class D, class V>
HWY_INLINE V exp(D d, V x) {
  // Beyond these bounds nothing changes any more.
  const auto e = reduce_exp(d, clip(x, hn::Set(d, -104.0f), hn::Set(d, 89.0f)));
  return times_power_of_two(d, hn::Add(e.r_expm1, hn::Set(d, 1.0f)), e.n);
}

/// e^x - 1 for x <= 88.
template <class D, class V>
HWY_INLINE V expm1(D d, V x) {
  const auto e = reduce_exp(d, at_least(x, hn::Set(d, -64.0f)));
  const V power = power_of_two(d, e.n);
  return hn::MulAdd(power, e.r_expm1, hn::Sub(power, hn::Set(d, 1.0f)));
}

/// Highway's Log with the values at the edges.
template <class D, class V>
HWY_INLINE V log(D d, V x) {
  const V zero = hn::Zero(d), infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  const V nan = hn::Set(d, std::numeric_limits<float>::quiet_NaN());
  const V edge =
      hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), hn::IfThenElse(hn::Lt(x, zero), nan, x));
  const auto inside = hn::And(hn::Lt(zero, x), hn::Lt(x, infinity));
  return hn::IfThenElse(inside, hn::Log(d, x), edge);
}

/// 1 + e^-x, infinity for x < -88.4: what sigmoid and swish divide by. 2^n is one factor here, for
/// e^-x that is no normal number is nothing beside 1.
template <class D, class V>
HWY_INLINE V one_and_exp_of_minus(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const auto e = reduce_exp(d, clip(hn::Neg(x), hn::Set(d, -87.0f), hn::Set(d, 89.0f)));
  return hn::MulAdd(hn::Add(e.r_expm1, one), power_of_two(d, e.n), one);
}

/// 1 / (1 + e^-x), 0 for x < -88.4
template <class D, class V>
HWY_INLINE V sigmoid(D d, V x) {
  return hn::Div(hn::Set(d, 1.0f), one_and_exp_of_minus(d, x));
}

/// x sigmoid(a x)
template <class D, class V>
HWY_INLINE V swish(D d, V x, V a) {
  return hn::Div(x, one_and_exp_of_minus(d, hn::Mul(a, x)));
}

template <class D, class V>
HWY_INLINE V silu(D d, V x) {
  return hn::Div(x, one_and_exp_of_minus(d, x));
}

template <class D, class V>
HWY_INLINE V tanh(D d, V x) {
  // Beyond the bound it is 1.
  const V y = at_most(hn::Abs(x), hn::Set(d, 9.5f));
  const V e = expm1(d, hn::Add(y, y));
  return hn::CopySign(hn::Div(e, hn::Add(e, hn::Set(d, 2.0f))), x);
}

/// min(max(a x + b, 0), 1)
template <class D, class V>
HWY_INLINE V hard_sigmoid(D d, V x, V a, V b) {
  return clip(hn::MulAdd(a, x, b), hn::Zero(d), hn::Set(d, 1.0f));
}

/// x min(max(x / 6 + 1/2, 0), 1)
template <class D, class V>
HWY_INLINE V hard_swish(D d, V x) {
  return hn::Mul(x, hard_sigmoid(d, x, hn::Set(d, 1.0f / 6), hn::Set(d, 0.5f)));
}

/// x < 0 ? slope * x : x
template <class D, class V>
HWY_INLINE V leak(D d, V x, V slope) {
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(slope, x), x);
}

/// x < 0 ? a * (e^x - 1) : x
template <class D, class V>
HWY_INLINE V elu(D d, V x, V a) {
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(a, expm1(d, x)), x);
}

/// log(1 + e^x)
template <class D, class V>
HWY_INLINE V softplus(D d, V x) {
  const V tail = hn::Log1p(d, exp(d, hn::Neg(hn::Abs(x))));
  return hn::Add(at_least(x, hn::Zero(d)), tail);
}

/// x tanh(softplus(x)) = x (e^2 + 2e) / (e^2 + 2e + 2) with e = exp(x): 1 long before e^2
/// overflows.
template <class D, class V>
HWY_INLINE V mish(D d, V x) {
  const V two = hn::Set(d, 2.0f), e = exp(d, at_most(x, hn::Set(d, 20.0f)));
  const V n = hn::Mul(e, hn::Add(e, two));
  return hn::Mul(x, hn::Div(n, hn::Add(n, two)));
}

/// The rational approximation that Eigen and XLA use.
template <class D, class V>
HWY_INLINE V erf(D d, V x) {
  const V limit = hn::Set(d, 4.0f);
  const V y = clip(x, hn::Neg(limit), limit);
  const V z = hn::Mul(y, y);
  V p = hn::Set(d, -2.72614225801306e-10f);
  for (const float c : {2.77068142495902e-08f, -2.10102402082508e-06f, -5.69250639462346e-05f,
                        -7.34990630326855e-04f, -2.95459980854025e-03f, -1.60960333262415e-02f}) {
    p = hn::MulAdd(p, z, hn::Set(d, c));
  }
  V q = hn::Set(d, -1.45660718464996e-05f);
  for (const float c : {-2.13374055278905e-04f, -1.68282697438203e-03f, -7.37332916720468e-03f,
                        -1.42647390514189e-02f}) {
    q = hn::MulAdd(q, z, hn::Set(d, c));
  }
  // Exactly 1 where the nearest float is: gelu multiplies the difference by x.
  const V one = hn::CopySign(hn::Set(d, 1.0f), x);
  return hn::IfThenElse(hn::Lt(limit, hn::Abs(x)), one, hn::Div(hn::Mul(y, p), q));
}

/// x (1 + erf(x / sqrt 2)) / 2
template <class D, class V>
HWY_INLINE V gelu(D d, V x) {
  const V e = erf(d, hn::Mul(x, hn::Set(d, 0.70710678118654752f)));
  return hn::Mul(hn::Mul(hn::Set(d, 0.5f), x), hn::Add(hn::Set(d, 1.0f), e));
}

template <class D, class V>
HWY_INLINE V gelu_tanh(D d, V x) {
  const V cube = hn::Mul(hn::Mul(x, x), x);
  const V y = hn::Mul(hn::Set(d, 0.7978845608f), hn::MulAdd(hn::Set(d, 0.044715f), cube, x));
  return hn::Mul(hn::Mul(hn::Set(d, 0.5f), x), hn::Add(hn::Set(d, 1.0f), tanh(d, y)));
}

}  // namespace stowage::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#endif
