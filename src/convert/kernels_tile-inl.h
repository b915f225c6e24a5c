// SPDX-License-Identifier: Apache-2.0
// 16 bytes of each of many rows as registers: what kernels that move bytes are made of.
#if defined(STOWAGE_CONVERT_TILE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef STOWAGE_CONVERT_TILE_INL_H
#undef STOWAGE_CONVERT_TILE_INL_H
#else
#define STOWAGE_CONVERT_TILE_INL_H
#endif

#include <array>
#include <cstdint>
#include <cstring>

#include "convert/kernels.h"
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
#if HWY_ARCH_X86_64 && !defined(__PRFCHW__)
#error "without -mprfchw compilers prefetch for reading instead, and stores wait once more"
#endif
  __builtin_prefetch(p, 1, 3);
#else
  static_cast<void>(p);
#endif
}

/// How far ahead that is done where runs follow each other in the destination.
constexpr std::int64_t kAheadOfDense = 512;

/// Whether so many runs of so many bytes do, `distance` apart, in rows that do as well or are long.
inline bool is_dense(std::int64_t run, std::int64_t distance, std::int64_t n, std::int64_t rows) {
  return distance == run && (rows == n * run || n * run >= 2 * kAheadOfDense);
}

/// Bytes of the narrowest elements that are moved in squares of whole lines.
inline constexpr int kLeastOfSquares = HWY_MAX_BYTES >= 64 ? 1 : 4;
/// The same of squares whose sides are lines; wider than any where there are none.
inline constexpr int kLeastOfLineSquares = HWY_MAX_BYTES >= 64 ? 4 : 32;

/// The order of kN bytes, or words, that takes pieces of n of them, `from` apart in the source, to
/// where they are `to` apart. What lies between them, or comes from behind the source, is 0x80,
/// which makes a zero of a byte.
template <class T, int kN>
std::array<T, kN> order_of_pieces(std::int64_t n, std::int64_t from, std::int64_t to) {
  std::array<T, kN> order;
  order.fill(T{0x80});
  for (std::int64_t piece = 0; piece * to < kN; ++piece) {
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t at = piece * from + i, place = piece * to + i;
      if (at < kN && place < kN) order[static_cast<std::size_t>(place)] = static_cast<T>(at);
    }
  }
  return order;
}

/// The first bytes of each of four rows.
template <std::size_t kMost>
HWY_INLINE void copy_four(const Byte* p, const Byte* q, const Byte* r, const Byte* s,
                          std::size_t bytes, Byte (&to)[4][kMost]) {
  std::memcpy(to[0], p, bytes);
  std::memcpy(to[1], q, bytes);
  std::memcpy(to[2], r, bytes);
  std::memcpy(to[3], s, bytes);
}

#if HWY_TARGET != HWY_SCALAR

/// 128-bit blocks of the widest vector.
inline constexpr int kBlocks = HWY_MAX_BYTES >= 64 ? 4 : HWY_MAX_BYTES >= 32 ? 2 : 1;

/// Elements of a vector.
template <int E>
constexpr std::int64_t kVector = kBlocks * 16 / E;

template <int E, int kB>
using TileTag =
    hn::FixedTag<typename Element<E>::Type, 16 / sizeof(typename Element<E>::Type) * kB>;

/// Rows at any place, from column `offset` on.
template <int kL>
struct AnyRows {
  static constexpr bool kPairs = false;
  const Byte* const* rows;
  std::int64_t offset;

  /// Row block * kL + k; for even rows k is that of next_row.
  HWY_INLINE const Byte* at(int k, int block) const { return rows[block * kL + k] + offset; }

  template <class V>
  HWY_INLINE V arrange(V v) const {
    return v;
  }

  HWY_INLINE void next_row() {}

  HWY_INLINE void step_row() {}

  /// Rows k and kL + k of a half.
  struct Pair {
    const Byte* const* rows;
    std::int64_t offset;

    HWY_INLINE const Byte* low() const { return rows[0] + offset; }

    HWY_INLINE const Byte* high() const { return rows[kL] + offset; }

    HWY_INLINE void step() {
      ++rows;
#if defined(__GNUC__)
      asm("" : "+r"(rows));  // compilers would keep more addresses than there are registers
#endif
    }
  };

  HWY_INLINE Pair pair(int half) const { return {rows + 2 * kL * half, offset}; }

  HWY_INLINE void next_columns() { offset += 16; }

  HWY_INLINE void first_row() {}
};

/// Rows at equal distances: no table to read, and as few registers as it takes.
template <int kL>
struct EvenRows {
  static constexpr bool kPairs = false;
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

  /// The same for good, and step by step: compilers would rather compute each row's address ahead
  /// of the loop, more of them than there are registers.
  HWY_INLINE void step_row() {
    skip(stride);
#if defined(__GNUC__)
    asm("" : "+r"(p0), "+r"(p1), "+r"(p2), "+r"(p3));
#endif
  }

  /// Rows k and kL + k of a half, step by step likewise.
  struct Pair {
    const Byte *p, *q;
    std::int64_t stride;

