// SPDX-License-Identifier: Apache-2.0
// Tile transposition, and the shapes that fill no tile: few rows, few columns, interleaves.
#if defined(STOWAGE_CONVERT_TRANSPOSE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef STOWAGE_CONVERT_TRANSPOSE_INL_H
#undef STOWAGE_CONVERT_TRANSPOSE_INL_H
#else
#define STOWAGE_CONVERT_TRANSPOSE_INL_H
#endif

#include <algorithm>
#include <array>
#include <cstring>

#include "convert/kernels_tile-inl.h"
#include "hwy/cache_control.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::conversion {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR || HWY_HAVE_SCALABLE

template <int E>
void transpose(const TransposeBlock& t) {
  for (std::int64_t a = 0; a < t.na; ++a) {
    for (std::int64_t b = 0; b < t.nb; ++b) std::memcpy(t.column(a) + b * E, t.row(b) + a * E, E);
  }
}

#else

/// Whether the lines of the next band are others than those of the next columns.
inline bool far_columns(std::int64_t distance) {
  return distance >= 192 || (distance >= 128 && distance % 64 == 0);
}

/// The lines of a run that will be written soon after the one at hand.
HWY_INLINE void prefetch_ahead(const Byte* p, std::int64_t bytes) {
  constexpr std::int64_t kDistance = 320;
  for (std::int64_t i = 0; i < bytes; i += 64) prefetch_for_write(p + kDistance + i);
}

/// What a store does besides storing.
enum class Writing : std::uint8_t {
  plain,
  ahead,   ///< the line after it is asked for
  stream,  ///< non-temporal
};

/// Whether vectors of all columns from `first` on fill lines exactly.
inline bool can_stream(const TransposeBlock& t, const Byte* first, std::int64_t vector) {
  return t.size == Size::huge && vector == 64 && t.col_stride % 64 == 0 &&
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
    const bool first_band = kWriting == Writing::plain && b == 0 && stride == t.nb * E;
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
    const auto run = [&](Rows& from, Byte* const* columns) HWY_ATTR {
      tile<E, kB>(from, [&](int j, auto v) HWY_ATTR {
        Byte* const to = columns[j] + b * E;
        write<Writing::ahead>(v, d, to);
      });
    };
    for (std::int64_t a = kL; a <= na; a += kL) {
      run(rows, t.cols + a - kL);
      rows.next_columns();
    }
    if (na % kL != 0) run(last, t.cols + na - kL);
  }
}

/// All whole bands of kB * 16 / E rows, but one tile of columns after the other: for columns at
/// such a distance that many of them crowd the same few sets of the cache.
template <int E, int kB, Writing kWriting>
std::int64_t columns_first(const TransposeBlock& t) {
  constexpr std::int64_t kL = 16 / E, kRows = kL * kB;
  const TileTag<E, kB> d;
  const std::int64_t stride = t.col_stride, step = kRows * t.row_stride, whole = t.nb / kRows;
  for (std::int64_t next = 0; next < t.na; next += kL) {
    const std::int64_t a = std::min(next, t.na - kL);
    EvenRows<kL> rows(t.rows[0] + a * E, t.row_stride);
    Byte* first = t.cols[0] + a * stride;
    for (std::int64_t k = 0; k < whole; ++k, first += kB * 16) {
      Byte* to = first;
      tile<E, kB>(rows, [&](int, auto v) HWY_ATTR {
        write<kWriting>(v, d, to);
        to += stride;
      });
      rows.skip(step);
    }
  }
  return whole * kRows;
}

