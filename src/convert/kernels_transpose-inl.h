// SPDX-License-Identifier: Apache-2.0
// Transposition in tiles.
#if defined(STOWAGE_CONVERT_TRANSPOSE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef STOWAGE_CONVERT_TRANSPOSE_INL_H
#undef STOWAGE_CONVERT_TRANSPOSE_INL_H
#else
#define STOWAGE_CONVERT_TRANSPOSE_INL_H
#endif

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "base/checked.h"
#include "convert/kernels_panels-inl.h"
#include "hwy/cache_control.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::conversion {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR

/// Whether the lines of the next band are others than those of the next columns.
inline bool far_columns(std::int64_t distance) {
  return distance >= 3 * kLine || (distance >= 2 * kLine && distance % kLine == 0);
}

/// How far ahead of what is written lines of a run are prefetched.
inline constexpr std::int64_t kAhead = 5 * kLine;

/// The lines of a run that will be written soon after the one at hand.
HWY_INLINE void prefetch_ahead(const Byte* p, std::int64_t bytes) {
  for (std::int64_t i = 0; i < bytes; i += kLine) prefetch_for_write(p + kAhead + i);
}

/// kB * 16 / E rows from b, all columns; at least a tile of them. Stores wait for their lines in
/// order, so that each line that is late holds up all: it pays to prefetch the lines of the next
/// band.
template <int E, int kB, Writing kWriting, class Rows>
HWY_INLINE void band_tiles(const TransposeBlock& t, std::int64_t b, Rows rows, Rows last) {
  constexpr std::int64_t kL = 16 / E;
  const TileTag<E, kB> d;
  const std::int64_t na = t.na, stride = t.col_stride;
  if (stride != 0) {
    Byte* to = t.cols[0] + b * E;
    const bool first_band =
        t.tuning->prefetch_for_write && kWriting == Writing::plain && b == 0 && stride == t.nb * E;
    const auto run = [&](Rows& from) HWY_ATTR {
      if (first_band) prefetch_ahead(to, kL * stride);
      tile<E, kB>(from, [&](int, auto v) HWY_ATTR {
        write<kWriting>(v, d, to);
        to += stride;
      });
    };
    for (std::int64_t a = kL; a <= na; a += kL) {
      run(rows);
      rows.next_columns();
    }
    const std::int64_t rest = na % kL;
    if (rest == 0) return;
    const auto finish = [&](auto columns) HWY_ATTR {
      to = t.cols[0] + b * E + (na - columns()) * stride;
      tile<E, kB, columns()>(last, [&](int, auto v) HWY_ATTR {
        write<kWriting>(v, d, to);
        to += stride;
      });
    };
    if (kL >= 4 && rest <= kL / 4)
      return finish(std::integral_constant<int, std::max<int>(kL / 4, 1)>());
    if (rest <= kL / 2) return finish(std::integral_constant<int, std::max<int>(kL / 2, 1)>());
    finish(std::integral_constant<int, kL>());
  } else {
    const std::int64_t offset = t.col_offset + b * E;
    const bool ahead = t.tuning->prefetch_for_write;
    const auto run = [&](Rows& from, Byte* const* columns) HWY_ATTR {
      tile<E, kB>(from, [&](int j, auto v) HWY_ATTR {
        Byte* const to = columns[j] + offset;
        write(v, d, to, ahead);
      });
    };
    for (std::int64_t a = kL; a <= na; a += kL) {
      run(rows, t.cols + a - kL);
      rows.next_columns();
    }
    if (na % kL != 0) run(last, t.cols + na - kL);
  }
}

/// As band_tiles, for columns fewer than a tile: a row is read past its end.
template <int E, int kB, class Rows>
HWY_INLINE void band_narrow(const TransposeBlock& t, std::int64_t b, Rows rows) {
  const TileTag<E, kB> d;
  const bool ahead = t.tuning->prefetch_for_write;
  tile<E, kB>(rows, [&](int j, auto v) HWY_ATTR {
    if (j < t.na) write(v, d, t.column(j) + b * E, ahead);
  });
}

