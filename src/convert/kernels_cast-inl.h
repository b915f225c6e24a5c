// SPDX-License-Identifier: Apache-2.0
// Kernels that change the element: every fast dtype to f32 and back, with mean and norm on the
// way. They give the bits of base/scalar.h on every instruction set.
#if defined(STOWAGE_CONVERT_CAST_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef STOWAGE_CONVERT_CAST_INL_H
#undef STOWAGE_CONVERT_CAST_INL_H
#else
#define STOWAGE_CONVERT_CAST_INL_H
#endif

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "convert/kernels.h"
#include "hwy/highway.h"
#include "tensor/stored_type.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::conversion {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// What lanes hold: 16-bit floats are their bits.
template <Fast kType>
struct Stored {
  using Scalar = StoredType<kFastDTypes[static_cast<int>(kType)]>;
  using Type = std::conditional_t<kIsSmallFloat<Scalar>, std::uint16_t, Scalar>;
};

using FloatTag = hn::ScalableTag<float>;
using FloatVec = hn::Vec<FloatTag>;

// What follows takes the tag of its floats, so that fewer of them than a vector holds are cast
// alike.

/// As many elements of 16 bits as there are floats.
template <class DF>
using HalfVec = hn::Vec<hn::Rebind<std::uint16_t, DF> >;

// Highway emulates f16 without F16C by truncation, so SSE4 rounds by hand as base/scalar.h does.
#undef STOWAGE_NATIVE_F16
#if HWY_TARGET <= HWY_AVX2 || HWY_ARCH_ARM_A64
#define STOWAGE_NATIVE_F16 1
#else
#define STOWAGE_NATIVE_F16 0
#endif

#if STOWAGE_NATIVE_F16

template <class DF>
HWY_INLINE hn::Vec<DF> widen_f16(DF df, HalfVec<DF> half) {
  return hn::PromoteTo(df, hn::BitCast(hn::Rebind<hwy::float16_t, DF>(), half));
}

template <class DF>
HWY_INLINE HalfVec<DF> narrow_f16(DF, hn::Vec<DF> v) {
  const hn::Rebind<hwy::float16_t, DF> d;
  return hn::BitCast(hn::Rebind<std::uint16_t, DF>(), hn::DemoteTo(d, v));
}

#else

template <class DF>
HWY_INLINE hn::Vec<DF> widen_f16(DF df, HalfVec<DF> half) {
  const hn::RebindToUnsigned<DF> du;
  const hn::RebindToSigned<DF> di;
  const auto bits = hn::PromoteTo(du, half);
  const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(du, 0x8000u)));
  const auto magnitude = hn::And(bits, hn::Set(du, 0x7fffu));
  const auto normal = hn::Add(hn::ShiftLeft<13>(magnitude), hn::Set(du, 0x38000000u));
  const auto tiny = hn::BitCast(
      du, hn::Mul(hn::ConvertTo(df, hn::BitCast(di, magnitude)), hn::Set(df, 0x1p-24f)));
  const auto nan = hn::Or(hn::ShiftLeft<13>(magnitude), hn::Set(du, 0x7fc00000u));
  auto out = hn::IfThenElse(hn::Gt(hn::Set(du, 0x400u), magnitude), tiny, normal);
  out = hn::IfThenElse(hn::Eq(magnitude, hn::Set(du, 0x7c00u)), hn::Set(du, 0x7f800000u), out);
  out = hn::IfThenElse(hn::Gt(magnitude, hn::Set(du, 0x7c00u)), nan, out);
  return hn::BitCast(df, hn::Or(out, sign));
}

template <class DF>
HWY_INLINE HalfVec<DF> narrow_f16(DF df, hn::Vec<DF> v) {
  const hn::RebindToUnsigned<DF> du;
  const hn::RebindToSigned<DF> di;
  const hn::Rebind<std::uint16_t, DF> d16;
  const auto bits = hn::BitCast(du, v);
  const auto sign = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 0x8000u));
  const auto x = hn::And(bits, hn::Set(du, 0x7fffffffu));
  const auto odd = hn::And(hn::ShiftRight<13>(x), hn::Set(du, 1u));
  const auto normal =
      hn::ShiftRight<13>(hn::Add(hn::Sub(x, hn::Set(du, 0x38000000u - 0xfffu)), odd));
  const auto tiny = hn::Sub(hn::BitCast(du, hn::Add(hn::BitCast(df, x), hn::Set(df, 0.5f))),
                            hn::Set(du, 0x3f000000u));
  const auto nan =
      hn::Or(hn::And(hn::ShiftRight<13>(x), hn::Set(du, 0x3ffu)), hn::Set(du, 0x7e00u));
  auto out = hn::IfThenElse(hn::Gt(hn::Set(du, 0x38800000u), x), tiny, normal);
  out = hn::IfThenElse(hn::Gt(x, hn::Set(du, 0x477fefffu)), hn::Set(du, 0x7c00u), out);
  out = hn::IfThenElse(hn::Gt(x, hn::Set(du, 0x7f800000u)), nan, out);
  out = hn::Or(out, sign);
  return hn::DemoteTo(d16, hn::BitCast(di, out));
}

