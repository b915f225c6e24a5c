// SPDX-License-Identifier: Apache-2.0
// Pixels, which have an element of each of a few rows next to each other, from and to rows and
// other pixels, cast on the way or not.
#if defined(STOWAGE_CONVERT_PIXELS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef STOWAGE_CONVERT_PIXELS_INL_H
#undef STOWAGE_CONVERT_PIXELS_INL_H
#else
#define STOWAGE_CONVERT_PIXELS_INL_H
#endif

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "convert/kernels_cast-inl.h"
#include "convert/kernels_halves-inl.h"
#include "convert/kernels_join-inl.h"
#include "convert/kernels_tile-inl.h"
#include "convert/kernels_transpose-inl.h"
#include "convert/kernels_widen-inl.h"

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

/// Registers with elements of E bytes of kN rows become as many registers of pixels, which have one
/// element of each row; `kBack`: and the other way round.
template <int E, int kN, bool kBack>
class PixelOrder;

template <int E, bool kBack>
class PixelOrder<E, 4, kBack> {
 public:
  PixelOrder() : order_(_mm512_loadu_si512(kPlaces.data())) {}

  /// store(v, i) takes the register i.
  template <class Store>
  HWY_INLINE void operator()(const __m512i (&x)[4], const Store& store) const {
    if constexpr (kBack) {
      store_quarters(ordered(x[0]), ordered(x[1]), ordered(x[2]), ordered(x[3]), store);
    } else {
      store_quarters(x[0], x[1], x[2], x[3],
                     [&](__m512i v, std::int64_t i) HWY_ATTR { store(ordered(v), i); });
    }
  }

 private:
  using Lane = std::conditional_t<E == 2, std::uint16_t,
                                  std::conditional_t<E == 8, std::uint64_t, std::uint32_t> >;
  static constexpr int kLanes = 64 / sizeof(Lane);

  /// Of the lanes of four rows of 16 bytes, in the order of pixels; back: of pixels in that of
  /// rows.
  static constexpr auto kPlaces = [] {
    std::array<Lane, kLanes> out{};
    for (int i = 0; i < kLanes; ++i) {
      constexpr int kPixels = kLanes / 4;
      out[static_cast<std::size_t>(i)] =
          static_cast<Lane>(kBack ? i % kPixels * 4 + i / kPixels : i % 4 * kPixels + i / 4);
    }
    return out;
  }();

  HWY_INLINE __m512i ordered(__m512i v) const {
    if constexpr (E == 16) return v;
    if constexpr (E == 8) return _mm512_permutexvar_epi64(order_, v);
    if constexpr (E == 4) return _mm512_permutexvar_epi32(order_, v);
    if constexpr (E == 2) return _mm512_permutexvar_epi16(order_, v);
    const __m512i bytes =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    if constexpr (kBack) return _mm512_permutexvar_epi32(order_, _mm512_shuffle_epi8(v, bytes));
    return _mm512_shuffle_epi8(_mm512_permutexvar_epi32(order_, v), bytes);
  }

  __m512i order_;
};

template <int E, bool kBack>
class PixelOrder<E, 2, kBack> {
 public:
  template <class Store>
  HWY_INLINE void operator()(const __m512i (&x)[2], const Store& store) const {
    store(kShuffle(x, 0), 0);
    store(kShuffle(x, 1), 1);
  }

 private:
  static constexpr int kWords = E / 4, kElements = 64 / E;  ///< of an element, of a register

  static constexpr Shuffle<4, 2> kShuffle{[](int word) {
    const int i = word / kWords,
              from = kBack ? i % kElements * 2 + i / kElements : i % 2 * kElements + i / 2;
    return from * kWords + word % kWords;
  }};
};

/// The first bits, one for each of n lanes.
constexpr std::uint64_t first_lanes(std::int64_t n) {
  return n <= 0 ? 0 : n >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
}

/// Likewise of the floats of a register.
constexpr __mmask16 first_floats(std::int64_t n) { return static_cast<__mmask16>(first_lanes(n)); }

/// The first n of 16 floats, and zeros behind.
template <Fast kType>
HWY_INLINE FloatVec load_first_floats(const Byte* p, std::int64_t n) {
  if constexpr (kType == Fast::f32) {
    return FloatVec{_mm512_maskz_loadu_ps(first_floats(n), p)};
  } else {
    static_assert(kType == Fast::f16);
    return as_float<kType>(FloatTag(),
                           HalfVec<FloatTag>{_mm256_maskz_loadu_epi16(first_floats(n), p)});
  }
}

