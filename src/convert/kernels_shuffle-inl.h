// SPDX-License-Identifier: Apache-2.0
// Chunks of the destination from windows of the source, see shuffle.h.
#if defined(STOWAGE_CONVERT_SHUFFLE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef STOWAGE_CONVERT_SHUFFLE_INL_H
#undef STOWAGE_CONVERT_SHUFFLE_INL_H
#else
#define STOWAGE_CONVERT_SHUFFLE_INL_H
#endif

#include <cstdint>

#include "convert/kernels_tile-inl.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::conversion {
namespace HWY_NAMESPACE {

/// f(source, destination) of each chunk.
template <class F>
HWY_INLINE void each_chunk(const ShuffleRun& run, F f) {
  const ShuffleRun at = run;  // bytes may alias the original
  for (std::int64_t r = 0; r < at.rows; ++r) {
    const Byte* src = at.src + r * at.row_is;
    Byte* dst = at.dst + r * at.row_os;
    for (std::int64_t i = 0; i < at.n; ++i, src += at.is, dst += at.os) f(src, dst);
  }
}

#if HWY_TARGET != HWY_SCALAR

/// Of step s and the piece b behind the first of some, for load_rows.
struct OrdersOfPieces {
  const ShuffleTable& table;
  int first;

  HWY_INLINE const Byte* at(int s, int b) const { return table.order_of(first + b, s); }
};

/// Likewise.
template <int kB, int kSteps>
struct WindowsOfPieces {
  const Byte* src;
  std::int64_t windows[kSteps][kB];