/// 16 / E rows from b by twice as many columns at once, in both halves of vectors of 32 bytes.
template <int E>
void band_wide(const TransposeBlock& t, std::int64_t b) {
  constexpr int kL = 16 / E;
  using T = typename Element<E>::Type;
  const TileTag<E, 2> d;
  const hn::Half<TileTag<E, 2> > half;
  const Byte* rows[kL];
  for (int k = 0; k < kL; ++k) rows[k] = t.row(b + k);
  const bool ahead = t.tuning->prefetch_for_write && b == 0 && t.col_stride == t.nb * E;
  for (std::int64_t next = 0; next < t.na; next += 2 * kL) {
    const std::int64_t a = std::min(next, t.na - 2 * kL);
    if (ahead) prefetch_ahead(t.cols[0] + a * t.col_stride, 2 * kL * t.col_stride);
    hn::Vec<TileTag<E, 2> > x[kL];
    HWY_UNROLL(16)
    for (int k = 0; k < kL; ++k) x[k] = hn::LoadU(d, reinterpret_cast<const T*>(rows[k] + a * E));
    if constexpr (kL > 1) shuffle_rows<kL>(d, x);
    if (t.col_stride != 0) {
      Byte* to = t.cols[0] + a * t.col_stride + b * E;
      const std::int64_t stride = t.col_stride;
      HWY_UNROLL(16)
      for (int j = 0; j < kL; ++j, to += stride)
        hn::StoreU(hn::LowerHalf(half, x[j]), half, reinterpret_cast<T*>(to));
      HWY_UNROLL(16)
      for (int j = 0; j < kL; ++j, to += stride)
        hn::StoreU(hn::UpperHalf(half, x[j]), half, reinterpret_cast<T*>(to));
    } else {
      for (int j = 0; j < kL; ++j) {
        hn::StoreU(hn::LowerHalf(half, x[j]), half, reinterpret_cast<T*>(t.column(a + j) + b * E));
        hn::StoreU(hn::UpperHalf(half, x[j]), half,
                   reinterpret_cast<T*>(t.column(a + kL + j) + b * E));
      }
    }
  }
}

/// As many rows from b as a vector has lanes, all columns, of which there are whole squares.
template <int E>
void band_squares(const TransposeBlock& t, std::int64_t b) {
  constexpr std::int64_t kN = kVector<E>;
  for (std::int64_t a = 0; a < t.na; a += kN) {
    square<E, Writing::ahead>(EvenRows<16 / E>(t.row(b) + a * E, t.row_stride), t.column(a) + b * E,
                              t.col_stride);
  }
}

template <int E, int kB>
void band(const TransposeBlock& t, std::int64_t b) {
  constexpr int kL = 16 / E;
  constexpr int kRows = kL * kB;
  if constexpr (kB == 1 && kBlocks > 1) {
    if (t.na >= 2 * kL) return band_wide<E>(t, b);
  }
  if constexpr (kB == 4 && (E == 4 || E == 8)) {  // where there are 32 registers
    // Beyond L2 the wait is for memory, and fewer columns at once are better.
    if (t.size <= Size::small && t.row_stride != 0 && far_columns(t.col_stride) &&
        t.na % kRows == 0)
      return band_squares<E>(t, b);
  }
  if (t.na >= kL) {
    const std::int64_t last = (t.na - kL) * E;
    const bool ahead = t.tuning->prefetch_for_write && far_columns(t.col_stride);
    if (t.row_stride != 0) {
      using Rows = EvenRows<kL>;
      const Rows first(t.row(b), t.row_stride), end(t.row(b) + last, t.row_stride);
      if (t.na % kL == 0 && can_stream(t, t.cols[0] + b * E, kB * 16))
        return band_tiles<E, kB, Writing::stream>(t, b, first, end);
      if (ahead) return band_tiles<E, kB, Writing::ahead>(t, b, first, end);
      return band_tiles<E, kB, Writing::plain>(t, b, first, end);
    }
    using Rows = AnyRows<kL>;
    const Rows first{t.rows + b, t.row_offset}, end{t.rows + b, t.row_offset + last};
    if (ahead) return band_tiles<E, kB, Writing::ahead>(t, b, first, end);
    return band_tiles<E, kB, Writing::plain>(t, b, first, end);
  }
  if (t.row_stride > 0 && t.src_end - t.row(b + kRows - 1) >= 16) {
    return band_narrow<E, kB>(t, b, EvenRows<kL>(t.row(b), t.row_stride));
  }
  // Not past the end of the source.
  const Byte* safe[kRows];
  alignas(16) Byte copies[kRows][16];
  for (int k = 0; k < kRows; ++k) {
    safe[k] = t.row(b + k);
    if (reinterpret_cast<std::uintptr_t>(safe[k]) + 16 >
        reinterpret_cast<std::uintptr_t>(t.src_end)) {
      std::memcpy(copies[k], safe[k], static_cast<std::size_t>(t.na) * E);
      safe[k] = copies[k];
    }
  }
  band_narrow<E, kB>(t, b, AnyRows<kL>{safe, 0});
}

