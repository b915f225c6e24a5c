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

/// kVectors vectors a chunk, of kPairs pairs of windows each.
template <int E, int kVectors, int kPairs>
void shuffle_chunks(const ShuffleRun& run) {
  constexpr std::int64_t kVector = ShuffleTable::kVector;
  const ShuffleTable& table = *run.table;
  const std::int64_t rest = table.bytes - (kVectors - 1) * kVector;
  const __mmask64 last = first_bytes(rest);
  const bool whole = rest == kVector, zeros = table.zeros;
  __m512i order[kVectors][kPairs], taken[kVectors][kPairs];
  std::int64_t window[kVectors][kPairs][2];  // bytes may alias the table
  for (int v = 0; v < kVectors; ++v) {
    for (int p = 0; p < kPairs; ++p) {
      window[v][p][0] = table.window[v][p][0];
      window[v][p][1] = table.window[v][p][1];
      order[v][p] = _mm512_load_si512(table.order[v][p]);
      taken[v][p] = _mm512_load_si512(table.taken[v][p]);
    }
  }
  const Byte* src = run.src;
  Byte* dst = run.dst;
  const std::int64_t n = run.n, is = run.is, os = run.os;
  for (std::int64_t i = 0; i < n; ++i, src += is, dst += os) {
    for (int v = 0; v < kVectors; ++v) {
      __m512i out = pick<E>(src + window[v][0][0], src + window[v][0][1], order[v][0]);
      if (zeros) out = _mm512_and_si512(out, taken[v][0]);
      for (int p = 1; p < kPairs; ++p) {
        const __m512i more = pick<E>(src + window[v][p][0], src + window[v][p][1], order[v][p]);
        out = _mm512_ternarylogic_epi64(taken[v][p], more, out, 0xca);
      }
      if (v + 1 < kVectors || whole) {
        _mm512_storeu_si512(dst + v * kVector, out);
      } else {
        _mm512_mask_storeu_epi8(dst + v * kVector, last, out);
      }
    }
  }
}

/// Of lanes of E bytes.
template <int E>
constexpr Shuffles shuffles() {
  Shuffles all{};
  const auto set = [&]<int... kVectors>() {
    ((all.run[kVectors - 1][0] = shuffle_chunks<E, kVectors, 1>,
      all.run[kVectors - 1][1] = shuffle_chunks<E, kVectors, 2>,
      all.run[kVectors - 1][2] = shuffle_chunks<E, kVectors, 3>,
      all.run[kVectors - 1][3] = shuffle_chunks<E, kVectors, 4>),
     ...);
  };
  set.template operator()<1, 2, 3, 4>();
  return all;
}

#endif  // HWY_TARGET

constexpr Shuffles shuffles_of_bytes() {
#if HWY_TARGET <= HWY_AVX3_DL
  return shuffles<1>();
#else
  return {};
#endif
}

constexpr Shuffles shuffles_of_words() {
#if HWY_TARGET <= HWY_AVX3
  return shuffles<4>();
#else
  return {};
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace stowage::conversion

HWY_AFTER_NAMESPACE();

#endif  // include guard
