// SPDX-License-Identifier: Apache-2.0
// Casts of short runs, each where it belongs, or in tiles of them.
#if defined(STOWAGE_CONVERT_RUNS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef STOWAGE_CONVERT_RUNS_INL_H
#undef STOWAGE_CONVERT_RUNS_INL_H
#else
#define STOWAGE_CONVERT_RUNS_INL_H
#endif

#include <algorithm>
#include <type_traits>

#include "convert/kernels_cast-inl.h"
#include "convert/kernels_halves-inl.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::conversion {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR

/// kN elements.
template <Fast kFrom, Fast kTo, int kN>
HWY_INLINE void cast_few(const Byte* src, Byte* dst) {
  constexpr int kLanes = std::min<int>(kN, HWY_MAX_BYTES / 4);
  const hn::FixedTag<float, kLanes> df;
  const auto* const from = reinterpret_cast<const typename Stored<kFrom>::Type*>(src);
  auto* const to = reinterpret_cast<typename Stored<kTo>::Type*>(dst);
  HWY_UNROLL(4)
  for (int i = 0; i < kN; i += kLanes)
    store_from_float<kTo>(df, load_as_float<kFrom>(df, from + i), to + i);
}

/// Of a copy: the compiler reads it once, whatever is written. `kAsked`: lines of runs further on
/// are prefetched for write.
template <bool kAsked, class F>
HWY_INLINE void each_run_as(const CastRuns runs, std::int64_t bytes, const F& f) {
  for (std::int64_t r = 0; r < runs.rows; ++r) {
    const Byte* src = runs.src + r * runs.is;
    Byte* dst = runs.dst + r * runs.os;
    for (std::int64_t k = 0; k < runs.across; ++k, src += runs.across_is, dst += runs.across_os) {
      for (std::int64_t i = 0; kAsked && i < bytes; i += 64)
        prefetch_for_write(dst + kAheadOfDense + i);
      f(src, dst);
    }
  }
}

/// Each run has so many bytes in the destination.
template <class F>
HWY_INLINE void each_run(const CastRuns& runs, std::int64_t bytes, const F& f) {
  const bool dense =
      runs.across > 1 ? is_dense(bytes, runs.across_os, runs.across, runs.os) : runs.os == bytes;
  if (runs.prefetch_for_write && dense && bytes >= 64) return each_run_as<true>(runs, bytes, f);
  each_run_as<false>(runs, bytes, f);
}

/// Of at most twice kN elements: the first kN and, where there are more, the last kN.
template <Fast kFrom, Fast kTo, int kN>
HWY_INLINE void runs_of_two(const CastRuns& runs) {
  constexpr auto kFew = [](const Byte* src, Byte* dst)
                            HWY_ATTR { cast_few<kFrom, kTo, kN>(src, dst); };
  constexpr std::int64_t kTo1 = sizeof(typename Stored<kTo>::Type);
  if (runs.n == kN) return each_run(runs, kN * kTo1, kFew);
  const std::int64_t from = (runs.n - kN) *
                            static_cast<std::int64_t>(sizeof(typename Stored<kFrom>::Type)),
                     to = (runs.n - kN) * kTo1;
  each_run(runs, runs.n * kTo1, [&](const Byte* src, Byte* dst) HWY_ATTR {
    kFew(src, dst);
    kFew(src + from, dst + to);
  });
}

template <Fast kFrom, Fast kTo>
void cast_runs(const CastRuns& runs) {
  if (runs.n < 8) return runs_of_two<kFrom, kTo, 4>(runs);
  if (runs.n < 16) return runs_of_two<kFrom, kTo, 8>(runs);
  if (runs.n <= 32) return runs_of_two<kFrom, kTo, 16>(runs);
  constexpr std::int64_t kFrom16 = 16 * sizeof(typename Stored<kFrom>::Type),
                         kTo16 = 16 * sizeof(typename Stored<kTo>::Type);
  const std::int64_t steps = (runs.n - 1) / 16, from = (runs.n - 16) * (kFrom16 / 16),
                     to = (runs.n - 16) * (kTo16 / 16);
  each_run(runs, runs.n * (kTo16 / 16), [&](const Byte* src, Byte* dst) HWY_ATTR {
    for (std::int64_t i = 0; i < steps; ++i)
      cast_few<kFrom, kTo, 16>(src + i * kFrom16, dst + i * kTo16);
    cast_few<kFrom, kTo, 16>(src + from, dst + to);
  });
}

#if HWY_TARGET <= HWY_AVX3

/// `written` by `read` runs of kN elements: those that are written one after the other, each `is`
/// bytes from the one before in the source, and those that are read so, `os` bytes apart in the
/// result.
struct RunPlaces {
  const Byte* src;
  Byte* dst;
  std::int64_t written, read, is, os;
};

/// Tile by tile, the shorter side inside, unless lines that are as far apart crowd the L1; runs
/// have so many bytes.
template <std::int64_t kSource, std::int64_t kResult, std::int64_t kWritten, std::int64_t kRead,
          auto kTile>
