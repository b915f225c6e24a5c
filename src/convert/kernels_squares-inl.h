// SPDX-License-Identifier: Apache-2.0
// Squares of rows and columns that fill whole lines.
#if defined(STOWAGE_CONVERT_SQUARES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef STOWAGE_CONVERT_SQUARES_INL_H
#undef STOWAGE_CONVERT_SQUARES_INL_H
#else
#define STOWAGE_CONVERT_SQUARES_INL_H
#endif

#include <algorithm>

#include "base/checked.h"
#include "convert/kernels_columns-inl.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::conversion {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR

/// Columns at equal distances, one after the other.
struct EvenColumns {
  Byte* to;
  std::int64_t stride;

  HWY_INLINE Byte* at() const { return to; }

  HWY_INLINE void step() { to += stride; }
};

/// Columns at any place, from byte `offset` on.
struct AnyColumns {
  Byte* const* table;
  std::int64_t offset;

  HWY_INLINE Byte* at() const { return *table + offset; }

  HWY_INLINE void step() { ++table; }
};

/// As many rows as a vector has lanes, and as many columns: each line is read once.
template <int E, Writing kWriting, class Rows, class Columns>
HWY_INLINE void square_to(Rows rows, Columns columns) {
  constexpr int kL = 16 / E;
  using T = typename Element<E>::Type;
  const TileTag<E, kBlocks> d;
  using V = hn::Vec<TileTag<E, kBlocks> >;
  V x[kBlocks][kL];
  HWY_UNROLL(4)
  for (int k = 0; k < kL; ++k) {
    if constexpr (kBlocks == 2) {  // inserting from memory is cheaper than moving halves afterwards
      const TileTag<E, 1> half;
      HWY_UNROLL(2)
      for (int g = 0; g < kBlocks; ++g) {
        const auto load = [&](int block) HWY_ATTR {
          return hn::LoadU(half, reinterpret_cast<const T*>(rows.at(k, block) + 16 * g));
        };
        x[g][k] = hn::Combine(d, load(1), load(0));
      }
    } else {
#if HWY_TARGET <= HWY_AVX3
      HWY_UNROLL(2)
      for (int half = 0; half < 2; ++half) {
        const __m512i y = load_halves(rows.at(k, 0) + 32 * half, rows.at(k, 1) + 32 * half),
                      z = load_halves(rows.at(k, 2) + 32 * half, rows.at(k, 3) + 32 * half);
        x[2 * half][k] = V{_mm512_shuffle_i32x4(y, z, 0x88)};
        x[2 * half + 1][k] = V{_mm512_shuffle_i32x4(y, z, 0xdd)};
      }
#endif
    }
    rows.step_row();
  }
  HWY_UNROLL(4)
  for (int g = 0; g < kBlocks; ++g) {
    if constexpr (kL > 1) shuffle_rows<kL>(d, x[g]);
    HWY_UNROLL(4)
    for (int k = 0; k < kL; ++k, columns.step()) write<kWriting>(x[g][k], d, columns.at());
  }
}

template <int E, Writing kWriting, class Rows>
HWY_INLINE void square(const Rows& rows, Byte* to, std::int64_t stride) {
  square_to<E, kWriting>(rows, EvenColumns{to, stride});
}

#if HWY_TARGET <= HWY_AVX3
/// 16 / E lines, interleaved within each 16 bytes: those of column g * 16 / E + k are the 16 bytes
/// g of register k. By name: compilers keep arrays of registers in memory where they unroll late.
template <int E, class Rows>
HWY_INLINE void load_lines(const Rows& rows, __m512i& a, __m512i& b, __m512i& c, __m512i& d) {
  a = _mm512_loadu_si512(rows.line(0));
  asm("" : "+v"(a));  // once: compilers would load it for each of its uses
  if constexpr (E == 8) {
    __m512i p = a, q = _mm512_loadu_si512(rows.line(1));
    asm("" : "+v"(q));
    a = _mm512_unpacklo_epi64(p, q);
    b = _mm512_unpackhi_epi64(p, q);
  }
  if constexpr (E == 4) {
    __m512i p = a, q = _mm512_loadu_si512(rows.line(1)), r = _mm512_loadu_si512(rows.line(2)),
            s = _mm512_loadu_si512(rows.line(3));
    asm("" : "+v"(q), "+v"(r), "+v"(s));
    const __m512i low0 = _mm512_unpacklo_epi32(p, q), high0 = _mm512_unpackhi_epi32(p, q),
                  low1 = _mm512_unpacklo_epi32(r, s), high1 = _mm512_unpackhi_epi32(r, s);
    a = _mm512_unpacklo_epi64(low0, low1);
    b = _mm512_unpackhi_epi64(low0, low1);
    c = _mm512_unpacklo_epi64(high0, high1);
    d = _mm512_unpackhi_epi64(high0, high1);
  }
}

