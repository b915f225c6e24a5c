// SPDX-License-Identifier: Apache-2.0
// Quads, four elements of one pixel next to each other, from and to rows and pixels, cast on the
// way or not.
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
#include "convert/kernels_transpose-inl.h"

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

/// Elements of E bytes of a register: as the four rows of 16 bytes that store_quarters makes, in
/// the order of quads; `back`: quads in the order of rows.
template <int E>
class QuadOrder {
 public:
  explicit QuadOrder(bool back) : back_(back) {
    alignas(64) std::uint16_t words[32];
    for (int i = 0; i < 32; ++i) words[i] = static_cast<std::uint16_t>(E == 2 ? place(i, back) : 0);
    alignas(64) std::int32_t doubles[16];
    for (int i = 0; i < 16; ++i) doubles[i] = i % 4 * 4 + i / 4;
    order_ = E == 2 ? _mm512_load_si512(words) : _mm512_load_si512(doubles);
  }

  HWY_INLINE __m512i operator()(__m512i v) const {
    if constexpr (E == 2) return _mm512_permutexvar_epi16(order_, v);
    if constexpr (E == 4) return _mm512_permutexvar_epi32(order_, v);
    const __m512i bytes =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    if (back_) return _mm512_permutexvar_epi32(order_, _mm512_shuffle_epi8(v, bytes));
    return _mm512_shuffle_epi8(_mm512_permutexvar_epi32(order_, v), bytes);
  }

 private:
  static constexpr int place(int i, bool back) {
    return back ? i % 8 * 4 + i / 8 : i % 4 * 8 + i / 4;
  }

  bool back_;
  __m512i order_;
};

/// The first bits, one for each of n lanes.
constexpr std::uint64_t first_lanes(std::int64_t n) {
  return n <= 0 ? 0 : n >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
}

/// Elements of E bytes on their way between rows and quads, which stay what they are.
template <int E>
struct Uncast {
  static constexpr int kElement = E, kSource = E, kResult = E;

  /// As many elements as a register holds.
  static HWY_INLINE __m512i load(const Byte* p) { return _mm512_loadu_si512(p); }

  template <Writing kWriting>
  static HWY_INLINE void store(__m512i v, Byte* to) {
    write<kWriting>(hn::Vec<hn::FixedTag<std::uint8_t, 64> >{v}, hn::FixedTag<std::uint8_t, 64>(),
                    to);
  }

  /// The first n of them, and zeros behind.
  static HWY_INLINE __m512i load_first(const Byte* p, std::int64_t n) {
    return _mm512_maskz_loadu_epi8(first_lanes(n * E), p);
  }

  static HWY_INLINE void store_first(__m512i v, Byte* to, std::int64_t n) {
    _mm512_mask_storeu_epi8(to, first_lanes(n * E), v);
  }
};

/// The same between f32 and a 16-bit float: of 16 bits in registers.
template <Fast kFrom, Fast kTo>
struct CastHalves {
  static constexpr int kElement = 2, kSource = sizeof(typename Stored<kFrom>::Type),
                       kResult = sizeof(typename Stored<kTo>::Type);

  static HWY_INLINE __m512i load(const Byte* p) {
    return load_cast<kFrom, kTo>(p, p + 2 * kHalves * kSource);
  }

  template <Writing kWriting>
  static HWY_INLINE void store(__m512i v, Byte* to) {
    store_cast<kFrom, kWriting, 4>(hn::Vec<HalvesTag<4> >{v}, to);
  }

  static HWY_INLINE __m512i load_first(const Byte* p, std::int64_t n) {
    if constexpr (kFrom != Fast::f32) {
      return Uncast<2>::load_first(p, n);
    } else {
      const FloatTag df;
      const auto cast = [&](std::int64_t i) HWY_ATTR {
        const auto lanes = static_cast<__mmask16>(first_lanes(n - i));
        return narrow<kTo>(df, FloatVec{_mm512_maskz_loadu_ps(lanes, p + 4 * i)});
      };
      return hn::Combine(HalvesTag<4>(), cast(16), cast(0)).raw;
    }
  }

  static HWY_INLINE void store_first(__m512i v, Byte* to, std::int64_t n) {
    if constexpr (kFrom == Fast::f32) {
      Uncast<2>::store_first(v, to, n);
    } else {
      const FloatTag df;
      const HalvesTag<2> half;
      const auto store = [&](auto part, std::int64_t i) HWY_ATTR {
        _mm512_mask_storeu_ps(to + 4 * i, static_cast<__mmask16>(first_lanes(n - i)),
                              widen<kFrom>(df, part).raw);
      };
      const hn::Vec<HalvesTag<4> > all{v};
      store(hn::LowerHalf(half, all), 0);
      if (n > 16) store(hn::UpperHalf(half, all), 16);
    }
  }
};

/// Asks for `bytes` of a run of quads that will be written soon after the byte `at`; what lies
/// behind its end are the quads of the next time, `next` bytes further on.
HWY_INLINE void prefetch_quads(const Byte* run, std::int64_t at, std::int64_t bytes,
                               std::int64_t end, std::int64_t next) {
  for (std::int64_t i = at + kAhead; i < at + kAhead + bytes; i += kLine)
    prefetch_for_write(run + (i < end ? i : i + next));
}