/// As many columns at a time as a vector has lanes, by so many rows: for rows far apart and columns
/// near each other, each of which is finished while its lines are near. `kWhole`: lines of the
/// source are loaded whole.
template <int E, Writing kWriting, bool kWhole, class Place>
HWY_NOINLINE void walk_squares(const Place& first, const TransposeBlock& t,
                               std::int64_t rows_at_a_time) {
  constexpr std::int64_t kN = kVector<E>;
  const std::int64_t stride = t.col_stride;
  Byte* const columns = t.cols[0];
  for (std::int64_t next_b = 0; next_b < t.nb; next_b += rows_at_a_time) {
    const std::int64_t end = std::min(next_b + rows_at_a_time, t.nb);
    for (std::int64_t next_a = 0; next_a < t.na; next_a += kN) {
      const std::int64_t a = std::min(next_a, t.na - kN);
      for (std::int64_t next = next_b; next < end; next += kN) {
        const std::int64_t b = std::min(next, t.nb - kN);
        Place from = first;
        from.skip_columns(a * E);
        from.skip_rows(b);
        square_at<E, kWriting, kWhole>(from.rows(), columns + a * stride + b * E, stride);
      }
    }
  }
}

template <int E, Writing kWriting>
void squares(const TransposeBlock& t, const Squares& how) {
  const std::int64_t rows = how.rows_at_a_time();
  if (t.row_stride == 0)
    return walk_squares<E, kWriting, false>(AnyPlace<16 / E>{t.rows, t.row_offset}, t, rows);
  const EvenPlace<16 / E> first{t.rows[0], t.row_stride};
  if constexpr (kBlocks == 4) {
    if (how.whole_lines) return walk_squares<E, kWriting, true>(first, t, rows);
  }
  walk_squares<E, kWriting, false>(first, t, rows);
}

/// Fewer rows than a tile has. Where columns follow each other without a gap, one is written past
/// its end and the next puts that right, except near the end of the block.
template <int E>
void thin_band(const TransposeBlock& t) {
  constexpr int kL = 16 / E;
  const TileTag<E, 1> d;
  using T = typename Element<E>::Type;
  const Byte* rows[kL];
  for (int k = 0; k < kL; ++k) rows[k] = t.row(k < t.nb ? k : t.nb - 1);
  const std::int64_t na = t.na, bytes = t.nb * E;
  if (na < kL) {
    for (std::int64_t a = 0; a < na; ++a) {
      for (std::int64_t b = 0; b < t.nb; ++b) std::memcpy(t.column(a) + b * E, rows[b] + a * E, E);
    }
    return;
  }
  std::int64_t next = 0;
  if (t.col_stride == bytes) {
    Byte* to = t.cols[0];
    AnyRows<kL> from{rows, 0};
    for (; (na - next - kL + 1) * bytes >= 16 && next + kL <= na; next += kL) {
      tile<E, 1>(from, [&](int, auto v) HWY_ATTR {
        hn::StoreU(v, d, reinterpret_cast<T*>(to));
        to += bytes;
      });
      from.next_columns();
    }
  }
  for (; next < na; next += kL) {
    const std::int64_t a = next + kL <= na ? next : na - kL;
    AnyRows<kL> from{rows, a * E};
    tile<E, 1>(from, [&](int j, auto v) HWY_ATTR { store_some(v, t.column(a + j), bytes); });
  }
}

/// f(block) for n columns of a block at a time, whose rows and columns are at equal distances.
template <int E, class F>
HWY_INLINE void few_columns_at_a_time(const TransposeBlock& t, std::int64_t n, const F& f) {
  TransposeBlock few = t;
  const Byte* row = t.rows[0];
  Byte* column = t.cols[0];
  few.rows = &row;
  few.cols = &column;
  for (std::int64_t a = 0; a < t.na; a += n) {
    few.na = std::min(n, t.na - a);
    f(few);
    row += n * E;
    column += n * t.col_stride;
  }
}

/// Whether rows are at equal distances and columns are made of whole lines.
template <int E>
bool for_bypass(const TransposeBlock& t) {
  return t.walk == Walk::pieces && t.row_stride != 0 && t.na >= kLineRows<E> &&
         t.nb % kLineRows<E> == 0 && t.col_stride != 0 && t.col_stride % kLine == 0 &&
         reinterpret_cast<std::uintptr_t>(t.cols[0]) % kLine == 0;
}