/// Four columns, of which each register has 16 bytes of all; store(v, i) is column i.
template <class Store>
HWY_INLINE void store_quarters(__m512i p, __m512i q, __m512i r, __m512i s, const Store& store) {
  const __m512i even0 = _mm512_shuffle_i32x4(p, q, 0x88), odd0 = _mm512_shuffle_i32x4(p, q, 0xdd),
                even1 = _mm512_shuffle_i32x4(r, s, 0x88), odd1 = _mm512_shuffle_i32x4(r, s, 0xdd);
  store(_mm512_shuffle_i32x4(even0, even1, 0x88), 0);
  store(_mm512_shuffle_i32x4(odd0, odd1, 0x88), 1);
  store(_mm512_shuffle_i32x4(even0, even1, 0xdd), 2);
  store(_mm512_shuffle_i32x4(odd0, odd1, 0xdd), 3);
  asm("" ::: "memory");  // stores between shuffles: compilers would put all of them at the end
}

/// 16 bytes of each of two vectors in turn: of their lower halves, and of their upper ones.
HWY_INLINE void interleave_quarters(__m512i x, __m512i y, __m512i& low, __m512i& high) {
  low = _mm512_permutex2var_epi64(x, _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), y);
  high = _mm512_permutex2var_epi64(x, _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15), y);
}

template <Writing kWriting>
HWY_INLINE void store_lines(__m512i p, __m512i q, __m512i r, __m512i s, Byte* to,
                            std::int64_t stride) {
  const TileTag<16, 4> d;
  using V = hn::Vec<decltype(d)>;
  store_quarters(p, q, r, s, [&](__m512i v, std::int64_t i) HWY_ATTR {
    write<kWriting>(V{v}, d, to + i * stride);
  });
}
#endif

/// The same for rows near each other, or such that the L1 does not hold lines of all of them: whole
/// lines in their order, which takes more shuffles and fewer loads.
template <int E, Writing kWriting, class Rows>
HWY_INLINE void square_of_lines(Rows rows, Byte* to, std::int64_t stride) {
#if HWY_TARGET <= HWY_AVX3
  constexpr int kL = 16 / E;
  __m512i a0, b0, c0, d0, a1, b1, c1, d1, a2, b2, c2, d2, a3, b3, c3, d3;
  load_lines<E>(rows, a0, b0, c0, d0);
  rows.next_lines();
  load_lines<E>(rows, a1, b1, c1, d1);
  rows.next_lines();
  load_lines<E>(rows, a2, b2, c2, d2);
  rows.next_lines();
  load_lines<E>(rows, a3, b3, c3, d3);
  store_lines<kWriting>(a0, a1, a2, a3, to, kL * stride);
  if constexpr (kL >= 2) store_lines<kWriting>(b0, b1, b2, b3, to + stride, kL * stride);
  if constexpr (kL == 4) store_lines<kWriting>(c0, c1, c2, c3, to + 2 * stride, kL * stride);
  if constexpr (kL == 4) store_lines<kWriting>(d0, d1, d2, d3, to + 3 * stride, kL * stride);
#else
  square<E, kWriting>(rows, to, stride);
#endif
}

/// Either; `kWhole`: lines of the source are loaded whole.
template <int E, Writing kWriting, bool kWhole, class Rows>
HWY_INLINE void square_at(const Rows& rows, Byte* to, std::int64_t stride) {
  if constexpr (kWhole) return square_of_lines<E, kWriting>(rows, to, stride);
  square<E, kWriting>(rows, to, stride);
}