#endif

/// Rounded to bf16, in the upper half of each lane.
template <class DF>
HWY_INLINE hn::Vec<hn::RebindToUnsigned<DF> > rounded_bf16(DF, hn::Vec<DF> v) {
  const hn::RebindToUnsigned<DF> du;
  const auto bits = hn::BitCast(du, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u));
  const auto rounded = hn::Add(hn::Add(bits, hn::Set(du, 0x7fffu)), odd);
#if HWY_TARGET <= HWY_AVX3  // one operation with its mask
  if constexpr (hn::MaxLanes(DF()) == 16) {
    const __mmask16 is_nan = _mm512_cmp_ps_mask(v.raw, v.raw, _CMP_UNORD_Q);
    return hn::Vec<decltype(du)>{
        _mm512_mask_or_epi32(rounded.raw, is_nan, bits.raw, _mm512_set1_epi32(0x400000))};
  }
#endif
  const auto quiet = hn::Or(bits, hn::Set(du, 0x400000u));
  return hn::IfThenElse(hn::RebindMask(du, hn::Eq(v, v)), rounded, quiet);
}

template <class DF>
HWY_INLINE HalfVec<DF> narrow_bf16(DF df, hn::Vec<DF> v) {
  const hn::RebindToSigned<DF> di;
  const hn::Rebind<std::uint16_t, DF> d16;
  return hn::DemoteTo(d16, hn::BitCast(di, hn::ShiftRight<16>(rounded_bf16(df, v))));
}

/// 16-bit floats in registers, and back.
template <Fast kType, class DF>
HWY_INLINE hn::Vec<DF> widen(DF df, HalfVec<DF> half) {
  static_assert(kType == Fast::f16 || kType == Fast::bf16);
  if constexpr (kType == Fast::f16) {
    return widen_f16(df, half);
  } else {
    const hn::RebindToUnsigned<DF> du;
    return hn::BitCast(df, hn::ShiftLeft<16>(hn::PromoteTo(du, half)));
  }
}

template <Fast kType, class DF>
HWY_INLINE HalfVec<DF> narrow(DF df, hn::Vec<DF> v) {
  static_assert(kType == Fast::f16 || kType == Fast::bf16);
  if constexpr (kType == Fast::f16) {
    return narrow_f16(df, v);
  } else {
    return narrow_bf16(df, v);
  }
}

/// Elements in registers as f32.
template <Fast kType, class DF>
HWY_INLINE hn::Vec<DF> as_float(DF df, hn::Vec<hn::Rebind<typename Stored<kType>::Type, DF> > v) {
  const hn::RebindToSigned<DF> di;
  if constexpr (kType == Fast::f32) {
    return v;
  } else if constexpr (kType == Fast::f16 || kType == Fast::bf16) {
    return widen<kType>(df, v);
  } else if constexpr (kType == Fast::i32) {
    return hn::ConvertTo(df, v);
  } else {
    return hn::ConvertTo(df, hn::PromoteTo(di, v));
  }
}

template <Fast kType, class DF>
HWY_INLINE hn::Vec<DF> load_as_float(DF df, const typename Stored<kType>::Type* p) {
  const hn::Rebind<typename Stored<kType>::Type, DF> d;
  return as_float<kType>(df, hn::LoadU(d, p));
}

/// As many floats of any type as f32 has in a vector.
template <Fast kType>
HWY_INLINE FloatVec load_floats(const Byte* p) {
  return load_as_float<kType>(FloatTag(), reinterpret_cast<const typename Stored<kType>::Type*>(p));
}