HWY_INLINE void walk_runs(const RunPlaces& t) {
  const auto at = [&](std::int64_t w, std::int64_t r) HWY_ATTR {
    kTile(t.src + w * t.is + r * kSource, t.is, t.dst + w * kResult + r * t.os, t.os);
  };
  const bool writes_crowd = crowded(t.os, t.read), reads_crowd = crowded(t.is, t.written);
  if (writes_crowd != reads_crowd ? writes_crowd : t.written <= t.read) {
    in_steps<kRead>(t.read, [&](std::int64_t r) HWY_ATTR {
      in_steps<kWritten>(t.written, [&](std::int64_t w) HWY_ATTR { at(w, r); });
    });
  } else {
    in_steps<kWritten>(t.written, [&](std::int64_t w) HWY_ATTR {
      in_steps<kRead>(t.read, [&](std::int64_t r) HWY_ATTR { at(w, r); });
    });
  }
}

/// Between f32 and 16-bit floats.
template <Fast kFrom, Fast kTo, int kN, Writing kWriting>
struct RunsOfHalves {
  using V = hn::Vec<HalvesTag<4> >;
  static constexpr std::int64_t kSource = kN * sizeof(typename Stored<kFrom>::Type),
                                kResult = kN * sizeof(typename Stored<kTo>::Type);
  /// Runs of a register of 16-bit elements, and of half of one.
  static constexpr std::int64_t kWhole = 32 / kN, kHalf = 16 / kN;

  /// kWhole are written one after the other, kHalf are read so.
  static HWY_INLINE void wide(const Byte* from, std::int64_t is, Byte* to, std::int64_t os) {
    const auto load = [&](int pair) HWY_ATTR {
      return load_cast<kFrom, kTo>(from + 2 * pair * is, from + (2 * pair + 1) * is);
    };
    const auto store = [&](__m512i v, int i)
                           HWY_ATTR { store_cast<kFrom, kWriting, 4>(V{v}, to + i * os); };
    const __m512i p = load(0), q = load(1);
    if constexpr (kN == 4) {
      const __m512i low = _mm512_setr_epi64(0, 4, 8, 12, 1, 5, 9, 13),
                    high = _mm512_setr_epi64(2, 6, 10, 14, 3, 7, 11, 15);
      const __m512i r = load(2), s = load(3);
      const __m512i a = _mm512_permutex2var_epi64(p, low, q),
                    b = _mm512_permutex2var_epi64(p, high, q),
                    c = _mm512_permutex2var_epi64(r, low, s),
                    d = _mm512_permutex2var_epi64(r, high, s);
      store(_mm512_shuffle_i64x2(a, c, 0x44), 0);
      store(_mm512_shuffle_i64x2(a, c, 0xee), 1);
      store(_mm512_shuffle_i64x2(b, d, 0x44), 2);
      store(_mm512_shuffle_i64x2(b, d, 0xee), 3);
    } else {
      store(_mm512_shuffle_i64x2(p, q, 0x88), 0);
      store(_mm512_shuffle_i64x2(p, q, 0xdd), 1);
    }
  }

  /// kHalf are written one after the other, kWhole are read so.
  static HWY_INLINE void tall(const Byte* from, std::int64_t is, Byte* to, std::int64_t os) {
    const auto load = [&](int i) HWY_ATTR {
      const Byte* const row = from + i * is;
      return load_cast<kFrom, kTo>(row, row + kHalf * kSource);
    };
    const auto store = [&](__m512i v, int first, int second) HWY_ATTR {
      const HalvesTag<2> half;
      store_cast<kFrom, kWriting, 2>(hn::LowerHalf(half, V{v}), to + first * os);
      store_cast<kFrom, kWriting, 2>(hn::UpperHalf(half, V{v}), to + second * os);
    };
    const __m512i p = load(0), q = load(1);
    __m512i w, x;
    if constexpr (kN == 4) {
      __m512i y, z;
      const __m512i r = load(2), s = load(3);
      interleave_quarters(_mm512_unpacklo_epi64(p, q), _mm512_unpacklo_epi64(r, s), w, y);
      interleave_quarters(_mm512_unpackhi_epi64(p, q), _mm512_unpackhi_epi64(r, s), x, z);
      store(w, 0, 2);
      store(x, 1, 3);
      store(y, 4, 6);
      store(z, 5, 7);
    } else {
      interleave_quarters(p, q, w, x);
      store(w, 0, 1);
      store(x, 2, 3);
    }
  }

  /// Whole lines are written, unless many runs would be written twice.
  static HWY_INLINE bool move(const RunPlaces& places) {
    const bool whole = places.written % kWhole == 0 || places.written >= 4 * kWhole;
    if (places.written >= kWhole && places.read >= kHalf && (whole || places.read < kWhole)) {
      walk_runs<kSource, kResult, kWhole, kHalf, wide>(places);
    } else if (places.written >= kHalf && places.read >= kWhole) {
      walk_runs<kSource, kResult, kHalf, kWhole, tall>(places);
    } else {
      return false;
    }
    return true;
  }
};

