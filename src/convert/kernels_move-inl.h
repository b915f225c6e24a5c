// SPDX-License-Identifier: Apache-2.0
// Kernels that move bytes: tile transpose, (de)interleave, runs. Compiled once an instruction set.
#if defined(STOWAGE_CONVERT_MOVE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef STOWAGE_CONVERT_MOVE_INL_H
#undef STOWAGE_CONVERT_MOVE_INL_H
#else
#define STOWAGE_CONVERT_MOVE_INL_H
#endif

#include <algorithm>
#include <array>
#include <cstring>

#include "convert/kernels.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::conversion {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <int kBytes>
struct Element;

template <>
struct Element<1> {
  using Type = std::uint8_t;
};

template <>
struct Element<2> {
  using Type = std::uint16_t;
};

template <>
struct Element<4> {
  using Type = std::uint32_t;
};

template <>
struct Element<8> {
  using Type = std::uint64_t;
};

template <>
struct Element<16> {
  using Type = std::uint64_t;
};

HWY_INLINE void prefetch_for_write(const Byte* p) {
#if defined(__GNUC__)
  __builtin_prefetch(p, 1, 3);
#else
  static_cast<void>(p);
#endif
}

#if HWY_TARGET == HWY_SCALAR || HWY_HAVE_SCALABLE

template <int E>
void transpose(const TransposeBlock& t) {
  for (std::int64_t a = 0; a < t.na; ++a) {
    for (std::int64_t b = 0; b < t.nb; ++b) std::memcpy(t.column(a) + b * E, t.row(b) + a * E, E);
  }
}

#else

/// 128-bit blocks of the widest vector.
inline constexpr int kBlocks = HWY_MAX_BYTES >= 64 ? 4 : HWY_MAX_BYTES >= 32 ? 2 : 1;

template <int E, int kB>
using TileTag =
    hn::FixedTag<typename Element<E>::Type, 16 / sizeof(typename Element<E>::Type) * kB>;

/// Whether the lines of the next band are others than those of the next columns.
inline bool far_columns(std::int64_t distance) {
  return distance >= 192 || (distance >= 128 && distance % 64 == 0);
}

/// The lines of a run that will be written soon after the one at hand.
HWY_INLINE void prefetch_ahead(const Byte* p, std::int64_t bytes) {
  constexpr std::int64_t kDistance = 320;
  for (std::int64_t i = 0; i < bytes; i += 64) prefetch_for_write(p + kDistance + i);
}

/// Rows at any place, from column `offset` on.
template <int kL>
struct AnyRows {
  const Byte* const* rows;
  std::int64_t offset;

  HWY_INLINE const Byte* at(int k, int block) const { return rows[block * kL + k] + offset; }

  template <class V>
  HWY_INLINE V arrange(V v) const {
    return v;
  }

  HWY_INLINE void next_row() {}

  HWY_INLINE void next_columns() { offset += 16; }

  HWY_INLINE void first_row() {}
};

/// Rows at equal distances: no table to read, and as few registers as it takes.
template <int kL>
struct EvenRows {
  const Byte *p0, *p1, *p2, *p3;
  std::int64_t stride, row = 0;

  EvenRows(const Byte* first, std::int64_t distance)
      : p0(first),
        p1(first + kL * distance),
        p2(first + 2 * kL * distance),
        p3(first + 3 * kL * distance),
        stride(distance) {}

  HWY_INLINE const Byte* at(int, int block) const {
    return (block == 0 ? p0 : block == 1 ? p1 : block == 2 ? p2 : p3) + row;
  }

  template <class V>
  HWY_INLINE V arrange(V v) const {
    return v;
  }

  HWY_INLINE void next_row() { row += stride; }

  HWY_INLINE void next_columns() { skip(16); }

  HWY_INLINE void first_row() { row = 0; }

  HWY_INLINE void skip(std::int64_t bytes) {
    p0 += bytes;
    p1 += bytes;
    p2 += bytes;
    p3 += bytes;
  }
};

/// Even rows whose 16 bytes are put into another order.
template <int kL, class V>
struct ArrangedRows : EvenRows<kL> {
  V order;

  ArrangedRows(const Byte* first, std::int64_t distance, V o)
      : EvenRows<kL>(first, distance), order(o) {}

  template <class W>
  HWY_INLINE W arrange(W v) const {
    return hn::TableLookupBytes(v, order);
  }
};

