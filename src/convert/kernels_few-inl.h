// SPDX-License-Identifier: Apache-2.0
// Transpositions that fill no tile: few rows, few columns, interleaves.
#if defined(STOWAGE_CONVERT_FEW_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef STOWAGE_CONVERT_FEW_INL_H
#undef STOWAGE_CONVERT_FEW_INL_H
#else
#define STOWAGE_CONVERT_FEW_INL_H
#endif

#include <algorithm>
#include <array>
#include <cstring>

#include "convert/kernels_transpose-inl.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::conversion {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR

/// kRows rows of na become one row of na * kRows: a vector of each at a time.
template <int E, int kRows>
void interleave(const TransposeBlock& t) {
  using T = typename Element<E>::Type;
  const TileTag<E, kBlocks> d;
  const Byte* rows[kRows];
  for (int k = 0; k < kRows; ++k) rows[k] = t.row(k);
  Byte* const first = t.cols[0];
  const bool ahead = t.tuning->prefetch_for_write;
  const auto move = [&](std::int64_t a) HWY_ATTR {
    const auto row = [&](int k) HWY_ATTR {
      return hn::LoadU(d, reinterpret_cast<const T*>(rows[k] + a * E));
    };
    Byte* const at = first + a * kRows * E;
    if (ahead) prefetch_ahead(at, kBlocks * 16 * kRows);
    T* const to = reinterpret_cast<T*>(at);
    if constexpr (kRows == 2) hn::StoreInterleaved2(row(0), row(1), d, to);
    if constexpr (kRows == 3) hn::StoreInterleaved3(row(0), row(1), row(2), d, to);
    if constexpr (kRows == 4) hn::StoreInterleaved4(row(0), row(1), row(2), row(3), d, to);
  };
  // Bytes, and three rows, gain nothing by another order.
  E > 1 && kRows != 3 ? in_steps<kVector<E> >(t.na, t.order_of_steps(), move)
                      : in_steps<kVector<E> >(t.na, move);
}

using Order = std::array<Byte, 16>;  ///< of bytes; 0x80: zero
using Orders = std::array<Order, 17>;