  HWY_INLINE const Byte* at(int s, int b) const { return src + windows[s][b]; }
};

/// The same 16 * kB bytes of each chunk, in kSteps steps.
template <int kB, int kSteps>
HWY_INLINE void shuffle_pieces(const ShuffleRun& run, int v) {
  const TileTag<1, kB> d;
  const ShuffleTable& table = *run.table;
  const std::int64_t rest = table.bytes - 16 * v;
  hn::Vec<TileTag<1, kB> > order[kSteps];
  WindowsOfPieces<kB, kSteps> from{run.src, {}};
  for (int s = 0; s < kSteps; ++s) {
    order[s] = load_rows<1, kB>(OrdersOfPieces{table, v}, s);
    for (int b = 0; b < kB; ++b) from.windows[s][b] = *table.windows_of(v + b, s);
  }
  const auto picked = [&](int s) HWY_ATTR {
    return hn::TableLookupBytesOr0(load_rows<1, kB>(from, s), order[s]);
  };
  each_chunk(run, [&](const Byte* src, Byte* dst) HWY_ATTR {
    from.src = src;
    auto out = picked(0);
    HWY_UNROLL(3)
    for (int s = 1; s < kSteps; ++s) out = hn::Or(out, picked(s));
    if (kB == 2 || rest >= 16) {
      hn::StoreU(out, d, dst + 16 * v);
    } else if constexpr (kB == 1) {
      store_some(out, dst + 16 * v, rest);
    }
  });
}

/// Some chunks at a time, whose lines the L1 holds, piece by piece.
template <int kSteps>
void shuffle_by_pieces(const ShuffleRun& run) {
  constexpr std::int64_t kChunks = 32;
  const int vectors = run.table->vectors;
  const bool whole = run.table->bytes % 16 == 0;
  const std::int64_t rows = std::max<std::int64_t>(kChunks / std::max<std::int64_t>(run.n, 1), 1);
  for (std::int64_t r = 0; r < run.rows; r += rows) {
    for (std::int64_t i = 0; i < run.n; i += kChunks) {
      ShuffleRun some = run;
      some.src += r * run.row_is + i * run.is;
      some.dst += r * run.row_os + i * run.os;
      some.n = std::min(kChunks, run.n - i);
      some.rows = std::min(rows, run.rows - r);
      int v = 0;
      if constexpr (kBlocks > 1) {
        for (; v + 1 < vectors && (v + 2 < vectors || whole); v += 2)
          shuffle_pieces<2, kSteps>(some, v);
      }
      for (; v < vectors; ++v) shuffle_pieces<1, kSteps>(some, v);
    }
  }
}

constexpr Shuffles shuffles_by_pieces() {
  return {.vector = 16,
          .sources = 1,
          .run = {{shuffle_by_pieces<1>},
                  {shuffle_by_pieces<2>},
                  {shuffle_by_pieces<3>},
                  {shuffle_by_pieces<4>}}};
}

#else

constexpr Shuffles shuffles_by_pieces() { return {}; }

#endif

#if HWY_TARGET <= HWY_AVX3

/// Lanes of E bytes of two windows in the order of a table.
template <int E>
HWY_INLINE __m512i pick(const Byte* p, const Byte* q, __m512i order) {
  const __m512i a = _mm512_loadu_si512(p), b = _mm512_loadu_si512(q);
  if constexpr (E == 1) {
#if HWY_TARGET <= HWY_AVX3_DL
    return _mm512_permutex2var_epi8(a, order, b);
#endif
  }
  return _mm512_permutex2var_epi32(a, order, b);
}

/// kVectors vectors a chunk, in kSteps steps each.
template <int E, int kVectors, int kSteps>
void shuffle_chunks(const ShuffleRun& run) {
  constexpr std::int64_t kVector = 64;
  const ShuffleTable& table = *run.table;
  const std::int64_t rest = table.bytes - (kVectors - 1) * kVector;
  const __mmask64 last = first_bytes(rest);
  const bool whole = rest == kVector, zeros = table.zeros;
  __m512i order[kVectors][kSteps], taken[kVectors][kSteps];
  std::int64_t window[kVectors][kSteps][2];  // bytes may alias the table
  for (int v = 0; v < kVectors; ++v) {
    for (int s = 0; s < kSteps; ++s) {
      window[v][s][0] = table.windows_of(v, s)[0];
      window[v][s][1] = table.windows_of(v, s)[1];
      order[v][s] = _mm512_load_si512(table.order_of(v, s));
      taken[v][s] = _mm512_load_si512(table.taken_of(v, s));
    }
  }
  each_chunk(run, [&](const Byte* src, Byte* dst) HWY_ATTR {
    for (int v = 0; v < kVectors; ++v) {
      __m512i out = pick<E>(src + window[v][0][0], src + window[v][0][1], order[v][0]);
      if (zeros) out = _mm512_and_si512(out, taken[v][0]);
      for (int s = 1; s < kSteps; ++s) {
        const __m512i more = pick<E>(src + window[v][s][0], src + window[v][s][1], order[v][s]);
        out = _mm512_ternarylogic_epi64(taken[v][s], more, out, 0xca);
      }
      if (v + 1 < kVectors || whole) {
        _mm512_storeu_si512(dst + v * kVector, out);
      } else {
        _mm512_mask_storeu_epi8(dst + v * kVector, last, out);
      }
    }
  });
}

/// Of lanes of E bytes.
template <int E>
constexpr Shuffles shuffles_by_lines() {
  Shuffles all{.vector = 64, .sources = 2};
  const auto set = [&]<int... kVectors>() {
    ((all.run[0][kVectors - 1] = shuffle_chunks<E, kVectors, 1>,
      all.run[1][kVectors - 1] = shuffle_chunks<E, kVectors, 2>,
      all.run[2][kVectors - 1] = shuffle_chunks<E, kVectors, 3>,
      all.run[3][kVectors - 1] = shuffle_chunks<E, kVectors, 4>),
     ...);
  };
  set.template operator()<1, 2, 3, 4>();
  return all;
}

#endif  // HWY_TARGET

constexpr Shuffles shuffles_of_bytes() {
#if HWY_TARGET <= HWY_AVX3_DL
  return shuffles_by_lines<1>();
#else
  return shuffles_by_pieces();
#endif
}

constexpr Shuffles shuffles_of_words() {
#if HWY_TARGET <= HWY_AVX3
  return shuffles_by_lines<4>();
#else
  return shuffles_by_pieces();
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace stowage::conversion

HWY_AFTER_NAMESPACE();

#endif  // include guard
