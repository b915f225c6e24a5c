// SPDX-License-Identifier: Apache-2.0
// Orders of walking squares of rows and columns.
#if defined(STOWAGE_CONVERT_PANELS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef STOWAGE_CONVERT_PANELS_INL_H
#undef STOWAGE_CONVERT_PANELS_INL_H
#else
#define STOWAGE_CONVERT_PANELS_INL_H
#endif

#include <algorithm>
#include <type_traits>

#include "base/checked.h"
#include "convert/kernels_columns-inl.h"
#include "convert/kernels_squares-inl.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::conversion {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR

/// So many rows by all columns, one line of the destination after the other; the last step overlaps
/// the one before where it must. Not inline, and one square in it: compilers run out of registers
/// elsewhere.
template <int E, Writing kWriting, bool kWhole, class Place>
HWY_NOINLINE void along_columns(Place from, Byte* to, std::int64_t columns, std::int64_t stride) {
  constexpr std::int64_t kN = kLineColumns<E>;
  for (;;) {
    fill_lines<E, kWriting, kWhole>(from, to, stride);
    columns -= kN;
    if (columns <= 0) return;
    const std::int64_t step = std::min(columns, kN);
    from.skip_columns(step * E);
    to += step * stride;
  }
}

/// The same in a scattered order, in which prefetches of what is written next mean nothing.
template <int E, bool kWhole, class Place>
HWY_NOINLINE void scattered_along_columns(const Place& first, Byte* to, std::int64_t columns,
                                          std::int64_t stride) {
  constexpr std::int64_t kN = kLineColumns<E>;
  in_steps<kN>(columns, StepOrder::scattered, [&](std::int64_t a) HWY_ATTR {
    Place from = first;
    from.skip_columns(a * E);
    fill_lines<E, Writing::plain, kWhole>(from, to + a * stride, stride);
  });
}

/// The same in either order.
template <int E, Writing kWriting, bool kWhole, class Place>
void along_columns(const Place& first, Byte* to, std::int64_t columns, std::int64_t stride,
                   StepOrder order) {
  order == StepOrder::scattered ? scattered_along_columns<E, kWhole>(first, to, columns, stride)
                                : along_columns<E, kWriting, kWhole>(first, to, columns, stride);
}

/// The same to columns at any place, from byte `offset` of them on. As many lines from `ahead` on
/// as are written are prefetched, if it is not null.
template <int E, Writing kWriting, class Place>
HWY_NOINLINE void along_table(Place from, Byte* const* columns, std::int64_t offset, std::int64_t n,
                              const Byte* ahead) {
  constexpr std::int64_t kN = kLineColumns<E>;
  for (;;) {
    for (std::int64_t line = 0; ahead != nullptr && line < kN; ++line, ahead += kLine)
      prefetch_for_write(ahead);
    square_to<E, kWriting>(from.rows(), AnyColumns{columns, offset});
    n -= kN;
    if (n <= 0) return;
    const std::int64_t step = std::min(n, kN);
    from.skip_columns(step * E);
    columns += step;
  }
}

/// So many columns, each of them to the last row, likewise.
template <int E, Writing kWriting, bool kWhole, class Place>
HWY_NOINLINE void along_rows(Place from, Byte* to, std::int64_t rows, std::int64_t stride) {
  constexpr std::int64_t kN = kLineRows<E>;
  for (;;) {
    fill_lines<E, kWriting, kWhole>(from, to, stride);
    rows -= kN;
    if (rows <= 0) return;
    const std::int64_t step = std::min(rows, kN);
    from.skip_rows(step);
    to += step * E;
  }
}

template <int E, bool kWhole, class Place>
HWY_NOINLINE void scattered_along_rows(const Place& first, Byte* to, std::int64_t rows,
                                       std::int64_t stride) {
  constexpr std::int64_t kN = kLineRows<E>;
  in_steps<kN>(rows, StepOrder::scattered, [&](std::int64_t b) HWY_ATTR {
    Place from = first;
    from.skip_rows(b);
    fill_lines<E, Writing::plain, kWhole>(from, to + b * E, stride);
  });
}

template <int E, Writing kWriting, bool kWhole, class Place>
void along_rows(const Place& first, Byte* to, std::int64_t rows, std::int64_t stride,
                StepOrder order) {
#if HWY_TARGET <= HWY_AVX3
  constexpr bool kBytes = kBlocks == 4 && E == 1;
  if constexpr (kBytes) squares_of_bytes<kWriting>(first, to, rows, stride, order);
#else
  constexpr bool kBytes = false;
#endif
  if constexpr (!kBytes)
    order == StepOrder::scattered ? scattered_along_rows<E, kWhole>(first, to, rows, stride)
                                  : along_rows<E, kWriting, kWhole>(first, to, rows, stride);
}

