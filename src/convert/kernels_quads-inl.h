// SPDX-License-Identifier: Apache-2.0
// Casts from and to quads, four elements of one pixel next to each other, in one step.
#if defined(STOWAGE_CONVERT_QUADS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef STOWAGE_CONVERT_QUADS_INL_H
#undef STOWAGE_CONVERT_QUADS_INL_H
#else
#define STOWAGE_CONVERT_QUADS_INL_H
#endif

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "convert/kernels_cast-inl.h"
#include "convert/kernels_halves-inl.h"
#include "convert/kernels_tile-inl.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::conversion {
namespace HWY_NAMESPACE {

#if HWY_TARGET <= HWY_AVX3

/// Pixels of interleaved bytes into quads.
inline void spread_pixels(const PixelRun& run) {
  constexpr std::int64_t kStep = 4;
  const auto channels = static_cast<std::size_t>(run.channels);
  const std::size_t piece = kStep * channels;
  const auto places = order_of_pieces<Byte, 16>(run.channels, run.channels, 4);
  const __m128i order = _mm_loadu_si128(reinterpret_cast<const __m128i*>(places.data()));
  float means[4] = {}, norms[4] = {};
  std::copy_n(run.mean, channels, means);
  std::copy_n(run.norm, channels, norms);
  const __m512 mean = _mm512_broadcast_f32x4(_mm_loadu_ps(means)),
               norm = _mm512_broadcast_f32x4(_mm_loadu_ps(norms));
  const auto quads = [&](const Byte* from) HWY_ATTR {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    const __m512 x = _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_shuffle_epi8(bytes, order)));
    return _mm512_mul_ps(_mm512_sub_ps(x, mean), norm);
  };
  const std::int64_t room = run.src_end - run.src - 16,
                     safe = room < 0 ? 0 : std::min(run.n, room / run.channels + kStep);
  const Byte* from = run.src;
  float* to = run.to[0];
  std::int64_t i = 0;
  for (; i + kStep <= safe; i += kStep, from += piece, to += 16) _mm512_storeu_ps(to, quads(from));
  for (; i < run.n; i += kStep, from += piece, to += 16) {
    const auto rest = static_cast<std::size_t>(std::min(kStep, run.n - i));
    Byte copy[16] = {};
    float last[16];
    std::memcpy(copy, from, rest * channels);
    _mm512_storeu_ps(last, quads(copy));
    std::memcpy(to, last, rest * 16);
  }
}

/// The first channels of n quads as pixels of interleaved bytes.
template <Fast kType>
void press_quads(const float* from, Byte* to, std::int64_t n, int channels) {
  using T = typename Stored<kType>::Type;
  constexpr std::int64_t kStep = 16;
  const FloatTag d;
  // Words of four pixels each are next to each other in a quarter, then in all.
  const auto bytes = order_of_pieces<Byte, 16>(channels, 4, channels);
  const auto words = order_of_pieces<std::int32_t, 16>(channels, 4, channels);
  const __m512i order = _mm512_broadcast_i32x4(
                    _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes.data()))),
                dense = _mm512_loadu_si512(words.data());
  const auto pixels = [&](const float* p) HWY_ATTR {
    const FloatVec v[4] = {hn::LoadU(d, p), hn::LoadU(d, p + 16), hn::LoadU(d, p + 32),
                           hn::LoadU(d, p + 48)};
    return _mm512_permutexvar_epi32(dense, _mm512_shuffle_epi8(ordered_four<T>(v).raw, order));
  };
  // Behind the pixels of one step lie those of the next.
  for (; n * channels >= static_cast<std::int64_t>(HWY_MAX_BYTES); n -= kStep) {
    _mm512_storeu_si512(to, pixels(from));
    from += 4 * kStep;
    to += kStep * channels;
  }
  for (; n > 0; n -= kStep) {
    const std::int64_t step = std::min(kStep, n);
    float copy[4 * kStep] = {};
    Byte last[HWY_MAX_BYTES];
    std::memcpy(copy, from, static_cast<std::size_t>(step) * 16);
    _mm512_storeu_si512(last, pixels(copy));
    std::memcpy(to, last, static_cast<std::size_t>(step * channels));
    from += 4 * kStep;
    to += kStep * channels;
  }
}

/// Pixels of a step between rows and quads of 16-bit elements, and of one register of quads.
inline constexpr std::int64_t kQuadStep = 32, kQuads = kQuadStep / 4;

