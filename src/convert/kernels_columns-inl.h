// SPDX-License-Identifier: Apache-2.0
// Stores into columns, and tiles that walk down a few columns at a time.
#if defined(STOWAGE_CONVERT_COLUMNS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef STOWAGE_CONVERT_COLUMNS_INL_H
#undef STOWAGE_CONVERT_COLUMNS_INL_H
#else
#define STOWAGE_CONVERT_COLUMNS_INL_H
#endif

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/checked.h"
#include "convert/kernels_tile-inl.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::conversion {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR

/// What a store does besides storing.
enum class Writing : std::uint8_t {
  plain,
  ahead,   ///< the line after it is asked for
  stream,  ///< non-temporal
};

/// Whether vectors of all columns from `first` on fill lines exactly, which is unknown of a table.
inline bool can_stream(const TransposeBlock& t, const Byte* first, std::int64_t vector) {
  return t.non_temporal && vector == 64 && t.col_stride != 0 && t.col_stride % 64 == 0 &&
         reinterpret_cast<std::uintptr_t>(first) % 64 == 0;
}

template <Writing kWriting, class V, class D>
HWY_INLINE void write(V v, D d, Byte* to) {
  auto* const at = reinterpret_cast<hn::TFromD<D>*>(to);
  if constexpr (kWriting == Writing::stream) {
    hn::Stream(v, d, at);
  } else {
    hn::StoreU(v, d, at);
  }
  if constexpr (kWriting == Writing::ahead) prefetch_for_write(to + sizeof(V));
}

template <class V, class D>
HWY_INLINE void write(V v, D d, Byte* to, bool ahead) {
  write<Writing::plain>(v, d, to);
  if (ahead) prefetch_for_write(to + sizeof(V));
}

/// One byte of each of n rows, a multiple of 8, by integer instructions: vectors are left to tiles.
/// Not inline, for it needs registers of its own.
HWY_NOINLINE inline void lone_column(const Byte* from, std::int64_t stride, Byte* to,
                                     std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += 8, from += 8 * stride) {
    std::uint64_t word = 0;
    HWY_UNROLL(8)
    for (int k = 0; k < 8; ++k) word |= std::uint64_t{from[k * stride]} << (8 * k);
    std::memcpy(to + i, &word, 8);
  }
}

/// One tile of columns of n bands, of which the last kColumns are stored.
template <int E, int kB, Writing kWriting, int kColumns, class Rows>
HWY_INLINE void tiles_down(const Byte* from, std::int64_t distance, Byte* first,
                           std::int64_t stride, std::int64_t n) {
  constexpr std::int64_t kL = 16 / E;
  const TileTag<E, kB> d;
  Rows rows(from, distance);
  for (std::int64_t k = 0; k < n; ++k, first += kB * 16) {
    Byte* to = first;
    tile<E, kB, kColumns>(rows, [&](int, auto v) HWY_ATTR {
      write<kWriting>(v, d, to);
      to += stride;
#if defined(__GNUC__)
      if constexpr (kL >= 8) asm("" : "+r"(to));  // step by step, as rows are
#endif
    });
    rows.skip(kL * kB * distance);
  }
}

/// Columns [a, na) of n bands, one tile of columns after the other; na is a tile at least.
template <int E, int kB, Writing kWriting, class Rows>
HWY_INLINE void columns_down(const Byte* from, std::int64_t distance, Byte* first,
                             std::int64_t stride, std::int64_t a, std::int64_t na, std::int64_t n) {
  constexpr std::int64_t kL = 16 / E;
  constexpr int kPart = std::max<int>(kL / 4, 1);
  const auto move = [&](std::int64_t at, auto columns) HWY_ATTR {
    Byte* const to = first + (at + kL - columns()) * stride;
    tiles_down<E, kB, kWriting, columns(), Rows>(from + at * E, distance, to, stride, n);
  };
  constexpr std::integral_constant<int, kL> all;
  for (; a + kL <= na; a += kL) move(a, all);
  const std::int64_t rest = na - a;
  if (rest == 0) return;
  if (E == 1 && rest == 1) {
    lone_column(from + na - 1, distance, first + (na - 1) * stride, n * kL * kB);
  } else if (E <= 2 && rest <= kPart) {
    move(na - kL, std::integral_constant<int, kPart>());
  } else {
    move(na - kL, all);
  }
}

/// A line of rows by a tile of columns.
template <int E, int kB>
HWY_INLINE void line_of_tiles(const Byte* from, std::int64_t distance, Byte* to,
                              std::int64_t stride) {
  tiles_down<E, kB, Writing::plain, 16 / E, EvenRows<16 / E> >(from, distance, to, stride,
                                                               kLine / (kB * 16));
}

/// All columns of as many rows as fill whole lines, a few columns at a time: each few of them a
/// line behind those before, so that lines at equal places of many columns, which fall into the
/// same sets of the cache, are not written at the same time. Returns how many rows that were.
template <int E, int kB>
HWY_NOINLINE std::int64_t staggered(const TransposeBlock& t) {
  constexpr std::int64_t kL = 16 / E, kRows = kLine / E;
  constexpr std::int64_t kMost = 4 * kLine / E;  // columns whose lines the L1 holds of so many rows
  const std::int64_t distance = t.row_stride, stride = t.col_stride, lines = t.nb / kRows;
  const std::int64_t back_from = 16 - kRows * distance, back_to = kL * stride - kLine;
  const std::int64_t columns = round_up(ceil_div(t.na, ceil_div(t.na, kMost)), kL);
  for (std::int64_t a = 0; lines > 0 && a < t.na; a += columns) {
    const std::int64_t few = std::min(columns, t.na - a) / kL;
    const Byte* const from = t.rows[0] + a * E;
    Byte* const to = t.cols[0] + a * stride;
    for (std::int64_t step = 0; step < lines + few - 1; ++step) {
      std::int64_t k = std::max<std::int64_t>(step - lines + 1, 0);
      const std::int64_t end = std::min(few, step + 1);
      const Byte* p = from + step * kRows * distance + k * back_from;
      Byte* q = to + step * kLine + k * back_to;
      for (; k < end; ++k, p += back_from, q += back_to)
        line_of_tiles<E, kB>(p, distance, q, stride);
    }
  }
  if (t.na % kL != 0) {
    const std::int64_t a = t.na - kL;
    tiles_down<E, kB, Writing::plain, kL, EvenRows<kL> >(
        t.rows[0] + a * E, distance, t.cols[0] + a * stride, stride, lines * kLine / (kB * 16));
  }
  return lines * kRows;
}

/// All whole bands of kB * 16 / E rows, `bands` of them at a time, but one tile of columns after
/// the other: for columns at such a distance that many of them crowd the same few sets of the
/// cache, and so few of them that lines stay there.
template <int E, int kB, Writing kWriting, class Rows = EvenRows<16 / E> >
std::int64_t columns_first(const TransposeBlock& t, std::int64_t bands) {
  constexpr std::int64_t kRows = 16 / E * kB;
  const std::int64_t whole = t.nb / kRows;
  for (std::int64_t done = 0; done < whole; done += bands) {
    columns_down<E, kB, kWriting, Rows>(t.rows[0] + done * kRows * t.row_stride, t.row_stride,
                                        t.cols[0] + done * kB * 16, t.col_stride, 0, t.na,
                                        std::min(bands, whole - done));
  }
  return whole * kRows;
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace stowage::conversion

HWY_AFTER_NAMESPACE();

#endif
