// SPDX-License-Identifier: Apache-2.0
// Casts from and to quads, four floats of one pixel next to each other, in one step.
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

#endif

#if HWY_TARGET <= HWY_AVX2

/// n elements of each of four rows into quads.
template <Fast kType>
void interleave_quads(const Byte* const* rows, std::int64_t n, float* to) {
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
  const Byte *p = rows[0], *q = rows[1], *r = rows[2], *s = rows[3];
  for (; n >= kStep; n -= kStep, p += 16, q += 16, r += 16, s += 16, to += 4 * kStep)
    move(p, q, r, s, to);
  if (n == 0) return;
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