/// From f32 and f16 to bytes, and from bytes to f32: 16 elements that are read one after the
/// other are cast together.
template <Fast kFrom, Fast kTo, int kN, Writing kWriting>
struct RunsOfBytes {
  static constexpr bool kNarrows = sizeof(typename Stored<kTo>::Type) == 1;
  static constexpr std::int64_t kSource = kN * sizeof(typename Stored<kFrom>::Type),
                                kResult = kN * sizeof(typename Stored<kTo>::Type);
  static constexpr std::int64_t kRead = 16 / kN, kWritten = kNarrows ? 4 : 16 / kN;

  /// Of each of four lines the run r becomes a quarter of 4 * kN bytes.
  static HWY_INLINE void narrow(const Byte* from, std::int64_t is, Byte* to, std::int64_t os) {
    const auto load = [&](int w) HWY_ATTR { return load_floats<kFrom>(from + w * is); };
    const __m512i v =
        packed_four<typename Stored<kTo>::Type>({load(0), load(1), load(2), load(3)}).raw;
    if constexpr (kN == 4) {
      const hn::FixedTag<std::uint8_t, 16> d;
      const auto store = [&](__m128i x, int r)
                             HWY_ATTR { write<kWriting>(hn::Vec<decltype(d)>{x}, d, to + r * os); };
      store(_mm512_castsi512_si128(v), 0);
      store(_mm512_extracti32x4_epi32(v, 1), 1);
      store(_mm512_extracti32x4_epi32(v, 2), 2);
      store(_mm512_extracti32x4_epi32(v, 3), 3);
    } else {
      const __m512i order = _mm512_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15);
      const hn::FixedTag<std::uint8_t, 32> d;
      const __m512i pairs = _mm512_permutexvar_epi32(order, v);
      write<kWriting>(hn::Vec<decltype(d)>{_mm512_castsi512_si256(pairs)}, d, to);
      write<kWriting>(hn::Vec<decltype(d)>{_mm512_extracti64x4_epi64(pairs, 1)}, d, to + os);
    }
  }

  /// Of each of kRead times 16 bytes the run r becomes a part of a line.
  static HWY_INLINE void widen(const Byte* from, std::int64_t is, Byte* to, std::int64_t os) {
    using Bytes = hn::Vec<hn::Rebind<typename Stored<kFrom>::Type, FloatTag> >;
    const TileTag<kN, 1> d;
    hn::Vec<TileTag<kN, 1> > x[kRead];
    HWY_UNROLL(4)
    for (int w = 0; w < kRead; ++w)
      x[w].raw = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + w * is));
    shuffle_rows<kRead>(d, x);
    HWY_UNROLL(4)
    for (int r = 0; r < kRead; ++r)
      write<kWriting>(as_float<kFrom>(FloatTag(), Bytes{x[r].raw}), FloatTag(), to + r * os);
  }

  static HWY_INLINE bool move(const RunPlaces& places) {
    if (places.written < kWritten || places.read < kRead) return false;
    if constexpr (kNarrows) {
      walk_runs<kSource, kResult, kWritten, kRead, narrow>(places);
    } else {
      walk_runs<kSource, kResult, kWritten, kRead, widen>(places);
    }
    return true;
  }
};

/// As CastMoves::transpose_runs says.
template <Fast kFrom, Fast kTo>
void transpose_runs(const CastRuns& runs) {
  constexpr std::int64_t kSource = sizeof(typename Stored<kFrom>::Type),
                         kResult = sizeof(typename Stored<kTo>::Type);
  constexpr bool kBytes = std::min(kSource, kResult) == 1;
  const RunPlaces places =
      runs.os == runs.n * kResult
          ? RunPlaces{runs.src, runs.dst, runs.rows, runs.across, runs.is, runs.across_os}
          : RunPlaces{runs.src, runs.dst, runs.across, runs.rows, runs.across_is, runs.os};
  const auto move = [&](auto writing) {
    if constexpr (kBytes) {
      return runs.n == 4 ? RunsOfBytes<kFrom, kTo, 4, writing()>::move(places)
                         : RunsOfBytes<kFrom, kTo, 8, writing()>::move(places);
    } else {
      return runs.n == 4 ? RunsOfHalves<kFrom, kTo, 4, writing()>::move(places)
                         : RunsOfHalves<kFrom, kTo, 8, writing()>::move(places);
    }
  };
  const bool moved = runs.prefetch_for_write
                         ? move(std::integral_constant<Writing, Writing::ahead>())
                         : move(std::integral_constant<Writing, Writing::plain>());
  if (!moved) cast_runs<kFrom, kTo>(runs);
}

#endif

#endif

}  // namespace HWY_NAMESPACE
}  // namespace stowage::conversion

HWY_AFTER_NAMESPACE();

#endif