/// Block i of vector j becomes block j of vector i.
template <class D, class V>
HWY_INLINE void transpose_blocks(D d, V (&x)[kBlocks]) {
  if constexpr (kBlocks == 2) {
    const V low = hn::ConcatLowerLower(d, x[1], x[0]);
    x[1] = hn::ConcatUpperUpper(d, x[1], x[0]);
    x[0] = low;
  } else {
#if HWY_TARGET <= HWY_AVX3
    const __m512i a = x[0].raw, b = x[1].raw, c = x[2].raw, e = x[3].raw;
    const __m512i ab = _mm512_shuffle_i32x4(a, b, 0x44), ce = _mm512_shuffle_i32x4(c, e, 0x44);
    const __m512i ba = _mm512_shuffle_i32x4(a, b, 0xee), ec = _mm512_shuffle_i32x4(c, e, 0xee);
    x[0] = V{_mm512_shuffle_i32x4(ab, ce, 0x88)};
    x[1] = V{_mm512_shuffle_i32x4(ab, ce, 0xdd)};
    x[2] = V{_mm512_shuffle_i32x4(ba, ec, 0x88)};
    x[3] = V{_mm512_shuffle_i32x4(ba, ec, 0xdd)};
#endif
  }
}

/// As many rows as a vector has lanes, and as many columns: each line is read once.
template <int E, Writing kWriting, class Row>
HWY_INLINE void square(const Row& row, Byte* to, std::int64_t stride) {
  constexpr int kL = 16 / E;
  using T = typename Element<E>::Type;
  const TileTag<E, kBlocks> d;
  using V = hn::Vec<TileTag<E, kBlocks> >;
  V x[kL][kBlocks];
  HWY_UNROLL(4)
  for (int g = 0; g < kBlocks; ++g) {
    V y[kL];
    HWY_UNROLL(4)
    for (int k = 0; k < kL; ++k) y[k] = hn::LoadU(d, reinterpret_cast<const T*>(row(g * kL + k)));
    if constexpr (kL > 1) shuffle_rows<kL>(d, y);
    HWY_UNROLL(4)
    for (int k = 0; k < kL; ++k) x[k][g] = y[k];
  }
  HWY_UNROLL(4)
  for (int k = 0; k < kL; ++k) transpose_blocks(d, x[k]);
  HWY_UNROLL(4)
  for (int g = 0; g < kBlocks; ++g) {
    HWY_UNROLL(4)
    for (int k = 0; k < kL; ++k, to += stride) write<kWriting>(x[k][g], d, to);
  }
}

/// Whether `squares` of n pay: rows far apart, but not so that lines of more than n of them fall
/// into one set of an L2 cache; columns near each other; not more than half of the last square done
/// twice.
inline bool for_squares(const TransposeBlock& t, std::int64_t n) {
  constexpr std::int64_t kNear = 1024, kSets = 65536;
  const bool near = t.col_stride != 0 && t.col_stride <= kNear,
             far = t.row_stride == 0 ||
                   (t.row_stride > t.col_stride && (t.nb <= n || t.row_stride % kSets != 0));
  return near && far && t.na >= n && t.nb >= n && (t.nb % n == 0 || 2 * (t.nb % n) > n);
}

/// As band_tiles, for columns fewer than a tile: a row is read past its end.
template <int E, int kB, class Rows>
HWY_INLINE void band_narrow(const TransposeBlock& t, std::int64_t b, Rows rows) {
  const TileTag<E, kB> d;
  tile<E, kB>(rows, [&](int j, auto v) HWY_ATTR {
    if (j >= t.na) return;
    write<Writing::ahead>(v, d, t.column(j) + b * E);
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
  for (std::int64_t next = 0; next < t.na; next += 2 * kL) {
    const std::int64_t a = std::min(next, t.na - 2 * kL);
    if (b == 0 && t.col_stride == t.nb * E)
      prefetch_ahead(t.cols[0] + a * t.col_stride, 2 * kL * t.col_stride);
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
        hn::StoreU(hn::LowerHalf(half, x[j]), half, reinterpret_cast<T*>(t.cols[a + j] + b * E));
        hn::StoreU(hn::UpperHalf(half, x[j]), half,
                   reinterpret_cast<T*>(t.cols[a + kL + j] + b * E));
      }
    }
  }
}