/// Elements of E bytes on their way between rows and pixels, which stay what they are.
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
        return narrow<kTo>(df, load_first_floats<kFrom>(p + 4 * i, n - i));
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
        _mm512_mask_storeu_ps(to + 4 * i, first_floats(n - i), widen<kFrom>(df, part).raw);
      };
      const hn::Vec<HalvesTag<4> > all{v};
      store(hn::LowerHalf(half, all), 0);
      if (n > 16) store(hn::UpperHalf(half, all), 16);
    }
  }
};

/// The same from f32 and f16 to bytes, and from bytes to f32: of 8 bits in registers.
template <Fast kFrom, Fast kTo>
struct CastBytes {
  static constexpr int kElement = 1, kSource = sizeof(typename Stored<kFrom>::Type),
                       kResult = sizeof(typename Stored<kTo>::Type);
  static constexpr bool kNarrows = kResult == 1;
  static constexpr std::int64_t kFloats = 16;  // of a register

  static HWY_INLINE __m512i load(const Byte* p) {
    if constexpr (kNarrows) {
      return narrowed([&](int i)
                          HWY_ATTR { return load_floats<kFrom>(p + i * kFloats * kSource); });
    } else {
      return Uncast<1>::load(p);
    }
  }

  template <Writing kWriting>
  static HWY_INLINE void store(__m512i v, Byte* to) {
    if constexpr (kNarrows) {
      Uncast<1>::store<kWriting>(v, to);
    } else {
      each_widened<kFrom>(v, [&](FloatVec x, int i) HWY_ATTR {
        write<kWriting>(x, FloatTag(), to + i * kFloats * kResult);
      });
    }
  }

  static HWY_INLINE __m512i load_first(const Byte* p, std::int64_t n) {
    if constexpr (kNarrows) {
      return narrowed([&](int i) HWY_ATTR {
        return load_first_floats<kFrom>(p + i * kFloats * kSource, n - i * kFloats);
      });
    } else {
      return Uncast<1>::load_first(p, n);
    }
  }

  static HWY_INLINE void store_first(__m512i v, Byte* to, std::int64_t n) {
    if constexpr (kNarrows) {
      Uncast<1>::store_first(v, to, n);
    } else {
      each_widened<kFrom>(v, [&](FloatVec x, int i) HWY_ATTR {
        if (n > i * kFloats)
          _mm512_mask_storeu_ps(to + i * kFloats * kResult, first_floats(n - i * kFloats), x.raw);
      });
    }
  }

 private:
  template <class Load>
  static HWY_INLINE __m512i narrowed(const Load& floats) {
    const FloatVec v[] = {floats(0), floats(1), floats(2), floats(3)};
    return ordered_four<typename Stored<kTo>::Type>(v).raw;
  }
};

/// kCount elements next to each other that move as one.
template <class Of, int kCount>
struct Units {
  static constexpr int kElement = kCount * Of::kElement, kSource = kCount * Of::kSource,
                       kResult = kCount * Of::kResult;

  static HWY_INLINE __m512i load(const Byte* p) { return Of::load(p); }

  template <Writing kWriting>
  static HWY_INLINE void store(__m512i v, Byte* to) {
    Of::template store<kWriting>(v, to);
  }

  static HWY_INLINE __m512i load_first(const Byte* p, std::int64_t n) {
    return Of::load_first(p, kCount * n);
  }

  static HWY_INLINE void store_first(__m512i v, Byte* to, std::int64_t n) {
    Of::store_first(v, to, kCount * n);
  }
};

/// Asks for `bytes` of pixels that will be written soon after the byte `at` of a run; what lies
/// behind its end are the pixels of the next time, `next` bytes further on.
HWY_INLINE void prefetch_pixels(const Byte* run, std::int64_t at, std::int64_t bytes,
                                std::int64_t end, std::int64_t next) {
  for (std::int64_t i = at + kAhead; i < at + kAhead + bytes; i += kLine)
    prefetch_for_write(run + (i < end ? i : i + next));
}