/// The order that makes kQuads quads of as many elements of each row, or, `back`, these of those.
HWY_INLINE __m512i order_of_quads(bool back) {
  alignas(64) std::uint16_t order[kQuadStep];
  for (std::int64_t pixel = 0; pixel < kQuads; ++pixel) {
    for (std::int64_t row = 0; row < 4; ++row) {
      const std::int64_t quad = 4 * pixel + row, element = kQuads * row + pixel;
      order[back ? element : quad] = static_cast<std::uint16_t>(back ? quad : element);
    }
  }
  return _mm512_load_si512(order);
}

/// The first bits, one for each of n lanes.
constexpr std::uint64_t first_lanes(std::int64_t n) {
  return n <= 0 ? 0 : n >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
}

/// As load_cast of n elements that follow each other; zeros behind them.
template <Fast kFrom, Fast kTo>
HWY_INLINE __m512i load_first(const Byte* p, std::int64_t n) {
  if constexpr (kFrom != Fast::f32) {
    return _mm512_maskz_loadu_epi16(static_cast<__mmask32>(first_lanes(n)), p);
  } else {
    const FloatTag df;
    const auto cast = [&](std::int64_t i) HWY_ATTR {
      const auto lanes = static_cast<__mmask16>(first_lanes(n - i));
      return narrow<kTo>(df, FloatVec{_mm512_maskz_loadu_ps(lanes, p + 4 * i)});
    };
    return hn::Combine(HalvesTag<4>(), cast(16), cast(0)).raw;
  }
}

/// As store_cast of the first n elements.
template <Fast kFrom>
HWY_INLINE void store_first(__m512i v, Byte* to, std::int64_t n) {
  if constexpr (kFrom == Fast::f32) {
    _mm512_mask_storeu_epi16(to, static_cast<__mmask32>(first_lanes(n)), v);
  } else {
    const FloatTag df;
    const HalvesTag<2> half;
    const auto store = [&](auto part, std::int64_t i) HWY_ATTR {
      _mm512_mask_storeu_ps(to + 4 * i, static_cast<__mmask16>(first_lanes(n - i)),
                            widen<kFrom>(df, part).raw);
    };
    const hn::Vec<HalvesTag<4> > all{v};
    store(hn::LowerHalf(half, all), 0);
    store(hn::UpperHalf(half, all), 16);
  }
}

/// n elements of each of four rows, cast, into quads.
template <Fast kFrom, Fast kTo>
void join_quads(const Byte* const* rows, std::int64_t n, Byte* to) {
  constexpr std::int64_t kSource = sizeof(typename Stored<kFrom>::Type),
                         kQuad = 4 * sizeof(typename Stored<kTo>::Type);
  const Byte *const p = rows[0], *const q = rows[1], *const r = rows[2], *const s = rows[3];
  const __m512i order = order_of_quads(false);
  const auto move = [&](const auto& load, const auto& store) HWY_ATTR {
    store_quarters(load(p), load(q), load(r), load(s), [&](__m512i v, std::int64_t g) HWY_ATTR {
      store(_mm512_permutexvar_epi16(order, v), g * kQuads);
    });
  };
  const auto whole = [&](std::int64_t i) HWY_ATTR {
    move(
        [&](const Byte* row) HWY_ATTR {
          return load_cast<kFrom, kTo>(row + i * kSource, row + (i + kQuadStep / 2) * kSource);
        },
        [&](__m512i v, std::int64_t at) HWY_ATTR {
          store_cast<kFrom, Writing::plain, 4>(hn::Vec<HalvesTag<4> >{v}, to + (i + at) * kQuad);
        });
  };
  if (n >= kQuadStep) return in_steps<kQuadStep>(n, whole);
  move([&](const Byte* row) HWY_ATTR { return load_first<kFrom, kTo>(row, n); },
       [&](__m512i v, std::int64_t at)
           HWY_ATTR { store_first<kFrom>(v, to + at * kQuad, 4 * (n - at)); });
}

/// And back, to four rows.
template <Fast kFrom, Fast kTo, Writing kWriting>
void part_quads(const Byte* from, std::int64_t n, Byte* const* rows) {
  constexpr std::int64_t kQuad = 4 * sizeof(typename Stored<kFrom>::Type),
                         kResult = sizeof(typename Stored<kTo>::Type);
  const __m512i order = order_of_quads(true);
  const auto move = [&](const auto& load, const auto& store) HWY_ATTR {
    const auto quads = [&](std::int64_t g)
                           HWY_ATTR { return _mm512_permutexvar_epi16(order, load(g * kQuads)); };
    store_quarters(quads(0), quads(1), quads(2), quads(3), store);
  };
  const auto whole = [&](std::int64_t i) HWY_ATTR {
    move(
        [&](std::int64_t at) HWY_ATTR {
          const Byte* const p = from + (i + at) * kQuad;
          return load_cast<kFrom, kTo>(p, p + kQuads / 2 * kQuad);
        },
        [&](__m512i v, std::int64_t row) HWY_ATTR {
          store_cast<kFrom, kWriting, 4>(hn::Vec<HalvesTag<4> >{v}, rows[row] + i * kResult);
        });
  };
  if (n >= kQuadStep) return in_steps<kQuadStep>(n, whole);
  move([&](std::int64_t at)
           HWY_ATTR { return load_first<kFrom, kTo>(from + at * kQuad, 4 * (n - at)); },
       [&](__m512i v, std::int64_t row) HWY_ATTR { store_first<kFrom>(v, rows[row], n); });
}