/// Register k of a tile: 16 bytes of each of the rows k, L + k, 2L + k, ...
template <int E, int kB, class Rows>
HWY_INLINE hn::Vec<TileTag<E, kB> > load_rows(const Rows& rows, int k) {
  using T = typename Element<E>::Type;
  const TileTag<E, kB> d;
  const auto block = [&](int b) HWY_ATTR {
    return hn::LoadU(TileTag<E, 1>(), reinterpret_cast<const T*>(rows.at(k, b)));
  };
  if constexpr (kB == 1) {
    return block(0);
  } else if constexpr (kB == 2) {
    return hn::Combine(d, block(1), block(0));
  } else {
#if HWY_TARGET <= HWY_AVX3  // an insertion from memory does not wait for the shuffle port
    __m512i v = _mm512_castsi128_si512(block(0).raw);
    v = _mm512_inserti32x4(v, block(1).raw, 1);
    v = _mm512_inserti32x4(v, block(2).raw, 2);
    return hn::Vec<TileTag<E, kB> >{_mm512_inserti32x4(v, block(3).raw, 3)};
#else
    const TileTag<E, 2> half;
    return hn::Combine(d, hn::Combine(half, block(3), block(2)),
                       hn::Combine(half, block(1), block(0)));
#endif
  }
}

/// A perfect shuffle of the lanes of kN registers within each 128-bit block, by one width of
/// interleave, repeated: kN rows of kN * n lanes become n columns of kN each, one after the other.
template <int kN, class D, class V>
HWY_INLINE void shuffle_rows(D d, V (&x)[kN]) {
  HWY_UNROLL(4)
  for (int round = 1; round < kN; round *= 2) {
    V y[kN];
    HWY_UNROLL(8)
    for (int i = 0; i < kN / 2; ++i) {
      y[2 * i] = hn::InterleaveLower(d, x[i], x[i + kN / 2]);
      y[2 * i + 1] = hn::InterleaveUpper(d, x[i], x[i + kN / 2]);
    }
    HWY_UNROLL(16)
    for (int i = 0; i < kN; ++i) x[i] = y[i];
  }
}

/// A tile of 16 / E columns by kB * 16 / E rows, of which the last kColumns are stored.
template <int E, int kB, int kColumns = 16 / E, class Rows, class Store>
HWY_INLINE void tile(Rows& rows, const Store& store) {
  constexpr int kL = 16 / E;
  const TileTag<E, kB> d;
  hn::Vec<TileTag<E, kB> > x[kL];
  HWY_UNROLL(16)
  for (int k = 0; k < kL; ++k) {
    x[k] = rows.arrange(load_rows<E, kB>(rows, k));
    rows.next_row();
  }
  rows.first_row();
  if constexpr (kL > 1) shuffle_rows<kL>(d, x);
  HWY_UNROLL(16)
  for (int j = kL - kColumns; j < kL; ++j) store(j, x[j]);
}

/// The first n < 16 bytes of a 128-bit vector.
template <class V>
HWY_INLINE void store_some(V v, Byte* p, std::int64_t n) {
  const hn::FixedTag<std::uint64_t, 2> d;
  std::uint64_t parts[2];
  hn::StoreU(hn::BitCast(d, v), d, parts);
  std::uint64_t rest = parts[0];
  if (n & 8) {
    std::memcpy(p, &rest, 8);
    p += 8;
    rest = parts[1];
  }
  if (n & 4) {
    std::memcpy(p, &rest, 4);
    p += 4;
    rest >>= 32;
  }
  if (n & 2) {
    std::memcpy(p, &rest, 2);
    p += 2;
    rest >>= 16;
  }
  if (n & 1) *p = static_cast<Byte>(rest);
}