template <class Of, int kN>
void join_pixels(const JoinRun& run) {
  constexpr std::int64_t kStep = 64 / Of::kElement, kPixels = kStep / kN, kPixel = kN * Of::kResult;
  constexpr std::int64_t kTimesAhead = 6;
  const PixelOrder<Of::kElement, kN, false> order;
  const std::int64_t n = run.n, bytes = n * kPixel, times = run.count,
                     next = times > 1 ? run.pixel_step - bytes : 0;
  const bool ahead = run.prefetch_for_write;
  const Byte* rows[kN];
  std::copy_n(run.rows, kN, rows);
  Byte* to = run.pixels;
  std::int64_t offset = 0;
  for (std::int64_t k = 0; k < times; ++k) {
    __m512i x[kN];
    if (n < kStep) {
      if (ahead) {
        prefetch_for_write(to + kTimesAhead * run.pixel_step);
        prefetch_for_write(to + kTimesAhead * run.pixel_step + bytes - 1);
      }
      HWY_UNROLL(4)
      for (int i = 0; i < kN; ++i) x[i] = Of::load_first(rows[i] + offset, n);
      order(x, [&](__m512i v, std::int64_t i) HWY_ATTR {
        const std::int64_t at = i * kPixels;
        if (at < n) Of::store_first(v, to + at * kPixel, kN * (n - at));
      });
    } else {
      in_steps<kStep>(n, run.order, [&](std::int64_t at) HWY_ATTR {
        if (ahead) prefetch_pixels(to, at * kPixel, kStep * kPixel, bytes, next);
        HWY_UNROLL(4)
        for (int i = 0; i < kN; ++i) x[i] = Of::load(rows[i] + offset + at * Of::kSource);
        order(x, [&](__m512i v, std::int64_t i) HWY_ATTR {
          Of::template store<Writing::plain>(v, to + (at + i * kPixels) * kPixel);
        });
      });
    }
    offset += run.row_step;
    to += run.pixel_step;
  }
}

template <class Of, int kN, Writing kWriting>
void part_pixels_as(const PartRun& run) {
  constexpr std::int64_t kStep = 64 / Of::kElement, kPixels = kStep / kN, kPixel = kN * Of::kSource;
  const PixelOrder<Of::kElement, kN, true> order;
  const std::int64_t n = run.n, times = run.count;
  const Byte* from = run.pixels;
  Byte* rows[kN];
  std::copy_n(run.rows, kN, rows);
  std::int64_t offset = 0;
  for (std::int64_t k = 0; k < times; ++k) {
    __m512i x[kN];
    if (n < kStep) {
      HWY_UNROLL(4)
      for (int i = 0; i < kN; ++i) {
        const std::int64_t at = i * kPixels;
        x[i] = Of::load_first(from + at * kPixel, kN * (n - at));
      }
      order(x, [&](__m512i v, std::int64_t row)
                   HWY_ATTR { Of::store_first(v, rows[row] + offset, n); });
    } else {
      in_steps<kStep>(n, run.order, [&](std::int64_t at) HWY_ATTR {
        HWY_UNROLL(4)
        for (int i = 0; i < kN; ++i) x[i] = Of::load(from + (at + i * kPixels) * kPixel);
        order(x, [&](__m512i v, std::int64_t row) HWY_ATTR {
          Of::template store<kWriting>(v, rows[row] + offset + at * Of::kResult);
        });
      });
    }
    from += run.pixel_step;
    offset += run.row_step;
  }
}

template <class Of, int kN>
void part_pixels(const PartRun& run) {
  run.prefetch_for_write ? part_pixels_as<Of, kN, Writing::ahead>(run)
                         : part_pixels_as<Of, kN, Writing::plain>(run);
}

template <class Of, int kN>
inline constexpr JoinKernels kJoin = {join_pixels<Of, kN>, part_pixels<Of, kN>};

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
  const Byte* const rows[] = {run.rows[0], run.rows[1], run.rows[2], run.rows[3]};
  auto* to = reinterpret_cast<float*>(run.pixels);
  std::int64_t offset = 0;
  for (std::int64_t k = 0; k < run.count; ++k) {
    if (n >= kStep) {
      in_steps<kStep>(n, [&](std::int64_t i) HWY_ATTR {
        const std::int64_t at = offset + i * kElement;
        move(rows[0] + at, rows[1] + at, rows[2] + at, rows[3] + at, to + 4 * i);
      });
    } else {
      Byte copies[4][16] = {};
      float last[4 * kStep];
      copy_four(rows[0] + offset, rows[1] + offset, rows[2] + offset, rows[3] + offset,
                static_cast<std::size_t>(n * kElement), copies);
      move(copies[0], copies[1], copies[2], copies[3], last);
      std::memcpy(to, last, static_cast<std::size_t>(n) * 16);
    }
    offset += run.row_step;
    to += run.pixel_step / 4;
  }
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace stowage::conversion

HWY_AFTER_NAMESPACE();

#endif