template <class Of>
void join_quads(const JoinRun& run) {
  constexpr std::int64_t kStep = 64 / Of::kElement, kQuads = kStep / 4, kQuad = 4 * Of::kResult;
  const QuadOrder<Of::kElement> order(false);
  const std::int64_t n = run.n, bytes = n * kQuad, next = run.count > 1 ? run.quad_step - bytes : 0;
  const bool ahead = run.prefetch_for_write;
  const Byte *p = run.rows[0], *q = run.rows[1], *r = run.rows[2], *s = run.rows[3];
  Byte* to = run.quads;
  for (std::int64_t k = 0; k < run.count; ++k) {
    if (n < kStep) {
      store_quarters(Of::load_first(p, n), Of::load_first(q, n), Of::load_first(r, n),
                     Of::load_first(s, n), [&](__m512i v, std::int64_t g) HWY_ATTR {
                       const std::int64_t at = g * kQuads;
                       if (at < n) Of::store_first(order(v), to + at * kQuad, 4 * (n - at));
                     });
    } else {
      in_steps<kStep>(n, [&](std::int64_t i) HWY_ATTR {
        const std::int64_t at = i * Of::kSource, quads = i * kQuad;
        if (ahead) prefetch_quads(to, quads, kStep * kQuad, bytes, next);
        store_quarters(Of::load(p + at), Of::load(q + at), Of::load(r + at), Of::load(s + at),
                       [&](__m512i v, std::int64_t g) HWY_ATTR {
                         Of::template store<Writing::plain>(order(v),
                                                            to + quads + g * kQuads * kQuad);
                       });
      });
    }
    p += run.row_step;
    q += run.row_step;
    r += run.row_step;
    s += run.row_step;
    to += run.quad_step;
  }
}

template <class Of, Writing kWriting>
void part_quads_as(const PartRun& run) {
  constexpr std::int64_t kStep = 64 / Of::kElement, kQuads = kStep / 4, kQuad = 4 * Of::kSource;
  const QuadOrder<Of::kElement> order(true);
  const std::int64_t n = run.n;
  const Byte* from = run.quads;
  Byte* const rows[] = {run.rows[0], run.rows[1], run.rows[2], run.rows[3]};
  std::int64_t offset = 0;
  for (std::int64_t k = 0; k < run.count; ++k) {
    if (n < kStep) {
      const auto quads = [&](std::int64_t g) HWY_ATTR {
        const std::int64_t at = g * kQuads;
        return order(Of::load_first(from + at * kQuad, 4 * (n - at)));
      };
      store_quarters(quads(0), quads(1), quads(2), quads(3),
                     [&](__m512i v, std::int64_t row)
                         HWY_ATTR { Of::store_first(v, rows[row] + offset, n); });
    } else {
      in_steps<kStep>(n, [&](std::int64_t i) HWY_ATTR {
        const auto quads = [&](std::int64_t g) HWY_ATTR {
          return order(Of::load(from + (i + g * kQuads) * kQuad));
        };
        store_quarters(quads(0), quads(1), quads(2), quads(3),
                       [&](__m512i v, std::int64_t row) HWY_ATTR {
                         Of::template store<kWriting>(v, rows[row] + offset + i * Of::kResult);
                       });
      });
    }
    from += run.quad_step;
    offset += run.row_step;
  }
}

template <class Of>
void part_quads(const PartRun& run) {
  run.prefetch_for_write ? part_quads_as<Of, Writing::ahead>(run)
                         : part_quads_as<Of, Writing::plain>(run);
}

#endif

#if HWY_TARGET <= HWY_AVX2

/// Rows that become quads of f32, 16 bytes of each at a time.
template <Fast kType>
void widen_quads(const JoinRun& run) {
  using T = typename Stored<kType>::Type;
  using Unsigned = hwy::MakeUnsigned<T>;
  constexpr std::int64_t kStep = 16 / sizeof(T), kElement = sizeof(T);
  const hn::FixedTag<Unsigned, kStep> d;
  const hn::RepartitionToWide<decltype(d)> pairs;
  const hn::FixedTag<float, 8> floats;
  const hn::FixedTag<T, kStep> as_stored;
  const auto put = [&](auto quads, float* at) HWY_ATTR {
    const auto v = hn::BitCast(as_stored, quads);
    if constexpr (kElement == 2) {
      hn::StoreU(as_float<kType>(floats, v), floats, at);
    } else {
      const hn::Half<decltype(as_stored)> half;
      hn::StoreU(as_float<kType>(floats, hn::LowerHalf(half, v)), floats, at);
      hn::StoreU(as_float<kType>(floats, hn::UpperHalf(half, v)), floats, at + 8);
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
  const std::int64_t n = run.n;
  const Byte *p = run.rows[0], *q = run.rows[1], *r = run.rows[2], *s = run.rows[3];
  auto* to = reinterpret_cast<float*>(run.quads);
  for (std::int64_t k = 0; k < run.count; ++k) {
    if (n >= kStep) {
      in_steps<kStep>(n, [&](std::int64_t i) HWY_ATTR {
        const std::int64_t at = i * kElement;
        move(p + at, q + at, r + at, s + at, to + 4 * i);
      });
    } else {
      Byte copies[4][16] = {};
      float last[4 * kStep];
      copy_four(p, q, r, s, static_cast<std::size_t>(n * kElement), copies);
      move(copies[0], copies[1], copies[2], copies[3], last);
      std::memcpy(to, last, static_cast<std::size_t>(n) * 16);
    }
    p += run.row_step;
    q += run.row_step;
    r += run.row_step;
    s += run.row_step;
    to += run.quad_step / 4;
  }
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace stowage::conversion

HWY_AFTER_NAMESPACE();

#endif