/// As many rows from b as a vector has lanes, all columns, of which there are whole squares.
template <int E>
void band_squares(const TransposeBlock& t, std::int64_t b) {
  constexpr std::int64_t kN = kBlocks * 16 / E;
  for (std::int64_t a = 0; a < t.na; a += kN) {
    const Byte* const first = t.row(b) + a * E;
    square<E, Writing::ahead>([&](int k) HWY_ATTR { return first + k * t.row_stride; },
                              t.column(a) + b * E, t.col_stride);
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
    if (t.size == Size::small && t.row_stride != 0 && far_columns(t.col_stride) &&
        t.na % kRows == 0)
      return band_squares<E>(t, b);
  }
  if (t.na >= kL) {
    const std::int64_t last = (t.na - kL) * E;
    if (t.row_stride != 0) {
      using Rows = EvenRows<kL>;
      const Rows first(t.row(b), t.row_stride), end(t.row(b) + last, t.row_stride);
      if (t.na % kL == 0 && can_stream(t, t.cols[0] + b * E, kB * 16))
        return band_tiles<E, kB, Writing::stream>(t, b, first, end);
      if (far_columns(t.col_stride)) return band_tiles<E, kB, Writing::ahead>(t, b, first, end);
      return band_tiles<E, kB, Writing::plain>(t, b, first, end);
    }
    using Rows = AnyRows<kL>;
    const Rows first{t.rows + b, 0}, end{t.rows + b, last};
    if (far_columns(t.col_stride)) return band_tiles<E, kB, Writing::ahead>(t, b, first, end);
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

/// All rows, as many columns at a time as a vector has lanes: for rows far apart and columns near
/// each other, each of which is finished while its lines are near.
template <int E, Writing kWriting>
void squares(const TransposeBlock& t) {
  constexpr std::int64_t kN = kBlocks * 16 / E;
  const std::int64_t stride = t.col_stride;
  constexpr std::int64_t kStreams = 32;  // as many as the hardware follows
  for (std::int64_t first = 0; first < t.nb; first += kStreams) {
    const std::int64_t end = std::min(first + kStreams, t.nb);
    for (std::int64_t next = 0; next < t.na; next += kN) {
      const std::int64_t a = std::min(next, t.na - kN);
      Byte* const column = t.cols[0] + a * stride;
      for (std::int64_t from = first; from < end; from += kN) {
        const std::int64_t b = std::min(from, t.nb - kN);
        square<E, kWriting>([&](int k) HWY_ATTR { return t.row(b + k) + a * E; }, column + b * E,
                            stride);
      }
    }
  }
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

template <int E, int kB>
void bands(const TransposeBlock& t) {
  constexpr std::int64_t kL = 16 / E;
  if constexpr (kB > 1) {
    if (t.nb < kL * kB) return bands<E, kB / 2>(t);
  }
  if (t.nb < kL) return thin_band<E>(t);
  if constexpr (kBlocks > 1 && kB == kBlocks && (E == 4 || E == 8)) {
    if (for_squares(t, kL * kB))
      return t.nb % (kL * kB) == 0 && can_stream(t, t.cols[0], kB * 16)
                 ? squares<E, Writing::stream>(t)
                 : squares<E, Writing::ahead>(t);
  }
  std::int64_t b = 0;
  const bool even = t.row_stride != 0 && t.col_stride != 0 && t.na >= kL;
  const bool crowd =
      (E == 16 && t.na <= 2) || t.col_stride % 2048 == 0 || crowded(t.col_stride, t.na);
  // Beyond L2 it is worth more to read each line once, if there are several in a row.
  const bool once = t.size != Size::small && !t.copied && E >= 4 && t.na * E >= 128;
  if (even && crowd && !once && !crowded(t.row_stride, kL * kB))
    b = t.na % kL == 0 && can_stream(t, t.cols[0], kB * 16)
            ? columns_first<E, kB, Writing::stream>(t)
        : t.size == Size::small ? columns_first<E, kB, Writing::plain>(t)
                                : columns_first<E, kB, Writing::ahead>(t);
  for (; b + kL * kB <= t.nb; b += kL * kB) band<E, kB>(t, b);
  // The rest is taken again from the end, with the narrowest band that holds it.
  const std::int64_t rest = t.nb - b;
  if (rest == 0) return;
  if (kB >= 4 && rest > 2 * kL) return band<E, kB>(t, t.nb - kL * kB);
  if (kB >= 2 && rest > kL) return band < E, kB >= 2 ? 2 : 1 > (t, t.nb - 2 * kL);
  band<E, 1>(t, t.nb - kL);
}

/// kRows rows of na become one row of na * kRows: a vector of each at a time.
template <int E, int kRows>
void interleave(const TransposeBlock& t) {
  using T = typename Element<E>::Type;
  const hn::ScalableTag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d)), na = t.na;
  const Byte* rows[kRows];
  for (int k = 0; k < kRows; ++k) rows[k] = t.row(k);
  Byte* const first = t.cols[0];
  for (std::int64_t next = 0; next < na; next += lanes) {
    const std::int64_t a = std::min(next, na - lanes);
    const auto row = [&](int k) {
      return hn::LoadU(d, reinterpret_cast<const T*>(rows[k] + a * E));
    };
    Byte* const at = first + a * kRows * E;
    prefetch_ahead(at, kBlocks * 16 * kRows);
    T* const to = reinterpret_cast<T*>(at);
    if constexpr (kRows == 2) hn::StoreInterleaved2(row(0), row(1), d, to);
    if constexpr (kRows == 3) hn::StoreInterleaved3(row(0), row(1), row(2), d, to);
    if constexpr (kRows == 4) hn::StoreInterleaved4(row(0), row(1), row(2), row(3), d, to);
  }
}

using Order = std::array<Byte, 16>;  ///< of bytes; 0x80: zero
using Orders = std::array<Order, 17>;

/// kM rows of n elements, one after the other, as columns of kM elements; by n.
template <int E, int kM>
constexpr Orders spread_orders() {
  Orders out{};
  for (int n = 1; n * E * kM <= 16; ++n) {
    for (int i = 0; i < 16; ++i) {
      const int column = i / (E * kM), row = i % (E * kM) / E;
      out[static_cast<std::size_t>(n)][static_cast<std::size_t>(i)] =
          static_cast<Byte>(column < n ? (row * n + column) * E + i % E : 0x80);
    }
  }
  return out;
}

/// Columns of kP elements, of which n count, without what lies between them; by n.
template <int E, int kP>
constexpr Orders press_orders() {
  Orders out{};
  for (int n = 1; n <= kP; ++n) {
    for (int i = 0; i < 16; ++i) {
      const int column = i / (n * E), rest = i % (n * E);
      out[static_cast<std::size_t>(n)][static_cast<std::size_t>(i)] =
          static_cast<Byte>(column < 16 / (kP * E) ? column * kP * E + rest : 0x80);
    }
  }
  return out;
}

/// Dense rows of so few columns that kM of them are read at once, as one row of a tile whose
/// elements are kM times as wide.
template <int E, int kM>
void few_columns(const TransposeBlock& t) {
  constexpr int kWide = E * kM, kL = 16 / kWide;
  constexpr std::int64_t kRows = kBlocks * 16 / E;
  const TileTag<kWide, kBlocks> d;
  const std::int64_t na = t.na, run = na * E;
  static constexpr auto kOrders = spread_orders<E, kM>();
  const hn::Repartition<Byte, TileTag<kWide, kBlocks> > bytes;
  const auto pattern =
      hn::BitCast(d, hn::LoadDup128(bytes, kOrders[static_cast<std::size_t>(na)].data()));
  const auto move = [&](const Byte* from, std::int64_t b) HWY_ATTR {
    ArrangedRows<kL, decltype(pattern)> rows(from, kM * run, pattern);
    tile<kWide, kBlocks>(rows, [&](int j, auto v) HWY_ATTR {
      if (j < na) write<Writing::ahead>(v, d, t.column(j) + b * E);
    });
  };
  // The last piece of a tile reads 16 bytes, whatever it needs.
  const std::int64_t reach = (kRows - kM) * run + 16;
  for (std::int64_t next = 0; next < t.nb; next += kRows) {
    const std::int64_t b = std::min(next, t.nb - kRows);
    const Byte* const from = t.row(0) + b * run;
    if (t.src_end - from >= reach) {
      move(from, b);
    } else {
      alignas(64) Byte copy[kRows * 16 + 16];
      std::memcpy(copy, from, static_cast<std::size_t>(kRows * run));
      move(copy, b);
    }
  }
}

/// Calls move(a, to) for all columns, kColumns of them at a time. Columns follow each other without
/// a gap, and each call writes `reach` bytes, at most kReach, some of them past its columns: where
/// those are past the end of the block, into a buffer.
template <int kColumns, int kReach, class Move>
HWY_INLINE void over_columns(const TransposeBlock& t, std::int64_t column, std::int64_t reach,
                             const Move& move) {
  std::int64_t a = 0;
  for (; a + kColumns <= t.na && (t.na - a) * column >= reach; a += kColumns)
    move(a, t.cols[0] + a * column);
  for (; a < t.na; a += kColumns) {
    const std::int64_t from = std::min(a, t.na - kColumns);
    Byte last[kReach];
    move(from, last);
    std::memcpy(t.cols[0] + from * column, last, static_cast<std::size_t>(kColumns * column));
  }
}

/// At most kP rows whose columns follow each other without a gap: columns are padded to kP rows in
/// registers, as many as 16 bytes hold are pressed together, and written over each other's end.
template <int E, int kP>
void few_rows(const TransposeBlock& t) {
  constexpr int kV = kBlocks > 1 ? 2 : 1, kL = 16 / E, kM = kL / kP;
  constexpr int kColumns = kV * kL;
  using T = typename Element<E>::Type;
  using D = TileTag<E, kV>;
  const D d;
  const hn::FixedTag<T, kL> part;
  const std::int64_t column = t.nb * E;
  static constexpr auto kOrders = press_orders<E, kP>();
  const hn::Repartition<Byte, D> bytes;
  const auto pattern =
      hn::BitCast(d, hn::LoadDup128(bytes, kOrders[static_cast<std::size_t>(t.nb)].data()));
  const Byte* rows[kP];
  for (int k = 0; k < kP; ++k) rows[k] = t.row(std::min<std::int64_t>(k, t.nb - 1));
  const auto move = [&](std::int64_t a, Byte* to) HWY_ATTR {
    prefetch_ahead(to, kColumns * column);
    hn::Vec<D> x[kP];
    HWY_UNROLL(16)
    for (int k = 0; k < kP; ++k) x[k] = hn::LoadU(d, reinterpret_cast<const T*>(rows[k] + a * E));
    shuffle_rows<kP>(d, x);
    if constexpr (kM > 1) {
      HWY_UNROLL(16)
      for (int k = 0; k < kP; ++k) x[k] = hn::TableLookupBytes(x[k], pattern);
    }
    HWY_UNROLL(16)
    for (int k = 0; k < kP; ++k, to += kM * column) {
      if constexpr (kV == 1) hn::StoreU(x[k], part, reinterpret_cast<T*>(to));
      if constexpr (kV == 2) hn::StoreU(hn::LowerHalf(part, x[k]), part, reinterpret_cast<T*>(to));
    }
    if constexpr (kV == 2) {
      HWY_UNROLL(16)
      for (int k = 0; k < kP; ++k, to += kM * column)
        hn::StoreU(hn::UpperHalf(part, x[k]), part, reinterpret_cast<T*>(to));
    }
  };
  over_columns<kColumns, kColumns * 16 + 16>(t, column, kColumns * column + 16, move);
}

/// Rows that fill no band, whose columns follow each other without a gap: a whole band is written,
/// each column over the end of the one before. One row more than a band is copied element by
/// element.
template <int E, int kB>
void one_band(const TransposeBlock& t) {
  constexpr int kL = 16 / E, kRows = kL * kB;
  using T = typename Element<E>::Type;
  const TileTag<E, kB> d;
  const std::int64_t column = t.nb * E;
  const Byte* table[kRows];
  for (int k = 0; k < kRows; ++k) table[k] = t.row(std::min<std::int64_t>(k, t.nb - 1));
  const auto move = [&](std::int64_t a, Byte* to) HWY_ATTR {
    prefetch_ahead(to, kL * column);
    AnyRows<kL> rows{table, a * E};
    Byte* const first = to;
    tile<E, kB>(rows, [&](int, auto v) HWY_ATTR {
      hn::StoreU(v, d, reinterpret_cast<T*>(to));
      to += column;
    });
    if (t.nb > kRows) {
      const Byte* const row = t.row(kRows) + a * E;
      Byte* end = first + kRows * E;
      HWY_UNROLL(16)
      for (int k = 0; k < kL; ++k, end += column) std::memcpy(end, row + k * E, E);
    }
  };
  over_columns<kL, (kL + 1) * kB * 16>(t, column, (kL - 1) * column + kB * 16, move);
}

#if HWY_TARGET <= HWY_AVX3
/// Between kN rows of 16 elements of 4 bytes and 16 columns of kN, one after the other: kN
/// registers either way. Each register of the result takes elements from all, two sources at a
/// time.
template <int kN>
struct Shuffle {
  static constexpr int kPairs = (kN + 1) / 2;
  alignas(64) std::int32_t index[kN][kPairs][16];
  std::uint16_t mask[kN][kPairs];

  /// `from(i)`: which element of the source becomes element i of the result.
  template <class F>
  constexpr explicit Shuffle(F from) : index{}, mask{} {
    for (int i = 0; i < 16 * kN; ++i) {
      const int source = from(i), pair = source / 32;
      index[i / 16][pair][i % 16] = source % 32;
      mask[i / 16][pair] = static_cast<std::uint16_t>(mask[i / 16][pair] | 1u << (i % 16));
    }
  }

  HWY_INLINE __m512i operator()(const __m512i (&x)[kN], int i) const {
    __m512i out = _mm512_permutex2var_epi32(x[0], _mm512_load_si512(index[i][0]), x[1]);
    HWY_UNROLL(4)
    for (int p = 1; p < kPairs; ++p) {
      const __m512i order = _mm512_load_si512(index[i][p]);
      if (2 * p + 1 < kN) {
        out = _mm512_mask_mov_epi32(out, mask[i][p],
                                    _mm512_permutex2var_epi32(x[2 * p], order, x[2 * p + 1]));
      } else {
        out = _mm512_mask_permutexvar_epi32(out, mask[i][p], order, x[2 * p]);
      }
    }
    return out;
  }
};

/// kN rows of 4 bytes whose columns follow each other without a gap.
template <int kN>
void join_rows(const TransposeBlock& t) {
  static constexpr Shuffle<kN> kShuffle([](int i) { return i % kN * 16 + i / kN; });
  const Byte* rows[kN];
  for (int k = 0; k < kN; ++k) rows[k] = t.row(k);
  for (std::int64_t next = 0; next < t.na; next += 16) {
    const std::int64_t a = std::min(next, t.na - 16);
    Byte* const to = t.cols[0] + a * kN * 4;
    prefetch_ahead(to, kN * 64);
    __m512i x[kN];
    HWY_UNROLL(8)
    for (int k = 0; k < kN; ++k) x[k] = _mm512_loadu_si512(rows[k] + a * 4);
    HWY_UNROLL(8)
    for (int k = 0; k < kN; ++k) _mm512_storeu_si512(to + k * 64, kShuffle(x, k));
  }
}

/// kN columns of 4 bytes whose rows follow each other without a gap.
template <int kN>
void part_columns(const TransposeBlock& t) {
  static constexpr Shuffle<kN> kShuffle([](int i) { return i % 16 * kN + i / 16; });
  const hn::FixedTag<std::uint32_t, 16> d;
  for (std::int64_t next = 0; next < t.nb; next += 16) {
    const std::int64_t b = std::min(next, t.nb - 16);
    const Byte* const from = t.row(0) + b * kN * 4;
    __m512i x[kN];
    HWY_UNROLL(8)
    for (int k = 0; k < kN; ++k) x[k] = _mm512_loadu_si512(from + k * 64);
    HWY_UNROLL(8)
    for (int k = 0; k < kN; ++k)
      write<Writing::ahead>(hn::Vec<decltype(d)>{kShuffle(x, k)}, d, t.column(k) + b * 4);
  }
}

using Transpose = void (*)(const TransposeBlock&);
constexpr std::int64_t kLeastShuffled = 5, kMostShuffled = 8;
constexpr Transpose kJoinRows[] = {join_rows<5>, join_rows<6>, join_rows<7>, join_rows<8>};
constexpr Transpose kPartColumns[] = {part_columns<5>, part_columns<6>, part_columns<7>,
                                      part_columns<8>};
#endif

/// One row of three columns, interleaved, becomes three.
template <int E>
void three_columns(const TransposeBlock& t) {
  using T = typename Element<E>::Type;
  const hn::ScalableTag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t next = 0; next < t.nb; next += lanes) {
    const std::int64_t b = std::min(next, t.nb - lanes);
    hn::Vec<decltype(d)> v[3];
    hn::LoadInterleaved3(d, reinterpret_cast<const T*>(t.row(0) + b * 3 * E), v[0], v[1], v[2]);
    for (int a = 0; a < 3; ++a) write<Writing::ahead>(v[a], d, t.column(a) + b * E);
  }
}