/// What a store does besides storing.
enum class Writing : std::uint8_t {
  plain,
  ahead,   ///< the line after it is asked for
  stream,  ///< goes past the caches
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
/// order, so that each line that is late holds up all: it pays to ask for the lines of the next
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

template <int E, int kB>
void band(const TransposeBlock& t, std::int64_t b) {
  constexpr int kL = 16 / E;
  constexpr int kRows = kL * kB;
  if constexpr (kB == 1 && kBlocks > 1) {
    if (t.na >= 2 * kL) return band_wide<E>(t, b);
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
  std::int64_t b = 0;
  if (t.row_stride != 0 && t.na >= kL && t.col_stride != 0 &&
      ((E == 16 && t.na <= 2) || t.col_stride % 2048 == 0 || crowded(t.col_stride, t.na)) &&
      !crowded(t.row_stride, kL * kB))
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
/// Five to eight rows of 4 bytes whose columns follow each other without a gap: four columns of
/// them are two vectors, and two permutations of both put them in order.
inline void eight_rows(const TransposeBlock& t) {
  constexpr int kColumns = 4;
  const std::int64_t nb = t.nb;
  const Byte* rows[8];
  for (int k = 0; k < 8; ++k) rows[k] = t.row(std::min<std::int64_t>(k, nb - 1));
  alignas(64) std::int32_t order[32];
  for (int half = 0; half < 2; ++half) {
    int column = 2 * half, row = 0;
    for (int i = 0; i < 16; ++i) {
      order[16 * half + i] = row / 4 * 16 + row % 4 * 4 + std::min(column, 3);
      if (++row < nb) continue;
      row = 0;
      ++column;
    }
  }
  const __m512i first = _mm512_load_si512(order), second = _mm512_load_si512(order + 16);
  const auto four = [&](int k, std::int64_t a) HWY_ATTR {
    return load_rows<4, 4>(AnyRows<1>{rows + k, a * 4}, 0).raw;
  };
  const std::int64_t column = nb * 4;
  const auto move = [&](std::int64_t a, Byte* to) HWY_ATTR {
    prefetch_ahead(to, kColumns * column);
    const __m512i low = four(0, a), high = four(4, a);
    _mm512_storeu_si512(to, _mm512_permutex2var_epi32(low, first, high));
    _mm512_storeu_si512(to + 2 * column, _mm512_permutex2var_epi32(low, second, high));
  };
  over_columns<kColumns, 2 * 8 * 4 + 64>(t, column, 2 * column + 64, move);
}
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
    if (t.col_stride == t.nb * E && t.nb > 4 && t.nb <= 8 && t.na >= kLanes) return eight_rows(t);
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

/// Runs of a size that the compiler knows.
template <int kRun>
void copy_short(const CopyBlock& c) {
  const std::int64_t rows = c.rows, is = c.is, os = c.os;  // bytes may alias c
  const Byte* from = c.src;
  Byte* to = c.dst;
  for (std::int64_t r = 0; r < rows; ++r, from += is, to += os) std::memcpy(to, from, kRun);
}

template <int... kRun>
HWY_INLINE void copy_short_switch(const CopyBlock& c, std::integer_sequence<int, kRun...>) {
  using F = void (*)(const CopyBlock&);
  static constexpr F table[] = {copy_short<kRun>...};
  table[c.run](c);
}

#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE

/// Runs longer than 32 bytes in vectors, the last of which overlaps the one before.
void copy_vectors(const CopyBlock& c) {
  const hn::ScalableTag<Byte> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t rows = c.rows, is = c.is, os = c.os, run = c.run,
                     ahead = 8 * os;  // bytes may alias c
  const Byte* from = c.src;
  Byte* to = c.dst;
  if (run < lanes) {  // two halves
    const hn::Half<decltype(d)> half;
    const std::int64_t last = run - static_cast<std::int64_t>(hn::Lanes(half));
    for (std::int64_t r = 0; r < rows; ++r, from += is, to += os) {
      prefetch_for_write(to + ahead);
      prefetch_for_write(to + ahead + run - 1);
      const auto x = hn::LoadU(half, from), y = hn::LoadU(half, from + last);
      hn::StoreU(x, half, to);
      hn::StoreU(y, half, to + last);
    }
    return;
  }
  for (std::int64_t r = 0; r < rows; ++r, from += is, to += os) {
    std::int64_t i = 0;
    if (run <= 256) {
      prefetch_for_write(to + ahead);
      prefetch_for_write(to + ahead + run - 1);
    }
    for (; i + lanes < run; i += lanes) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
    hn::StoreU(hn::LoadU(d, from + run - lanes), d, to + run - lanes);
  }
}

/// Several runs of each row, of 32 bytes or more.
template <int kRun>
void copy_across(const CopyBlock& c) {
  using D = std::conditional_t<kRun == 32, hn::FixedTag<Byte, kBlocks == 1 ? 16 : 32>,
                               hn::FixedTag<Byte, 16 * kBlocks> >;
  const D d;
  constexpr std::int64_t kLanes = D::kPrivateN;
  const std::int64_t rows = c.rows, is = c.is, os = c.os, n = c.across, step_is = c.across_is,
                     step_os = c.across_os, run = kRun > 0 ? kRun : c.run;  // bytes may alias c
  const Byte* from = c.src;
  Byte* to = c.dst;
  for (std::int64_t r = 0; r < rows; ++r, from += is, to += os) {
    const Byte* x = from;
    Byte* y = to;
    for (std::int64_t k = 0; k < n; ++k, x += step_is, y += step_os) {
      prefetch_for_write(y + 4 * os);
      if (kRun != 32) prefetch_for_write(y + 4 * os + run - 1);
      std::int64_t i = 0;
      for (; i + kLanes < run; i += kLanes) hn::StoreU(hn::LoadU(d, x + i), d, y + i);
      hn::StoreU(hn::LoadU(d, x + run - kLanes), d, y + run - kLanes);
    }
  }
}

/// `rows` short runs that end in zeros, kPieces of 16 bytes each, of which kValid have a source. A
/// row is read past its valid bytes.
template <int kPieces, int kValid>
void copy_pieces(const CopyBlock& c, std::int64_t rows, const Byte* mask) {
  const hn::FixedTag<Byte, 16> d;
  const std::int64_t is = c.is, os = c.os;
  const auto last = hn::LoadU(d, mask + (kValid > 0 ? (kValid - 1) * 16 : 0));
  const auto zero = hn::Zero(d);
  const Byte* from = c.src;
  Byte* to = c.dst;
  for (std::int64_t r = 0; r < rows; ++r, from += is, to += os) {
    for (int i = 0; i < kPieces; ++i) {
      if (i + 1 < kValid) hn::StoreU(hn::LoadU(d, from + 16 * i), d, to + 16 * i);
      if (i + 1 == kValid) hn::StoreU(hn::And(hn::LoadU(d, from + 16 * i), last), d, to + 16 * i);
      if (i >= kValid) hn::StoreU(zero, d, to + 16 * i);
    }
  }
}

/// As copy_pieces for one piece, where the runs follow each other without a gap: a vector of them
/// at once.
HWY_INLINE void copy_dense_pieces(const CopyBlock& c, std::int64_t rows, const Byte* mask) {
  const TileTag<1, kBlocks> d;
  const auto last = hn::LoadDup128(d, mask);
  Byte* to = c.dst;
  EvenRows<1> from(c.src, c.is);
  std::int64_t r = 0;
  for (; r + kBlocks <= rows; r += kBlocks, to += 16 * kBlocks) {
    prefetch_for_write(to + 512);
    hn::StoreU(hn::And(load_rows<1, kBlocks>(from, 0), last), d, to);
    from.skip(kBlocks * c.is);
  }
  const CopyBlock rest{c.src + r * c.is, to, rows - r, c.is, c.os, c.run, c.valid, c.src_end};
  copy_pieces<1, 1>(rest, rest.rows, mask);
}

template <int... kIndex>
HWY_INLINE void copy_pieces_switch(const CopyBlock& c, std::int64_t rows, const Byte* mask,
                                   std::integer_sequence<int, kIndex...>) {
  using F = void (*)(const CopyBlock&, std::int64_t, const Byte*);
  static constexpr F table[] = {copy_pieces<kIndex / 5 + 1, kIndex % 5>...};
  table[(c.run / 16 - 1) * 5 + (c.valid + 15) / 16](c, rows, mask);
}

#if HWY_TARGET <= HWY_AVX3
/// Runs of a vector that end in zeros.
void copy_masked(const CopyBlock& c) {
  const hn::ScalableTag<Byte> d;
  const auto valid = hn::FirstN(d, static_cast<std::size_t>(c.valid));
  const std::int64_t rows = c.rows, is = c.is, os = c.os;  // bytes may alias c
  const Byte* from = c.src;
  Byte* to = c.dst;
  for (std::int64_t r = 0; r < rows; ++r, from += is, to += os) {
    prefetch_for_write(to + 8 * os);
    hn::StoreU(hn::MaskedLoad(valid, d, from), d, to);
  }
}
#endif

/// How many rows may be read for `reach` bytes each without passing the end of the source.
inline std::int64_t rows_with_room(const CopyBlock& c, std::int64_t reach) {
  const std::int64_t room = c.src_end - c.src - reach;
  if (c.is < 0 || room < 0) return 0;
  return c.is == 0 ? c.rows : std::min(c.rows, room / c.is + 1);
}

/// Runs of one word that end in zeros. A row is read past its valid bytes, the source is not.
template <class Word>
void copy_words(const CopyBlock& c) {
  const std::int64_t rows = c.rows, is = c.is, os = c.os;  // bytes may alias c
  const Byte* from = c.src;
  Byte* to = c.dst;
  Byte bytes[sizeof(Word)] = {};
  std::memset(bytes, 0xff, static_cast<std::size_t>(c.valid));
  Word mask;
  std::memcpy(&mask, bytes, sizeof mask);
  const std::int64_t safe = rows_with_room(c, sizeof(Word));
  for (std::int64_t r = 0; r < safe; ++r, from += is, to += os) {
    Word word;
    std::memcpy(&word, from, sizeof word);
    word = static_cast<Word>(word & mask);
    std::memcpy(to, &word, sizeof word);
  }
  for (std::int64_t r = safe; r < rows; ++r, from += is, to += os) {
    Word word = 0;
    std::memcpy(&word, from, static_cast<std::size_t>(c.valid));
    std::memcpy(to, &word, sizeof word);
  }
}

/// Short runs that end in zeros. Not read past the end of the source.
void copy_padded(const CopyBlock& c) {
  if (c.run == 8) return copy_words<std::uint64_t>(c);
  if (c.run == 4) return copy_words<std::uint32_t>(c);
  if (c.run == 2) return copy_words<std::uint16_t>(c);
  const hn::FixedTag<Byte, 16> d;
  alignas(16) Byte mask[64];
  for (std::int64_t i = 0; i < 64; ++i) mask[i] = i < c.valid ? 0xff : 0;
  const std::int64_t reach = (c.valid + 15) / 16 * 16, run = c.run;
  std::int64_t row = 0;
  if (run % 16 == 0) {
    row = rows_with_room(c, reach);
    if (run == 16 && c.os == 16 && c.valid > 0) {
      copy_dense_pieces(c, row, mask);
    } else {
      copy_pieces_switch(c, row, mask, std::make_integer_sequence<int, 20>{});
    }
  }
  Byte copy[64];
  for (; row < c.rows; ++row) {
    const Byte* from = c.src + row * c.is;
    Byte* const to = c.dst + row * c.os;
    if (c.src_end - from < reach) {
      std::memcpy(copy, from, static_cast<std::size_t>(c.valid));
      from = copy;
    }
    for (std::int64_t i = 0; i < run; i += 16) {
      const auto v =
          i < c.valid ? hn::And(hn::LoadU(d, from + i), hn::Load(d, mask + i)) : hn::Zero(d);
      if (run - i >= 16) {
        hn::StoreU(v, d, to + i);
      } else {
        store_some(v, to + i, run - i);
      }
    }
  }
}

#endif

void copy_rows(const CopyBlock& c) {
  if (c.across > 1) {
#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE
    if (c.valid == c.run && c.run == 32) return copy_across<32>(c);
    if (c.valid == c.run && c.run == 64) return copy_across<64>(c);
    if (c.valid == c.run && c.run > 64 && c.run <= 512) return copy_across<0>(c);
#endif
    CopyBlock one = c;
    one.across = 1;
    for (std::int64_t k = 0; k < c.across; ++k, one.src += c.across_is, one.dst += c.across_os)
      copy_rows(one);
    return;
  }
  if (c.valid == c.run && c.run <= 32)
    return copy_short_switch(c, std::make_integer_sequence<int, 33>{});
#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE
  if (c.valid == c.run && c.run <= 1024) return copy_vectors(c);
#if HWY_TARGET <= HWY_AVX3
  if (c.run == 64) return copy_masked(c);
#endif
  if (c.run <= 64) return copy_padded(c);
#endif
  const Byte* from = c.src;
  Byte* to = c.dst;
  const auto valid = static_cast<std::size_t>(c.valid),
             rest = static_cast<std::size_t>(c.run - c.valid);
  for (std::int64_t r = 0; r < c.rows; ++r, from += c.is, to += c.os) {
    if (valid > 0) std::memcpy(to, from, valid);
    if (rest > 0) std::memset(to + valid, 0, rest);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace stowage::conversion

HWY_AFTER_NAMESPACE();

#endif