template <Fast kFrom, Fast kTo>
void part_quads(const Byte* from, std::int64_t n, Byte* const* rows, bool ahead) {
  ahead ? part_quads<kFrom, kTo, Writing::ahead>(from, n, rows)
        : part_quads<kFrom, kTo, Writing::plain>(from, n, rows);
}

#endif

#if HWY_TARGET <= HWY_AVX2

/// n elements of each of four rows into quads.
template <Fast kType>
void interleave_quads(const Byte* const* rows, std::int64_t n, Byte* result) {
  auto* to = reinterpret_cast<float*>(result);
  using T = typename Stored<kType>::Type;
  using Unsigned = hwy::MakeUnsigned<T>;
  constexpr std::int64_t kStep = 16 / sizeof(T);
  const hn::FixedTag<Unsigned, kStep> d;
  const hn::RepartitionToWide<decltype(d)> pairs;
  const hn::FixedTag<float, 8> floats;
  const hn::FixedTag<T, 16 / sizeof(T)> as_stored;
  const auto put = [&](auto quads, float* at) HWY_ATTR {
    const auto v = hn::BitCast(as_stored, quads);
    if constexpr (kType == Fast::f16) {
      const hn::FixedTag<hwy::float16_t, 8> halves;
      hn::StoreU(hn::PromoteTo(floats, hn::BitCast(halves, v)), floats, at);
    } else if constexpr (kType == Fast::bf16) {
      const hn::FixedTag<std::uint32_t, 8> bits;
      hn::StoreU(hn::BitCast(floats, hn::ShiftLeft<16>(hn::PromoteTo(bits, v))), floats, at);
    } else {
      const hn::FixedTag<std::int32_t, 8> integers;
      if constexpr (sizeof(T) == 2) {
        hn::StoreU(hn::ConvertTo(floats, hn::PromoteTo(integers, v)), floats, at);
      } else {
        const hn::Half<decltype(as_stored)> half;
        hn::StoreU(hn::ConvertTo(floats, hn::PromoteTo(integers, hn::LowerHalf(half, v))), floats,
                   at);
        hn::StoreU(hn::ConvertTo(floats, hn::PromoteTo(integers, hn::UpperHalf(half, v))), floats,
                   at + 8);
      }
    }
  };
  const auto move = [&](const Byte* p, const Byte* q, const Byte* r, const Byte* s, float* at)
                        HWY_ATTR {
                          const auto load = [&](const Byte* from) HWY_ATTR {
                            return hn::LoadU(d, reinterpret_cast<const Unsigned*>(from));
                          };
                          const auto a = load(p), b = load(q), c = load(r), e = load(s);
                          const auto low0 = hn::BitCast(pairs, hn::InterleaveLower(d, a, b)),
                                     low1 = hn::BitCast(pairs, hn::InterleaveLower(d, c, e)),
                                     high0 = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b)),
                                     high1 = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
                          put(hn::InterleaveLower(pairs, low0, low1), at);
                          put(hn::InterleaveUpper(pairs, low0, low1), at + kStep);
                          put(hn::InterleaveLower(pairs, high0, high1), at + 2 * kStep);
                          put(hn::InterleaveUpper(pairs, high0, high1), at + 3 * kStep);
                        };
  const Byte *const p = rows[0], *const q = rows[1], *const r = rows[2], *const s = rows[3];
  if (n >= kStep)
    return in_steps<kStep>(n, [&](std::int64_t i) HWY_ATTR {
      const std::int64_t at = i * static_cast<std::int64_t>(sizeof(T));
      move(p + at, q + at, r + at, s + at, to + 4 * i);
    });
  Byte copies[4][16] = {};
  float last[4 * kStep];
  copy_four(p, q, r, s, static_cast<std::size_t>(n) * sizeof(T), copies);
  move(copies[0], copies[1], copies[2], copies[3], last);
  std::memcpy(to, last, static_cast<std::size_t>(n) * 16);
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace stowage::conversion

HWY_AFTER_NAMESPACE();

#endif