template <int E>
void transpose(const TransposeBlock& t) {
  constexpr std::int64_t kLanes = kBlocks * 16 / E;
  if constexpr (E <= 8) {
    if (t.col_stride == t.nb * E && t.na >= kLanes) {
      if (t.nb == 2) return interleave<E, 2>(t);
      if (t.nb == 3) return interleave<E, 3>(t);
      if (t.nb == 4) return interleave<E, 4>(t);
    }
  }
  if constexpr (E <= 4) {
    const std::int64_t run = t.na * E;
    if (t.row_stride == run && t.na >= 2 && run <= 8 && t.nb >= kLanes) {
      if constexpr (E == 1) {
        if (run <= 2) return few_columns<E, 8>(t);
      }
      if constexpr (E <= 2) {
        if (run <= 4) return few_columns<E, 4>(t);
      }
      return few_columns<E, 2>(t);
    }
  }
  if constexpr (E == 4 || E == 8) {
    if (t.row_stride == 3 * E && t.na == 3 && t.nb >= kLanes) return three_columns<E>(t);
  }
  if constexpr (E <= 2) {
    if (t.col_stride == t.nb * E && t.nb > 4 && t.nb * E <= 16 && t.na >= kLanes) {
      if constexpr (E == 1) {
        if (t.nb > 8) return few_rows<E, 16>(t);
      }
      return few_rows<E, 8>(t);
    }
  }
#if HWY_TARGET <= HWY_AVX3
  if constexpr (E == 4) {
    const auto shuffled = [](std::int64_t n) { return n >= kLeastShuffled && n <= kMostShuffled; };
    if (t.col_stride == t.nb * E && shuffled(t.nb) && t.na >= kLanes)
      return kJoinRows[t.nb - kLeastShuffled](t);
    if (t.row_stride == t.na * E && shuffled(t.na) && t.nb >= kLanes)
      return kPartColumns[t.na - kLeastShuffled](t);
  }
#endif
  if constexpr (E <= 4 && kBlocks > 1) {
    const std::int64_t column = t.nb * E;
    if (t.col_stride == column && column > 16 && column % 16 != 0 &&
        column <= (E == 1 ? kBlocks * 16 : 32) && t.na >= kLanes)
      return column <= 32 + E ? one_band<E, 2>(t) : one_band<E, kBlocks>(t);
  }
  bands<E, kBlocks>(t);
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace stowage::conversion

HWY_AFTER_NAMESPACE();

#endif