/// The low bits of each lane.
template <class T, class DF>
HWY_INLINE void store_low(DF, hn::Vec<hn::RebindToUnsigned<DF> > v, T* p) {
  using Low = hwy::MakeUnsigned<T>;
  const hn::Rebind<Low, DF> d;
  auto* const to = reinterpret_cast<Low*>(p);
#if HWY_TARGET <= HWY_AVX3  // Highway goes by two shuffles and constants
  using V = hn::Vec<decltype(d)>;
  constexpr std::size_t kLanes = hn::MaxLanes(DF());
  if constexpr (kLanes == 16 && sizeof(T) == 1)
    return hn::StoreU(V{_mm512_cvtepi32_epi8(v.raw)}, d, to);
  if constexpr (kLanes == 16 && sizeof(T) == 2)
    return hn::StoreU(V{_mm512_cvtepi32_epi16(v.raw)}, d, to);
  if constexpr (kLanes == 8 && sizeof(T) == 1)
    return hn::StoreU(V{_mm256_cvtepi32_epi8(v.raw)}, d, to);
  if constexpr (kLanes == 8 && sizeof(T) == 2)
    return hn::StoreU(V{_mm256_cvtepi32_epi16(v.raw)}, d, to);
#endif
  hn::StoreU(hn::TruncateTo(d, v), d, to);
}

/// Within the bounds of T; NaN is 0. Bounds are exact in f32, except the upper one of i32.
template <class T, class DF>
HWY_INLINE hn::Vec<DF> clamp(DF df, hn::Vec<DF> v) {
  constexpr float kLow = static_cast<float>(hwy::LimitsMin<T>());
  constexpr float kHigh = static_cast<float>(hwy::LimitsMax<T>());
  const auto number = hn::IfThenElseZero(hn::Eq(v, v), v);
  return hn::Min(hn::Max(number, hn::Set(df, kLow)), hn::Set(df, kHigh));
}

template <Fast kType, class DF>
HWY_INLINE void store_from_float(DF df, hn::Vec<DF> v, typename Stored<kType>::Type* p) {
  using T = typename Stored<kType>::Type;
  const hn::RebindToUnsigned<DF> du;
  const hn::RebindToSigned<DF> di;
  const hn::Rebind<T, DF> d;
  if constexpr (kType == Fast::f32) {
    hn::StoreU(v, df, p);
  } else if constexpr (kType == Fast::f16 || kType == Fast::bf16) {
    hn::StoreU(narrow<kType>(df, v), d, p);
  } else {
    if constexpr (kType == Fast::i32) {  // the upper end is caught after rounding
      const auto over = hn::RebindMask(di, hn::Ge(v, hn::Set(df, 0x1p31f)));
      const auto most = hn::Set(di, hwy::LimitsMax<T>());
#if HWY_TARGET <= HWY_AVX3  // gives the least i32 below it, as is right, and above
      if constexpr (hn::MaxLanes(DF()) == 16) {
        const __mmask16 number = _mm512_cmp_ps_mask(v.raw, v.raw, _CMP_ORD_Q);
        const hn::Vec<decltype(di)> rounded{_mm512_maskz_cvtps_epi32(number, v.raw)};
        return hn::StoreU(hn::IfThenElse(over, most, rounded), d, p);
      }
#endif
      hn::StoreU(hn::IfThenElse(over, most, hn::NearestInt(clamp<T>(df, v))), d, p);
    } else {
      // So large a sum has no fraction: it is rounded to nearest even, and its low bits are the
      // integer.
      store_low(df, hn::BitCast(du, hn::Add(clamp<T>(df, v), hn::Set(df, 0x1.8p23f))), p);
    }
  }
}

#undef STOWAGE_PACKS_FOUR
#if HWY_TARGET <= HWY_AVX2 || HWY_TARGET == HWY_SSE4
#define STOWAGE_PACKS_FOUR 1

using ByteVec = hn::Vec<hn::ScalableTag<std::uint8_t> >;