    HWY_INLINE const Byte* low() const { return p; }

    HWY_INLINE const Byte* high() const { return q; }

    HWY_INLINE void step() {
      p += stride;
      q += stride;
#if defined(__GNUC__)
      asm("" : "+r"(p), "+r"(q));
#endif
    }
  };

  HWY_INLINE Pair pair(int half) const {
    return half == 0 ? Pair{p0, p1, stride} : Pair{p2, p3, stride};
  }

  /// Of the first kL rows, and the kL behind them: all rows in their order.
  HWY_INLINE const Byte* line(int k) const { return p0 + k * stride; }

  HWY_INLINE void next_lines() {
    p0 += kL * stride;
#if defined(__GNUC__)
    asm("" : "+r"(p0));
#endif
  }

  HWY_INLINE void next_columns() { skip(16); }

  HWY_INLINE void first_row() { row = 0; }

  HWY_INLINE void skip(std::int64_t bytes) {
    p0 += bytes;
    p1 += bytes;
    p2 += bytes;
    p3 += bytes;
  }
};

/// Likewise for processors where insertions into a whole vector are the dear ones: of 64 bytes, the
/// second half is put together by itself.
template <int kL>
struct PairedRows : EvenRows<kL> {
  static constexpr bool kPairs = true;
  using EvenRows<kL>::EvenRows;

  HWY_INLINE void next_row() {
    this->row += this->stride;
#if defined(__GNUC__)
    if constexpr (kL >= 8) asm("" : "+r"(this->row));  // step by step
#endif
  }
};

/// Rows that follow each other without a gap, kBytes long.
template <int kL, std::int64_t kBytes>
struct DenseRows {
  const Byte* first;

  HWY_INLINE const Byte* at(int k, int block) const { return first + (block * kL + k) * kBytes; }

  HWY_INLINE void step_row() {}

  HWY_INLINE const Byte* line(int k) const { return first + k * kBytes; }

  HWY_INLINE void next_lines() { first += kL * kBytes; }
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
    if constexpr (Rows::kPairs) {
      const TileTag<E, 2> half;
      const __m256i low = hn::Combine(half, block(1), block(0)).raw,
                    high = hn::Combine(half, block(3), block(2)).raw;
      return hn::Vec<TileTag<E, kB> >{_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1)};
    } else {
      __m512i v = _mm512_castsi128_si512(block(0).raw);
      v = _mm512_inserti32x4(v, block(1).raw, 1);
      v = _mm512_inserti32x4(v, block(2).raw, 2);
      return hn::Vec<TileTag<E, kB> >{_mm512_inserti32x4(v, block(3).raw, 3)};
    }
#else
    const TileTag<E, 2> half;
    return hn::Combine(d, hn::Combine(half, block(3), block(2)),
                       hn::Combine(half, block(1), block(0)));
#endif
  }
}

#if HWY_TARGET <= HWY_AVX3
/// 32 bytes from p, and behind them 32 from q: an insertion from memory does not wait for the
/// shuffle port.
HWY_INLINE __m512i load_halves(const Byte* p, const Byte* q) {
  const __m256i first = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  const __m256i second = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(q));
  return _mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1);
}

/// 16 bytes from each, one behind the other, likewise.
HWY_INLINE __m512i load_quarters(const Byte* p, const Byte* q, const Byte* r, const Byte* s) {
  const auto load = [](const Byte* from) HWY_ATTR {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  };
  __m512i line = _mm512_castsi128_si512(load(p));
  line = _mm512_inserti32x4(line, load(q), 1);
  line = _mm512_inserti32x4(line, load(r), 2);
  return _mm512_inserti32x4(line, load(s), 3);
}

/// The first n bytes of a vector, 1 to 64.
HWY_INLINE __mmask64 first_bytes(std::int64_t n) { return ~std::uint64_t{0} >> (64 - n); }
#endif

/// A perfect shuffle of the lanes of kN registers within each 128-bit block.
template <int kN, class D, class V>
HWY_INLINE void shuffle_round(D d, V (&x)[kN]) {
  V y[kN];
  HWY_UNROLL(8)
  for (int i = 0; i < kN / 2; ++i) {
    y[2 * i] = hn::InterleaveLower(d, x[i], x[i + kN / 2]);
    y[2 * i + 1] = hn::InterleaveUpper(d, x[i], x[i + kN / 2]);
  }
  HWY_UNROLL(16)
  for (int i = 0; i < kN; ++i) x[i] = y[i];
}

/// The same by one width of interleave, repeated: kN rows of kN * n lanes become n columns of kN
/// each, one after the other.
template <int kN, class D, class V>
HWY_INLINE void shuffle_rows(D d, V (&x)[kN]) {
  HWY_UNROLL(4)
  for (int round = 1; round < kN; round *= 2) shuffle_round<kN>(d, x);
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

#endif

}  // namespace HWY_NAMESPACE
}  // namespace stowage::conversion

HWY_AFTER_NAMESPACE();

#endif