/// Lines of as many rows as fill one of each column; where vectors are lines, each is loaded once.
template <int E, int kB>
HWY_INLINE void lines_to(const Byte* from, std::int64_t distance, Byte* to, std::int64_t stride) {
  constexpr std::int64_t kL = 16 / E;
  if constexpr (kB == 4) {
    square_of_lines<E, Writing::plain>(EvenRows<kL>(from, distance), to, stride);
  } else {
    for (std::int64_t a = 0; a < kLineRows<E>; a += kL)
      line_of_tiles<E, kB>(from + a * E, distance, to + a * stride, stride);
  }
}

/// A line of each of as many rows as fill one. Not inline, for squares need the registers.
template <int E>
HWY_NOINLINE void prefetch_lines(const Byte* row, std::int64_t distance) {
  for (std::int64_t i = 0; i < kLineRows<E>; ++i, row += distance) hwy::Prefetch(row);
#if defined(__GNUC__)
  asm volatile("");  // compilers leave out calls of functions that do nothing but prefetch
#endif
}

/// As many rows as fill a run of a column, all columns of them before the next rows: pieces are put
/// together in a buffer and leave it by non-temporal stores. What is loaded next from memory is
/// prefetched where rows are near each other: hardware loses its way between such stores.
template <int E, int kB>
HWY_NOINLINE void by_buffer(const TransposeBlock& t) {
  constexpr std::int64_t kSide = kLineRows<E>, kMostColumns = 4 * kSide;
  using T = typename Element<E>::Type;
  const TileTag<E, kB> d;
  alignas(64) Byte buffer[kMostColumns * kBypassRun];
  const std::int64_t distance = t.row_stride, stride = t.col_stride;
  const bool near = distance < stride && distance <= kNear, ahead = near && t.size == Size::huge;
  const std::int64_t most = near ? kMostColumns : kMostColumns / 2;
  for (std::int64_t b = 0; b < t.nb; b += kBypassRun / E) {
    const std::int64_t run = std::min(kBypassRun, (t.nb - b) * E);
    for (std::int64_t next = 0; next < t.na; next += most) {
      const std::int64_t a = std::min(next, t.na - kSide), columns = std::min(most, t.na - a);
      const Byte* from = t.rows[0] + b * distance + a * E;
      for (std::int64_t at = 0; at < run; at += kLine, from += kSide * distance) {
        in_steps<kSide>(columns, [&](std::int64_t k) HWY_ATTR {
          if (ahead) prefetch_lines<E>(from + kSide * distance + k * E, distance);
          lines_to<E, kB>(from + k * E, distance, buffer + k * run + at, run);
        });
      }
      Byte* to = t.cols[0] + a * stride + b * E;
      const Byte* made = buffer;
      for (std::int64_t k = 0; k < columns; ++k, to += stride, made += run) {
        for (std::int64_t i = 0; i < run; i += 16 * kB) {
          hn::Stream(hn::LoadU(d, reinterpret_cast<const T*>(made + i)), d,
                     reinterpret_cast<T*>(to + i));
        }
      }
    }
  }
}

/// The most columns of a pass over all rows of a block.
constexpr std::int64_t kPassColumns = 40;

/// Whether lines of far columns, prefetched ahead of being filled, and what is read crowd the L1,
/// so that fewer columns at a time are better.
template <int E>
bool for_passes(const TransposeBlock& t) {
  const Caches& caches = t.tuning->caches;
  return t.tuning->prefetch_for_write && t.row_stride != 0 && t.row_stride < t.col_stride &&
         t.na > kPassColumns && !columns_crowd(t.col_stride, t.na) &&
         crowds(caches.l1_span(), caches.l1_ways - 1, t.col_stride, t.na);
}

template <int E, int kB>
void bands(const TransposeBlock& t);

/// A few columns at a time, as many as fill lines of the source, each to the last row.
template <int E, int kB>
HWY_NOINLINE void passes(const TransposeBlock& t) {
  constexpr std::int64_t kLineOf = kLine / E;
  const std::int64_t even = ceil_div(t.na, ceil_div(t.na, kPassColumns)),
                     n = std::min(round_up(even, kLineOf), kPassColumns / kLineOf * kLineOf);
  few_columns_at_a_time<E>(t, n, [](const TransposeBlock& few) HWY_ATTR { bands<E, kB>(few); });
}