/// All rows and columns, along the diagonals of squares: lines at equal places of many rows, or of
/// many columns, fall into the same sets of the caches, and no two squares of a diagonal share a
/// place. Squares at the ends overlap those before where they must.
template <int E, Writing kWriting>
HWY_NOINLINE void along_diagonals(const EvenPlace<16 / E>& first, Byte* to, std::int64_t columns,
                                  std::int64_t rows, std::int64_t stride) {
  constexpr std::int64_t kColumns = kLineColumns<E>, kRows = kLineRows<E>;
  const std::int64_t wide = ceil_div(columns, kColumns), tall = ceil_div(rows, kRows);
  for (std::int64_t diagonal = 0; diagonal < wide; ++diagonal) {
    std::int64_t column = diagonal;
    for (std::int64_t row = 0; row < tall; ++row) {
      const std::int64_t a = std::min(column * kColumns, columns - kColumns),
                         b = std::min(row * kRows, rows - kRows);
      EvenPlace<16 / E> from = first;
      from.skip_columns(a * E);
      from.skip_rows(b);
      fill_lines<E, kWriting, true>(from, to + a * stride + b * E, stride);
      column = (column == 0 ? wide : column) - 1;
    }
  }
}

/// As many rows as fill a run of a column, by the columns whose runs a buffer of the L1's size
/// holds: lines of columns that crowd the L1 are stored several in a row, for each that begins
/// elsewhere evicts one that it shares a set with.
template <int E>
HWY_NOINLINE void by_runs(const TransposeBlock& t) {
  constexpr std::int64_t kN = kLineRows<E>, kColumns = kLineColumns<E>, kRows = kCrowdedRun / E,
                         kPitch = kCrowdedRun + kLine;  // so that runs are spread over the sets
  const TileTag<E, kBlocks> d;
  alignas(64) Byte buffer[kMostOfRuns * kPitch];
  const std::int64_t most = columns_of_runs(t.tuning->caches, kColumns), stride = t.col_stride;
  for (std::int64_t next_b = 0; next_b < t.nb; next_b += kRows) {
    const std::int64_t b = std::min(next_b, t.nb - kN), rows = std::min(kRows, t.nb - b);
    for (std::int64_t next_a = 0; next_a < t.na; next_a += most) {
      const std::int64_t a = std::min(next_a, t.na - kColumns), columns = std::min(most, t.na - a);
      in_steps<kN>(rows, [&](std::int64_t i) HWY_ATTR {
        const EvenPlace<16 / E> from{t.rows[0] + (b + i) * t.row_stride + a * E, t.row_stride};
        along_columns<E, Writing::plain, E >= 4>(from, buffer + i * E, columns, kPitch,
                                                 t.order_of_steps());
      });
      Byte* to = t.cols[0] + a * stride + b * E;
      const Byte* made = buffer;
      for (std::int64_t k = 0; k < columns; ++k, to += stride, made += kPitch) {
        in_steps<kLine>(rows * E, [&](std::int64_t i) HWY_ATTR {
          const Byte* from = made + i;
#if defined(__GNUC__)
          asm("" : "+r"(from));  // compilers would make a string instruction of the loop
#endif
          write<Writing::plain>(
              hn::LoadU(d, reinterpret_cast<const hn::TFromD<decltype(d)>*>(from)), d, to + i);
        });
      }
    }
  }
}

/// kB * 16 / E rows by the columns of a square: what is left behind squares.
template <int E, int kB, Writing kWriting, class Place>
HWY_NOINLINE void rest_of_rows(Place from, Byte* to, std::int64_t stride) {
  const TileTag<E, kB> d;
  for (std::int64_t a = 0; a < kLineColumns<E>; a += 16 / E) {
    auto rows = from.rows();
    tile<E, kB>(rows, [&](int, auto v) HWY_ATTR {
      write<kWriting>(v, d, to);
      to += stride;
    });
    from.skip_columns(16);
  }
}

