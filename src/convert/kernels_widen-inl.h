// SPDX-License-Identifier: Apache-2.0
// Bytes that become floats, on their way from rows to columns or where they are.
#if defined(STOWAGE_CONVERT_WIDEN_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef STOWAGE_CONVERT_WIDEN_INL_H
#undef STOWAGE_CONVERT_WIDEN_INL_H
#else
#define STOWAGE_CONVERT_WIDEN_INL_H
#endif

#include <algorithm>

#include "convert/kernels_cast-inl.h"
#include "convert/kernels_halves-inl.h"
#include "convert/kernels_panels-inl.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::conversion {
namespace HWY_NAMESPACE {

#if HWY_TARGET <= HWY_AVX3

/// Calls f(x, i) for the 16 bytes i of a register as floats.
template <Fast kFrom, class F>
HWY_INLINE void each_widened(__m512i v, const F& f) {
  using Part = hn::Vec<hn::Rebind<typename Stored<kFrom>::Type, FloatTag> >;
  const auto widened = [](__m128i part)
                           HWY_ATTR { return as_float<kFrom>(FloatTag(), Part{part}); };
  f(widened(_mm512_castsi512_si128(v)), 0);
  f(widened(_mm512_extracti32x4_epi32(v, 1)), 1);
  f(widened(_mm512_extracti32x4_epi32(v, 2)), 2);
  f(widened(_mm512_extracti32x4_epi32(v, 3)), 3);
}

/// Rows and columns of a tile: a line of floats, 16 bytes.
constexpr std::int64_t kWideTile = 16;

/// 16 bytes of each of 16 rows become as many lines of floats.
template <Fast kFrom, Writing kWriting>
HWY_INLINE void widen_tile(const Byte* from, std::int64_t distance, Byte* to, std::int64_t stride) {
  // Of four rows, four further on from one to the next.
  const auto load = [&](std::int64_t i) HWY_ATTR {
    const Byte* const row = from + i * distance;
    return load_quarters(row, row + 4 * distance, row + 8 * distance, row + 12 * distance);
  };
  const __m512i p = load(0), q = load(1), r = load(2), s = load(3);
  const __m512i low_pq = _mm512_unpacklo_epi8(p, q), high_pq = _mm512_unpackhi_epi8(p, q),
                low_rs = _mm512_unpacklo_epi8(r, s), high_rs = _mm512_unpackhi_epi8(r, s);
  // Words of four rows: those of a column are in four quarters.
  const auto store = [&](__m512i words, std::int64_t first) HWY_ATTR {
    each_widened<kFrom>(transposed_words(words), [&](FloatVec x, int i) HWY_ATTR {
      write<kWriting>(x, FloatTag(), to + (first + i) * stride);
    });
  };
  store(_mm512_unpacklo_epi16(low_pq, low_rs), 0);
  store(_mm512_unpackhi_epi16(low_pq, low_rs), 4);
  store(_mm512_unpacklo_epi16(high_pq, high_rs), 8);
  store(_mm512_unpackhi_epi16(high_pq, high_rs), 12);
}

template <Fast kFrom, Writing kWriting>
void widen_tiles(const TransposeBlock& t) {
  // Of a piece the L1 holds what is read and written.
  constexpr std::int64_t kPiece = 4 * kWideTile;
  const auto piece = [&](std::int64_t first_a, std::int64_t first_b) HWY_ATTR {
    const std::int64_t na = std::min(kPiece, t.na - first_a), nb = std::min(kPiece, t.nb - first_b);
    in_steps<kWideTile>(na, [&](std::int64_t a) HWY_ATTR {
      in_steps<kWideTile>(nb, [&](std::int64_t b) HWY_ATTR {
        widen_tile<kFrom, kWriting>(t.row(first_b + b) + first_a + a, t.row_stride,
                                    t.column(first_a + a) + (first_b + b) * 4, t.col_stride);
      });
    });
  };
  // The last piece is a tile at least.
  const auto each = [&](std::int64_t n, const auto& f) HWY_ATTR {
    for (std::int64_t i = 0; i < n; i += kPiece) f(std::min(i, n - kWideTile));
  };
  if (t.row_stride > t.col_stride) {
    each(t.nb, [&](std::int64_t b)
                   HWY_ATTR { each(t.na, [&](std::int64_t a) HWY_ATTR { piece(a, b); }); });
  } else {
    each(t.na, [&](std::int64_t a)
                   HWY_ATTR { each(t.nb, [&](std::int64_t b) HWY_ATTR { piece(a, b); }); });
  }
}

/// Element (a, b) is cast from row(b) + a to column(a) + 4 * b, both at equal distances.
template <Fast kFrom>
void widen_transposed(const TransposeBlock& t) {
  if (t.na < kWideTile || t.nb < kWideTile) return cast_elements<kFrom, Fast::f32>(t);
  choose_writing(t, kWideTile, kLine, [&](auto writing) { widen_tiles<kFrom, writing()>(t); });
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace stowage::conversion

HWY_AFTER_NAMESPACE();

#endif