/// Four vectors as 8-bit integers, of which each 16 bytes have four of each vector. Packing
/// saturates, so that only what no i32 holds must be bounded before: the upper end, beyond which
/// (and of NaN) the instruction gives the least i32.
template <class T>
HWY_INLINE ByteVec packed_four(const FloatVec (&v)[4]) {
  constexpr bool kSigned = std::is_signed_v<T>;
#if HWY_TARGET <= HWY_AVX3
  const auto integers = [&](int i) HWY_ATTR {
    const __m512 x = v[i].raw, most = _mm512_set1_ps(static_cast<float>(hwy::LimitsMax<T>()));
    // The minimum with NaN is its second operand.
    return _mm512_cvtps_epi32(
        kSigned ? _mm512_maskz_min_ps(_mm512_cmp_ps_mask(x, x, _CMP_ORD_Q), most, x)
                : _mm512_min_ps(most, x));
  };
  const auto pack = [&](int i)
                        HWY_ATTR { return _mm512_packs_epi32(integers(i), integers(i + 1)); };
  return ByteVec{kSigned ? _mm512_packs_epi16(pack(0), pack(2))
                         : _mm512_packus_epi16(pack(0), pack(2))};
#elif HWY_TARGET == HWY_AVX2
  const auto integers = [&](int i) HWY_ATTR {
    __m256 x = v[i].raw;  // the minimum with NaN is its second operand
    if (kSigned) x = _mm256_and_ps(x, _mm256_cmp_ps(x, x, _CMP_ORD_Q));
    return _mm256_cvtps_epi32(_mm256_min_ps(_mm256_set1_ps(hwy::LimitsMax<T>()), x));
  };
  const auto pack = [&](int i)
                        HWY_ATTR { return _mm256_packs_epi32(integers(i), integers(i + 1)); };
  return ByteVec{kSigned ? _mm256_packs_epi16(pack(0), pack(2))
                         : _mm256_packus_epi16(pack(0), pack(2))};
#else
  const auto integers = [&](int i) HWY_ATTR {
    __m128 x = v[i].raw;
    if (kSigned) x = _mm_and_ps(x, _mm_cmpord_ps(x, x));
    return _mm_cvtps_epi32(_mm_min_ps(_mm_set1_ps(hwy::LimitsMax<T>()), x));
  };
  const auto pack = [&](int i) HWY_ATTR { return _mm_packs_epi32(integers(i), integers(i + 1)); };
  return ByteVec{kSigned ? _mm_packs_epi16(pack(0), pack(2)) : _mm_packus_epi16(pack(0), pack(2))};
#endif
}

#if HWY_TARGET <= HWY_AVX3
/// The words of a register, four by four: the first of each quarter come first.
HWY_INLINE __m512i transposed_words(__m512i v) {
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return _mm512_permutexvar_epi32(order, v);
}
#endif

/// The same one after the other.
template <class T>
HWY_INLINE ByteVec ordered_four(const FloatVec (&v)[4]) {
  ByteVec mixed = packed_four<T>(v);
#if HWY_TARGET <= HWY_AVX3
  mixed = ByteVec{transposed_words(mixed.raw)};
#elif HWY_TARGET == HWY_AVX2
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  mixed = ByteVec{_mm256_permutevar8x32_epi32(mixed.raw, order)};
#endif
  return mixed;
}

/// The same as words of one of each vector.
template <class T>
HWY_INLINE void pack_words(const FloatVec (&v)[4], std::uint8_t* p) {
  alignas(16) static constexpr std::uint8_t kOrder[16] = {0, 4, 8,  12, 1, 5, 9,  13,
                                                          2, 6, 10, 14, 3, 7, 11, 15};
  const hn::ScalableTag<std::uint8_t> d;
  hn::StoreU(hn::TableLookupBytes(packed_four<T>(v), hn::LoadDup128(d, kOrder)), d, p);
}
#else
#define STOWAGE_PACKS_FOUR 0
#endif

/// How many elements of a row lie before the first edge of a line, or of what `step` elements fill
/// if that is less: stores from there on are each in one line. 0 if the row is short.
template <class D>
HWY_INLINE std::int64_t until_edge(const D* dst, std::int64_t n, std::int64_t step) {
  constexpr std::int64_t kLeastSteps = 3, kBytes = sizeof(D);
  const std::int64_t whole = std::min(kLine, step * kBytes),
                     within =
                         static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(dst) % whole);
  if (within == 0 || within % kBytes != 0 || n < kLeastSteps * step) return 0;
  return (whole - within) / kBytes;
}