template <int E, int kB>
void bands(const TransposeBlock& t) {
  constexpr std::int64_t kL = 16 / E;
  if constexpr (kB == kBlocks && E >= kLeastOfBypass) {
    if (for_bypass<E>(t)) return by_buffer<E, kB>(t);
    if (for_passes<E>(t)) return passes<E, kB>(t);
  }
  if constexpr (kB > 1) {
    if (t.nb < kL * kB) return bands<E, kB / 2>(t);
  }
  if (t.nb < kL) return thin_band<E>(t);
  if constexpr (kBlocks > 1 && kB == kBlocks && E >= kLeastOfSquares) {
    const bool has_panels = t.tuning->streams > 0 || t.walk == Walk::panels,
               fits = has_panels && t.na >= kLineColumns<E> && t.nb >= kLineRows<E>;
    if constexpr (kBlocks == 4 && E >= 4) {
      if (fits && t.col_stride == 0)
        return t.tuning->prefetch_for_write ? panels_of_table<E, Writing::ahead>(t)
                                            : panels_of_table<E, Writing::plain>(t);
    }
    if (fits && for_panels(t)) {
      if (t.nb % kLineRows<E> == 0 && can_stream(t, t.cols[0], kB * 16))
        return panels<E, Writing::stream>(t);
      return t.tuning->prefetch_for_write ? panels<E, Writing::ahead>(t)
                                          : panels<E, Writing::plain>(t);
    }
  }
  if constexpr (kBlocks > 1 && kB == kBlocks && E >= 4) {
    if (const Squares how = squares_of(t, kL * kB, kBlocks == 4); how.pay)
      return t.nb % (kL * kB) == 0 && can_stream(t, t.cols[0], kB * 16)
                 ? squares<E, Writing::stream>(t, how)
                 : squares<E, Writing::ahead>(t, how);
  }
  std::int64_t b = 0;
  if constexpr (kB == kBlocks && E == 4) {
    if (t.walk == Walk::staggered && t.row_stride != 0 && t.na >= kL) b = staggered<E, kB>(t);
  }
#if HWY_TARGET <= HWY_AVX3
  if constexpr (kB == kBlocks && E < 4) {
    if (t.tuning->streams > 0 && for_spare_columns<E>(t))
      b = t.tuning->prefetch_for_write ? spare_columns<E, Writing::ahead>(t)
                                       : spare_columns<E, Writing::plain>(t);
  }
#endif
  const bool even = t.row_stride != 0 && t.col_stride != 0 && t.na >= kL;
  if (b == 0 && even && t.na <= (E <= 2 ? 66 : 2 * kL - 1)) {
    // Of narrow elements few bands at a time, so that what they read and write stays in L1.
    using Rows = PairedRows<kL>;
    constexpr std::int64_t kMost = 8192;
    const std::int64_t few = E <= 2 ? std::max<std::int64_t>(kMost / (t.na * 16 * kB), 1) : t.nb;
    b = t.tuning->prefetch_for_write ? columns_first<E, kB, Writing::ahead, Rows>(t, few)
                                     : columns_first<E, kB, Writing::plain, Rows>(t, few);
  }
  const bool crowd = (E == 16 && t.na <= 2) || columns_crowd(t.col_stride, t.na);
  // Beyond L2 it is worth more to read each line once, if there are several in a row.
  const bool once = t.size > Size::small && !t.copied && E >= 4 && t.na * E >= 128;
  if (b == 0 && even && crowd && !once && !crowded(t.row_stride, kL * kB))
    b = t.na % kL == 0 && can_stream(t, t.cols[0], kB * 16)
            ? columns_first<E, kB, Writing::stream>(t, t.nb)
        : t.size <= Size::small || !t.tuning->prefetch_for_write
            ? columns_first<E, kB, Writing::plain>(t, t.nb)
            : columns_first<E, kB, Writing::ahead>(t, t.nb);
  for (; b + kL * kB <= t.nb; b += kL * kB) band<E, kB>(t, b);
  // The rest is taken again from the end, with the narrowest band that holds it.
  const std::int64_t rest = t.nb - b;
  if (rest == 0) return;
  if (kB >= 4 && rest > 2 * kL) return band<E, kB>(t, t.nb - kL * kB);
  if (kB >= 2 && rest > kL) return band < E, kB >= 2 ? 2 : 1 > (t, t.nb - 2 * kL);
  band<E, 1>(t, t.nb - kL);
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace stowage::conversion

HWY_AFTER_NAMESPACE();

#endif