#if HWY_TARGET <= HWY_AVX3
/// As many rows as a vector has lanes, and half as many columns: elements of which a square would
/// take more registers than there are. load(p, q) are so many elements of each of two rows,
/// store(v, i) is column i. `kInOrder`: columns are stored in their order. Columns from `columns`
/// on, at least half of them, are read and thrown away.
template <int E, bool kInOrder, class Rows, class Load, class Store>
HWY_INLINE void half_square(Rows rows, std::int64_t columns, const Load& load, const Store& store) {
  constexpr int kL = 16 / E;
  const TileTag<E, kBlocks> d;
  using V = hn::Vec<TileTag<E, kBlocks> >;
  V x[2][kL];
  HWY_UNROLL(2)
  for (int half = 0; half < 2; ++half) {
    auto from = rows.pair(half);
    HWY_UNROLL(16)
    for (int k = 0; k < kL; ++k, from.step()) x[half][k] = V{load(from.low(), from.high())};
    shuffle_rows<kL>(d, x[half]);
  }
  // The 16 bytes g of x[half][k] are kL rows of column g % 2 * kL + k.
  const auto first = [&](int k) HWY_ATTR {
    store(V{_mm512_shuffle_i32x4(x[0][k].raw, x[1][k].raw, 0x88)}, k);
  };
  const auto second = [&](int k) HWY_ATTR {
    if (kL + k >= columns) return;
    store(V{_mm512_shuffle_i32x4(x[0][k].raw, x[1][k].raw, 0xdd)}, kL + k);
  };
  HWY_UNROLL(16)
  for (int k = 0; k < kL; ++k) {
    first(k);
    if constexpr (!kInOrder) second(k);
  }
  if constexpr (kInOrder) {
    HWY_UNROLL(16)
    for (int k = 0; k < kL; ++k) second(k);
  }
}

/// The same as it is; `kInOrder`: each column may be written over the end of the one before.
template <int E, Writing kWriting, bool kInOrder = false, class Rows>
HWY_INLINE void half_square(const Rows& rows, Byte* to, std::int64_t stride,
                            std::int64_t columns = 32 / E) {
  const TileTag<E, kBlocks> d;
  half_square<E, kInOrder>(
      rows, columns, [](const Byte* p, const Byte* q) HWY_ATTR { return load_halves(p, q); },
      [&](auto v, std::int64_t i) HWY_ATTR { write<kWriting>(v, d, to + i * stride); });
}
#endif

/// Calls f(i) for kN of n at a time, at least kN; the last kN overlap those before where they must.
template <std::int64_t kN, class F>
HWY_INLINE void in_steps(std::int64_t n, const F& f) {
  std::int64_t i = 0;
  for (; i + kN <= n; i += kN) f(i);
  if (i < n) f(n - kN);
}

/// The same in either order.
template <std::int64_t kN, class F>
HWY_INLINE void in_steps(std::int64_t n, StepOrder order, const F& f) {
  if (order == StepOrder::straight) return in_steps<kN>(n, f);
  const std::int64_t steps = ceil_div(n, kN);
  for (std::int64_t i = 0; i < steps; ++i) f(std::min(step_at(order, i, steps) * kN, n - kN));
}

/// Rows and columns of what is moved at once, so that lines of the destination are filled.
template <int E>
constexpr std::int64_t kLineRows = kLine / E;
template <int E>
constexpr std::int64_t kLineColumns = columns_of_square(E);

/// Where rows at equal distances begin; moving on is one addition.
template <int kL>
struct EvenPlace {
  static constexpr bool kEven = true;
  const Byte* first;
  std::int64_t distance;

  HWY_INLINE EvenRows<kL> rows() const { return EvenRows<kL>(first, distance); }

  HWY_INLINE void skip_columns(std::int64_t bytes) { first += bytes; }

  HWY_INLINE void skip_rows(std::int64_t n) { first += n * distance; }
};