/// All rows of as many columns as a square has, in squares and, where few are left, tiles.
template <int E, Writing kWriting, bool kWhole, class Place>
void all_rows(const Place& first, Byte* to, std::int64_t rows, std::int64_t stride,
              StepOrder order) {
  constexpr std::int64_t kTile = 16 / E;
  const std::int64_t rest = kBlocks == 4 ? rows % kLineRows<E> : 0;
  const auto tiles = [&](auto blocks) HWY_ATTR {
    constexpr std::int64_t kRows = blocks() * kTile;
    Place from = first;
    from.skip_rows(rows - kRows);
    rest_of_rows<E, blocks(), kWriting>(from, to + (rows - kRows) * E, stride);
  };
  along_rows<E, kWriting, kWhole>(first, to, 2 * rest <= kLineRows<E> ? rows - rest : rows, stride,
                                  order);
  if (rest == 0 || 2 * rest > kLineRows<E>) return;
  if (rest <= kTile) return tiles(std::integral_constant<int, 1>());
  tiles(std::integral_constant<int, std::min(kBlocks, 2)>());
}

/// Columns at any place: all of them by the rows of a square, before the next rows.
template <int E, Writing kWriting, class Place>
void panels_of_table(const TransposeBlock& t, const Place& first) {
  // Hardware prefetchers lose their way where one piece is written in any order.
  const Byte* const ahead = t.one_piece && t.nb == kLineRows<E>
                                ? t.column(0) + round_up(t.na / 2, kLineColumns<E>) * kLine
                                : nullptr;
  for (std::int64_t next = 0; next < t.nb; next += kLineRows<E>) {
    const std::int64_t b = std::min(next, t.nb - kLineRows<E>);
    Place from = first;
    from.skip_rows(b);
    along_table<E, kWriting>(from, t.cols, t.col_offset + b * E, t.na, ahead);
  }
}

template <int E, Writing kWriting>
void panels_of_table(const TransposeBlock& t) {
  t.row_stride == 0 ? panels_of_table<E, kWriting>(t, AnyPlace<16 / E>{t.rows, t.row_offset})
                    : panels_of_table<E, kWriting>(t, EvenPlace<16 / E>{t.rows[0], t.row_stride});
}

/// Whether `panels` pay. Without vectors of whole lines: columns near each other, or by whole lines
/// apart, so that no store is in two lines that are both still to come, and farther than rows.
inline bool for_panels(const TransposeBlock& t) {
  if (t.col_stride == 0 || t.copied || t.walk == Walk::staggered) return false;
  return kBlocks == 4 || t.col_stride <= kNear / 2 ||
         (t.col_stride % kLine == 0 && t.row_stride <= t.col_stride);
}

/// Whether a few rows are walked to the last column before the next: rows are farther apart than
/// columns. Not where lines of a few columns crowd the L1, nor where columns begin within lines,
/// each of which would be gone over again with the next rows, unless rows are so many that reading
/// a line of each costs more.
inline bool rows_first(const TransposeBlock& t) {
  constexpr std::int64_t kRowsOfStream = 16;
  const std::int64_t few = t.walk == Walk::panels ? kFewRows : kRowsOfStream * t.tuning->streams;
  const bool far = t.row_stride == 0 ? t.col_stride <= kNear : t.row_stride > t.col_stride;
  return far && (t.col_stride % kLine == 0 || t.nb > few) &&
         !few_crowd(t.tuning->caches, t.col_stride);
}

/// How many rows are walked at once where columns are: all, if each of their lines is read once and
/// they do not crowd the L2; else what half of the L1 holds, but in any case rows for several lines
/// of columns whose lines crowd the L1, or prefetchers would begin anew with each.
template <int E>
std::int64_t rows_at_once(const TransposeBlock& t) {
  if (t.row_stride > t.col_stride) return t.nb;
  const Caches& caches = t.tuning->caches;
  const std::int64_t lines = round_up(t.na * E, kLine);
  std::int64_t rows = caches.l1 / 2 / (t.row_stride > 0 ? std::min(t.row_stride, lines) : lines);
  if (E >= 4 && t.row_stride > 0 && t.row_stride % kLine == 0)
    rows = caches.l2_ways * (caches.l2_span() / std::gcd(t.row_stride, caches.l2_span())) / 2;
  const std::int64_t least = few_crowd(caches, t.col_stride) ? 4 : 1;
  return std::max(rows / kLineRows<E>, least) * kLineRows<E>;
}