/// A row in vectors: step.load() and store() do one of them, and four at once are stored together.
/// In a long row the first four reach beyond the edge of a line, and those from there on overlap
/// them. The last vector overlaps the one before; a row shorter than one goes through zero-padded
/// copies.
template <class S, class D, class Step>
HWY_INLINE void for_row(const S* src, D* dst, std::int64_t n, const RowMap& map, const Step& step) {
  const FloatTag df;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(df));
  const auto apply = [&](auto mode) HWY_ATTR {
    constexpr RowMap::Mode kMode = decltype(mode)::value;
    constexpr bool kEach = kMode == RowMap::Mode::each;
    const auto mean = hn::Set(df, kMode == RowMap::Mode::scalar ? *map.mean : 0.0f);
    const auto norm = hn::Set(df, kMode == RowMap::Mode::scalar ? *map.norm : 1.0f);
    const auto mapped = [&](FloatVec v, const float* m, const float* k) HWY_ATTR {
      if constexpr (kMode == RowMap::Mode::none) return v;
      if constexpr (kMode == RowMap::Mode::scalar) return hn::Mul(hn::Sub(v, mean), norm);
      if constexpr (kEach) return hn::Mul(hn::Sub(v, hn::LoadU(df, m)), hn::LoadU(df, k));
    };
    const float* const m = map.mean;
    const float* const k = map.norm;
    const auto four = [&](std::int64_t at) HWY_ATTR {
      FloatVec v[4];
      HWY_UNROLL(4)
      for (int j = 0; j < 4; ++j) {
        const std::int64_t next = at + j * lanes;
        v[j] = mapped(step.load(src + next), kEach ? m + next : m, kEach ? k + next : k);
      }
      step.store_four(v, dst + at);
    };
    std::int64_t i = until_edge(dst, n, 4 * lanes);
    if (i > 0) four(0);
    for (; i + 4 * lanes <= n; i += 4 * lanes) four(i);
    const auto one = [&](std::int64_t at) HWY_ATTR {
      step.store(mapped(step.load(src + at), kEach ? m + at : m, kEach ? k + at : k), dst + at);
    };
    for (; i + lanes <= n; i += lanes) one(i);
    if (i == n) return;
    if (n >= lanes) return one(n - lanes);
    S s[HWY_MAX_BYTES / 4] = {};
    D d[HWY_MAX_BYTES / 4];
    float means[HWY_MAX_BYTES / 4] = {}, norms[HWY_MAX_BYTES / 4] = {};
    const auto rest = static_cast<std::size_t>(n) % static_cast<std::size_t>(lanes);
    std::memcpy(s, src, rest * sizeof(S));
    if (kEach) {
      std::memcpy(means, m, rest * sizeof(float));
      std::memcpy(norms, k, rest * sizeof(float));
    }
    step.store(mapped(step.load(s), means, norms), d);
    std::memcpy(dst, d, rest * sizeof(D));
  };
  using Mode = RowMap::Mode;
  if (map.mode == Mode::none) apply(std::integral_constant<Mode, Mode::none>());
  if (map.mode == Mode::scalar) apply(std::integral_constant<Mode, Mode::scalar>());
  if (map.mode == Mode::each) apply(std::integral_constant<Mode, Mode::each>());
}

/// A vector of a type as f32, and back to another.
template <Fast kFrom, Fast kTo>
struct Cast {
  using S = typename Stored<kFrom>::Type;
  using D = typename Stored<kTo>::Type;

  HWY_INLINE FloatVec load(const S* p) const { return load_as_float<kFrom>(FloatTag(), p); }

  HWY_INLINE void store(FloatVec v, D* p) const { store_from_float<kTo>(FloatTag(), v, p); }

#if HWY_TARGET != HWY_SCALAR
  /// As bf16: the upper halves of both.
  HWY_INLINE void store_two(FloatVec v, FloatVec next, std::uint16_t* p) const {
    const hn::ScalableTag<std::uint16_t> d;
    const auto halves = hn::BitCast(d, rounded_bf16(FloatTag(), v)),
               more = hn::BitCast(d, rounded_bf16(FloatTag(), next));
    hn::StoreU(hn::ConcatOdd(d, more, halves), d, p);
  }
#endif

  HWY_INLINE void store_four(const FloatVec (&v)[4], D* p) const {
#if STOWAGE_PACKS_FOUR
    if constexpr (sizeof(D) == 1) {
      const hn::ScalableTag<std::uint8_t> d;
      return hn::StoreU(ordered_four<D>(v), d, reinterpret_cast<std::uint8_t*>(p));
    }
#endif
#if HWY_TARGET != HWY_SCALAR
    if constexpr (kTo == Fast::bf16) {
      store_two(v[0], v[1], p);
      return store_two(v[2], v[3], p + hn::Lanes(hn::ScalableTag<D>()));
    }
#endif
    for (int j = 0; j < 4; ++j, p += hn::Lanes(FloatTag())) store(v[j], p);
  }
};

template <Fast kFrom, Fast kTo>
void cast_row(const Byte* src, Byte* dst, std::int64_t n, const RowMap& map) {
  using Types = Cast<kFrom, kTo>;
  for_row(reinterpret_cast<const typename Types::S*>(src),
          reinterpret_cast<typename Types::D*>(dst), n, map, Types());
}

}  // namespace HWY_NAMESPACE
}  // namespace stowage::conversion

HWY_AFTER_NAMESPACE();

#endif