/// The same of rows at any place.
template <int kL>
struct AnyPlace {
  static constexpr bool kEven = false;
  const Byte* const* table;
  std::int64_t offset;

  HWY_INLINE AnyRows<kL> rows() const { return AnyRows<kL>{table, offset}; }

  HWY_INLINE void skip_columns(std::int64_t bytes) { offset += bytes; }

  HWY_INLINE void skip_rows(std::int64_t n) { table += n; }
};

/// kLineRows by kLineColumns. `kWhole`: lines of the source are loaded whole.
template <int E, Writing kWriting, bool kWhole, class Place>
HWY_INLINE void fill_lines(Place from, Byte* to, std::int64_t stride) {
  if constexpr (kBlocks == 4) {
#if HWY_TARGET <= HWY_AVX3
    if constexpr (E < 4) return half_square<E, kWriting>(from.rows(), to, stride);
#endif
    square_at<E, kWriting, kWhole>(from.rows(), to, stride);
  } else {
    constexpr std::int64_t kN = kVector<E>;
    for (std::int64_t a = 0; a < kLineColumns<E>; a += kN) {
      Place rows = from;
      for (std::int64_t b = 0; b < kLineRows<E>; b += kN) {
        square<E, kWriting>(rows.rows(), to + b * E, stride);
        rows.skip_rows(kN);
      }
      from.skip_columns(kN * E);
      to += kN * stride;
    }
  }
}

#if HWY_TARGET <= HWY_AVX3
/// As many columns of bytes as a half square has, each to the last row; `rows` are those of a
/// square at least, and the square at the end overlaps another where it must. The first half of
/// each is loaded while the one before is stored. `kSpare`: columns from `columns` on are thrown
/// away, as half_square does.
template <Writing kWriting, bool kSpare = false, class Place>
HWY_NOINLINE void squares_of_bytes(const Place& first, Byte* to, std::int64_t rows,
                                   std::int64_t stride, StepOrder order,
                                   std::int64_t columns = kLineColumns<1>) {
  constexpr int E = 1, kL = 16;
  constexpr std::int64_t kN = kLineRows<E>;
  const TileTag<E, kBlocks> d;
  using V = hn::Vec<TileTag<E, kBlocks> >;
  V x[kL], y[kL];
  const std::int64_t n = ceil_div(rows, kN);
  const auto row = [&](std::int64_t i) { return std::min(step_at(order, i, n) * kN, rows - kN); };
  std::int64_t b = row(0);
  Place from = first;
  from.skip_rows(b);
  auto low = from.rows().pair(0);
  HWY_UNROLL(16)
  for (int k = 0; k < kL; ++k, low.step()) x[k] = V{load_halves(low.low(), low.high())};
  for (std::int64_t i = 1;; ++i) {
    shuffle_rows<kL>(d, x);
    auto high = from.rows().pair(1);
    HWY_UNROLL(16)
    for (int k = 0; k < kL; ++k, high.step()) y[k] = V{load_halves(high.low(), high.high())};
    shuffle_rows<kL>(d, y);
    Byte* column = to + b * E;
    const auto store = [&](int k) HWY_ATTR {
      write<kWriting>(V{_mm512_shuffle_i32x4(x[k].raw, y[k].raw, 0x88)}, d, column);
      if (!kSpare || kL + k < columns)
        write<kWriting>(V{_mm512_shuffle_i32x4(x[k].raw, y[k].raw, 0xdd)}, d, column + kL * stride);
      column += stride;
      asm("" : "+r"(column));  // step by step, as rows are
    };
    if (i == n) {
      HWY_UNROLL(16)
      for (int k = 0; k < kL; ++k) store(k);
      return;
    }
    b = row(i);
    from = first;
    from.skip_rows(b);
    low = from.rows().pair(0);
    HWY_UNROLL(16)
    for (int k = 0; k < kL; ++k, low.step()) {
      store(k);
      x[k] = V{load_halves(low.low(), low.high())};
    }
  }
}
#endif

#endif

}  // namespace HWY_NAMESPACE
}  // namespace stowage::conversion

HWY_AFTER_NAMESPACE();

#endif
