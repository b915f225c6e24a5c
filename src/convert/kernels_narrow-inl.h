// SPDX-License-Identifier: Apache-2.0
// Floats that become bytes on their way from rows to columns: four rows are cast together and are
// one row of words then, which move as words do.
#if defined(STOWAGE_CONVERT_NARROW_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef STOWAGE_CONVERT_NARROW_INL_H
#undef STOWAGE_CONVERT_NARROW_INL_H
#else
#define STOWAGE_CONVERT_NARROW_INL_H
#endif

#include <algorithm>
#include <cstring>

#include "convert/kernels_cast-inl.h"
#include "convert/kernels_transpose-inl.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::conversion {
namespace HWY_NAMESPACE {

#if STOWAGE_PACKS_FOUR

/// Rows and columns of a piece, whose words the L1 holds beside what is read and written.
constexpr std::int64_t kPieceRows = 64, kPieceColumns = 64;

/// n floats of each of four rows, cast: the four bytes of a column are a word.
template <class T>
HWY_INLINE void words_of_four(const Byte* p, const Byte* q, const Byte* r, const Byte* s,
                              std::int64_t n, Byte* words) {
  const FloatTag df;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(df));
  const auto load = [&](const Byte* from)
                        HWY_ATTR { return hn::LoadU(df, reinterpret_cast<const float*>(from)); };
  const auto move = [&](std::int64_t i) HWY_ATTR {
    pack_words<T>({load(p + 4 * i), load(q + 4 * i), load(r + 4 * i), load(s + 4 * i)},
                  words + 4 * i);
  };
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) move(i);
  if (i == n) return;
  if (n >= lanes) return move(n - lanes);
  Byte some[4][HWY_MAX_BYTES] = {}, whole[HWY_MAX_BYTES];
  const auto bytes = static_cast<std::size_t>(n) * 4;
  copy_four(p, q, r, s, bytes, some);
  pack_words<T>({load(some[0]), load(some[1]), load(some[2]), load(some[3])}, whole);
  std::memcpy(words, whole, bytes);
}

/// The same of 4 * n rows: n rows of words, one after the other.
template <class T, class Place>
HWY_NOINLINE void words_of_rows(Place from, std::int64_t n, std::int64_t columns, Byte* words) {
  for (; n > 0; --n, words += 4 * columns) {
    const auto rows = from.rows();
    words_of_four<T>(rows.at(0, 0), rows.at(0, 1), rows.at(0, 2), rows.at(0, 3), columns, words);
    from.skip_rows(4);
  }
}

/// Element (a, b) is cast from row(b) + 4 * a to column(a) + b, both at equal distances.
template <Fast kType>
void narrow_transposed(const TransposeBlock& t) {
  using T = typename Stored<kType>::Type;
  alignas(64) Byte words[kPieceRows * kPieceColumns];
  const Byte* first = words;
  Byte* column = nullptr;
  // What differs is written field by field for each piece: words that are read back in vectors wait
  // until every store before them has left for the cache.
  TransposeBlock moved = t;
  moved.rows = &first;
  moved.cols = &column;
  moved.src_end = words + sizeof words;
  const auto cast = [&](std::int64_t a, std::int64_t b, std::int64_t n) HWY_ATTR {
    words_of_rows<T>(EvenPlace<1>{t.row(b) + 4 * a, t.row_stride}, n, moved.na, words);
  };
  const auto move = [&](std::int64_t a, std::int64_t b) HWY_ATTR {
    const std::int64_t na = std::min(kPieceColumns, t.na - a), nb = std::min(kPieceRows, t.nb - b),
                       whole = nb / 4, pitch = 4 * na;
    moved.na = na;
    moved.nb = whole;
    moved.row_stride = pitch;
    column = t.column(a) + b;
    cast(a, b, whole);
    if constexpr (kBlocks == 4) {  // as `bands` would, without its 20 ns of choosing
      if (nb == kPieceRows && na >= kLineColumns<4>) {
        const EvenPlace<4> from{words, pitch};
        return t.tuning->prefetch_for_write
                   ? along_columns<4, Writing::ahead, true>(from, column, na, t.col_stride)
                   : along_columns<4, Writing::plain, true>(from, column, na, t.col_stride);
      }
    }
    if (whole > 0) bands<4, kBlocks>(moved);
    if (nb % 4 == 0) return;
    if (nb >= 4) {  // once more what the last of them overlaps
      cast(a, b + nb - 4, 1);
      for (std::int64_t k = 0; k < na; ++k) std::memcpy(moved.column(k) + nb - 4, words + 4 * k, 4);
      return;
    }
    const Byte* rows[4];
    for (std::int64_t k = 0; k < 4; ++k) rows[k] = t.row(b + std::min(k, nb - 1)) + 4 * a;
    words_of_rows<T>(AnyPlace<1>{rows, 0}, 1, na, words);
    for (std::int64_t k = 0; k < na; ++k)
      std::memcpy(moved.column(k), words + 4 * k, static_cast<std::size_t>(nb));
  };
  if (t.row_stride > t.col_stride) {
    for (std::int64_t b = 0; b < t.nb; b += kPieceRows) {
      for (std::int64_t a = 0; a < t.na; a += kPieceColumns) move(a, b);
    }
  } else {
    for (std::int64_t a = 0; a < t.na; a += kPieceColumns) {
      for (std::int64_t b = 0; b < t.nb; b += kPieceRows) move(a, b);
    }
  }
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace stowage::conversion

HWY_AFTER_NAMESPACE();

#endif