/// In squares that fill lines, a few rows or columns at a time, on the side where they are far from
/// each other: each to the end of the block before the next.
template <int E, Writing kWriting, bool kWhole, class Place>
void panels(const TransposeBlock& t, const Place& first) {
  constexpr std::int64_t kRows = kLineRows<E>, kColumns = kLineColumns<E>;
  const std::int64_t na = t.na, nb = t.nb, stride = t.col_stride;
  const StepOrder order = t.order_of_steps();
  Byte* const columns = t.cols[0];
  const auto at = [&](std::int64_t a, std::int64_t b) HWY_ATTR {
    Place place = first;
    place.skip_columns(a * E);
    place.skip_rows(b);
    return place;
  };
  if (rows_first(t)) {
    for (std::int64_t next = 0; next < nb; next += kRows) {
      const std::int64_t b = std::min(next, nb - kRows);
      along_columns<E, kWriting, kWhole>(at(0, b), columns + b * E, na, stride, order);
    }
    return;
  }
  const std::int64_t rest = na % kColumns, most = rows_at_once<E>(t);
  const bool tiles = Place::kEven && kBlocks == 4 && 2 * rest <= kColumns;
  const std::int64_t in_squares = tiles ? na - rest : na;
  for (std::int64_t next = 0; next < nb; next += most) {
    const std::int64_t b = std::min(next, nb - kRows), rows = std::min(most, nb - b);
    for (std::int64_t column = 0; column < in_squares; column += kColumns) {
      const std::int64_t a = std::min(column, na - kColumns);
      Byte* const to = columns + a * stride + b * E;
      most == nb ? all_rows<E, kWriting, kWhole>(at(a, b), to, rows, stride, order)
                 : along_rows<E, kWriting, kWhole>(at(a, b), to, rows, stride, order);
    }
    if constexpr (Place::kEven && kBlocks == 4) {
      if (in_squares == na) continue;
      const auto move = [&](std::int64_t from, std::int64_t bands) HWY_ATTR {
        columns_down<E, kBlocks, kWriting, PairedRows<16 / E> >(
            at(0, from).first, t.row_stride, columns + from * E, stride, in_squares, na, bands);
      };
      move(b, rows / kRows);
      if (rows % kRows != 0) move(b + rows - kRows, 1);
    }
  }
}

#if HWY_TARGET <= HWY_AVX3
/// Whether there are too few columns for a half square, but more than half of it, and reading some
/// more behind each row is allowed but for the last ones.
template <int E>
bool for_spare_columns(const TransposeBlock& t) {
  return t.row_stride > 0 && t.col_stride != 0 && t.nb >= 2 * kLineRows<E> &&
         2 * t.na > kLineColumns<E> && t.na < kLineColumns<E>;
}

/// Returns how many rows are done: squares of them, as long as nothing is read behind the source.
template <int E, Writing kWriting>
HWY_NOINLINE std::int64_t spare_columns(const TransposeBlock& t) {
  const std::int64_t na = t.na, distance = t.row_stride, stride = t.col_stride;
  const EvenPlace<16 / E> first{t.rows[0], distance};
  Byte* const to = t.cols[0];
  const std::int64_t room = t.src_end - first.first - kLineColumns<E> * E,
                     safe = room < 0 ? 0 : std::min(t.nb, room / distance + 1),
                     rows = safe / kLineRows<E> * kLineRows<E>;
  if (rows == 0) return 0;
  if constexpr (E == 1) {
    squares_of_bytes<kWriting, true>(first, to, rows, stride, t.order_of_steps(), na);
  } else {
    in_steps<kLineRows<E> >(rows, [&](std::int64_t b) HWY_ATTR {
      EvenPlace<16 / E> from = first;
      from.skip_rows(b);
      half_square<E, kWriting>(from.rows(), to + b * E, stride, na);
    });
  }
  return rows;
}
#endif

/// Whether lines are better loaded whole: rows begin with lines and are near each other, or crowd
/// the L1.
template <int E>
bool for_whole_lines(const TransposeBlock& t) {
  const Caches& caches = t.tuning->caches;
  return t.row_stride % kLine == 0 &&
         (!rows_first(t) || crowds(caches.l1_span(), caches.l1_ways, t.row_stride, kLineRows<E>));
}

template <int E, Writing kWriting>
void panels(const TransposeBlock& t) {
  if (t.row_stride == 0)
    return panels<E, kWriting, false>(t, AnyPlace<16 / E>{t.rows, t.row_offset});
  const EvenPlace<16 / E> first{t.rows[0], t.row_stride};
  if constexpr (kBlocks == 4) {
    if (t.walk == Walk::runs) return by_runs<E>(t);
  }
  if constexpr (kBlocks == 4 && E >= 4) {
    if (kWriting != Writing::stream && t.walk == Walk::diagonal)
      return along_diagonals<E, kWriting>(first, t.cols[0], t.na, t.nb, t.col_stride);
    if (for_whole_lines<E>(t)) return panels<E, kWriting, true>(t, first);
  }
  panels<E, kWriting, false>(t, first);
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace stowage::conversion

HWY_AFTER_NAMESPACE();

#endif