/// kM rows of n bytes, one after the other, as columns of kM bytes; by n.
template <int kM>
constexpr Orders spread_orders() {
  Orders out{};
  for (int n = 1; n * kM <= 16; ++n) {
    for (int i = 0; i < 16; ++i) {
      const int column = i / kM, row = i % kM;
      out[static_cast<std::size_t>(n)][static_cast<std::size_t>(i)] =
          static_cast<Byte>(column < n ? row * n + column : 0x80);
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

/// Dense rows of so few bytes that kM of them are read at once, as one row of a tile whose elements
/// have kM bytes.
template <int kM>
void few_columns(const TransposeBlock& t) {
  constexpr int kL = 16 / kM;
  constexpr std::int64_t kRows = kVector<1>;
  const TileTag<kM, kBlocks> d;
  const std::int64_t na = t.na;
  static constexpr auto kOrders = spread_orders<kM>();
  const hn::Repartition<Byte, TileTag<kM, kBlocks> > bytes;
  const auto pattern =
      hn::BitCast(d, hn::LoadDup128(bytes, kOrders[static_cast<std::size_t>(na)].data()));
  const bool ahead = t.tuning->prefetch_for_write;
  Byte* to[kL];  // bytes may alias t
  for (int j = 0; j < kL; ++j) to[j] = j < na ? t.column(j) : nullptr;
  const auto move = [&](const Byte* from, std::int64_t b) HWY_ATTR {
    ArrangedRows<kL, decltype(pattern)> rows(from, kM * na, pattern);
    tile<kM, kBlocks>(rows, [&](int j, auto v) HWY_ATTR {
      if (j < na) write(v, d, to[j] + b, ahead);
    });
  };
  // The last piece of a tile reads 16 bytes, whatever it needs.
  const std::int64_t reach = (kRows - kM) * na + 16;
  for (std::int64_t next = 0; next < t.nb; next += kRows) {
    const std::int64_t b = std::min(next, t.nb - kRows);
    const Byte* const from = t.row(0) + b * na;
    if (t.src_end - from >= reach) {
      move(from, b);
    } else {
      alignas(64) Byte copy[kRows * 16 + 16];
      std::memcpy(copy, from, static_cast<std::size_t>(kRows * na));
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
  const bool ahead = t.tuning->prefetch_for_write;
  const auto move = [&](std::int64_t a, Byte* to) HWY_ATTR {
    if (ahead) prefetch_ahead(to, kColumns * column);
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

#if HWY_TARGET <= HWY_AVX3
/// kB * 16 / E rows by twice as many columns as a tile has, each `column` bytes behind the one
/// before, over whose end it is written.
template <int E, int kB>
HWY_INLINE void write_wide(AnyRows<16 / E> rows, Byte* to, std::int64_t column) {
  constexpr int kL = 16 / E;
  if constexpr (kB == 4) return half_square<E, Writing::plain, true>(rows, to, column);
  using T = typename Element<E>::Type;
  const TileTag<E, 4> d;
  const hn::Half<TileTag<E, 4> > half;
  hn::Vec<TileTag<E, 4> > x[kL];
  auto from = rows.pair(0);
  HWY_UNROLL(16)
  for (int k = 0; k < kL; ++k, from.step()) x[k].raw = load_halves(from.low(), from.high());
  shuffle_rows<kL>(d, x);
  HWY_UNROLL(16)
  for (int k = 0; k < kL; ++k, to += column) {  // each half is a column
    x[k].raw = _mm512_shuffle_i32x4(x[k].raw, x[k].raw, 0xd8);
    hn::StoreU(hn::LowerHalf(half, x[k]), half, reinterpret_cast<T*>(to));
  }
  HWY_UNROLL(16)
  for (int k = 0; k < kL; ++k, to += column)
    hn::StoreU(hn::UpperHalf(half, x[k]), half, reinterpret_cast<T*>(to));
}
#endif

/// Rows that fill no band, whose columns follow each other without a gap: a whole band is written,
/// each column over the end of the one before. One row more than a band is copied element by
/// element. `kWide`: twice as many columns at once.
template <int E, int kB, bool kWide>
void one_band_as(const TransposeBlock& t) {
  constexpr int kL = 16 / E, kRows = kL * kB, kColumns = kWide ? 2 * kL : kL;
  using T = typename Element<E>::Type;
  const TileTag<E, kB> d;
  const std::int64_t column = t.nb * E;
  const Byte* table[kRows];
  for (int k = 0; k < kRows; ++k) table[k] = t.row(std::min<std::int64_t>(k, t.nb - 1));
  const bool ahead = t.tuning->prefetch_for_write;
  const auto move = [&](std::int64_t a, Byte* to) HWY_ATTR {
    if (ahead) prefetch_ahead(to, kColumns * column);
    AnyRows<kL> rows{table, a * E};
    Byte* const first = to;
#if HWY_TARGET <= HWY_AVX3
    if constexpr (kWide) write_wide<E, kB>(rows, to, column);
#endif
    if constexpr (!kWide) {
      tile<E, kB>(rows, [&](int, auto v) HWY_ATTR {
        hn::StoreU(v, d, reinterpret_cast<T*>(to));
        to += column;
      });
    }
    if (t.nb > kRows) {
      const Byte* const row = t.row(kRows) + a * E;
      Byte* end = first + kRows * E;
      HWY_UNROLL(16)
      for (int k = 0; k < kColumns; ++k, end += column) std::memcpy(end, row + k * E, E);
    }
  };
  over_columns<kColumns, (kColumns + 1) * kB * 16>(t, column, (kColumns - 1) * column + kB * 16,
                                                   move);
}

/// Wide where loads in pieces are better; elsewhere shuffles of whole vectors have one port.
template <int E, int kB>
void one_band(const TransposeBlock& t) {
  constexpr bool kWhole = E == 2 && kB == 4;
  if constexpr (kBlocks == 4 && E < 4) {
    if (t.tuning->loads_pieces()) return one_band_as<E, kB, true>(t);
  }
  if constexpr (kWhole) return bands<E, kBlocks>(t);
  if constexpr (!kWhole) one_band_as<E, kB, false>(t);
}

/// One row of kColumns columns, interleaved, becomes as many.
template <int E, int kColumns>
void deinterleave(const TransposeBlock& t) {
  using T = typename Element<E>::Type;
  const TileTag<E, kBlocks> d;
  const Byte* const from = t.row(0);
  Byte* to[kColumns];  // bytes may alias t
  for (int a = 0; a < kColumns; ++a) to[a] = t.column(a);
  const bool ahead = t.tuning->prefetch_for_write;
  in_steps<kVector<E> >(t.nb, [&](std::int64_t b) HWY_ATTR {
    hn::Vec<decltype(d)> v[kColumns];
    const T* const at = reinterpret_cast<const T*>(from + b * kColumns * E);
    if constexpr (kColumns == 2) hn::LoadInterleaved2(d, at, v[0], v[1]);
    if constexpr (kColumns == 3) hn::LoadInterleaved3(d, at, v[0], v[1], v[2]);
    if constexpr (kColumns == 4) hn::LoadInterleaved4(d, at, v[0], v[1], v[2], v[3]);
    HWY_UNROLL(4)
    for (int a = 0; a < kColumns; ++a) write(v[a], d, to[a] + b * E, ahead);
  });
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace stowage::conversion

HWY_AFTER_NAMESPACE();

#endif
