// SPDX-License-Identifier: Apache-2.0
// Few rows or columns in whole vectors of 32 and 64 bytes: joins of rows, partings into columns.
#if defined(STOWAGE_CONVERT_JOIN_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef STOWAGE_CONVERT_JOIN_INL_H
#undef STOWAGE_CONVERT_JOIN_INL_H
#else
#define STOWAGE_CONVERT_JOIN_INL_H
#endif

#include <algorithm>
#include <array>

#include "convert/kernels_transpose-inl.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::conversion {
namespace HWY_NAMESPACE {

#if HWY_TARGET <= HWY_AVX3
template <int E>
HWY_INLINE __m512i permute(__m512i x, __m512i order, __m512i y) {
  if constexpr (E == 2) return _mm512_permutex2var_epi16(x, order, y);
  if constexpr (E == 4) return _mm512_permutex2var_epi32(x, order, y);
  if constexpr (E == 8) return _mm512_permutex2var_epi64(x, order, y);
}

/// Between kN rows of as many elements as a register holds and as many columns of kN, one after the
/// other: kN registers either way. Each register of the result takes elements from all, two sources
/// at a time.
template <int E, int kN>
struct Shuffle {
  using T = typename Element<E>::Type;
  static constexpr int kCount = 64 / E, kPairs = (kN + 1) / 2;
  alignas(64) T index[kN][kPairs][kCount];
  std::uint32_t mask[kN][kPairs];

  /// `from(i)`: which element of the source becomes element i of the result.
  template <class F>
  constexpr explicit Shuffle(F from) : index{}, mask{} {
    for (int i = 0; i < kCount * kN; ++i) {
      const int source = from(i), pair = source / (2 * kCount);
      index[i / kCount][pair][i % kCount] = static_cast<T>(source % (2 * kCount));
      mask[i / kCount][pair] |= std::uint32_t{1} << (i % kCount);
    }
  }

  HWY_INLINE __m512i operator()(const __m512i (&x)[kN], int i) const {
    __m512i out = permute<E>(x[0], _mm512_load_si512(index[i][0]), x[1]);
    HWY_UNROLL(4)
    for (int p = 1; p < kPairs; ++p) {
      const __m512i order = _mm512_load_si512(index[i][p]);
      const bool two = 2 * p + 1 < kN;
      if constexpr (E == 2) {
        out =
            two ? _mm512_mask_mov_epi16(out, mask[i][p], permute<E>(x[2 * p], order, x[2 * p + 1]))
                : _mm512_mask_permutexvar_epi16(out, mask[i][p], order, x[2 * p]);
      } else {
        const auto lanes = static_cast<__mmask16>(mask[i][p]);
        out = two ? _mm512_mask_mov_epi32(out, lanes, permute<E>(x[2 * p], order, x[2 * p + 1]))
                  : _mm512_mask_permutexvar_epi32(out, lanes, order, x[2 * p]);
      }
    }
    return out;
  }
};

/// kN rows whose columns follow each other without a gap.
template <int E, int kN>
void join_rows(const TransposeBlock& t) {
  constexpr std::int64_t kCount = 64 / E;
  static constexpr Shuffle<E, kN> kShuffle([](int i) { return i % kN * int{kCount} + i / kN; });
  const Byte* rows[kN];
  for (int k = 0; k < kN; ++k) rows[k] = t.row(k);
  Byte* const first = t.cols[0];
  const bool ahead = t.tuning->prefetch_for_write;
  in_steps<kCount>(t.na, [&](std::int64_t a) HWY_ATTR {
    Byte* const to = first + a * kN * E;
    if (ahead) prefetch_ahead(to, kN * 64);
    __m512i x[kN];
    HWY_UNROLL(8)
    for (int k = 0; k < kN; ++k) x[k] = _mm512_loadu_si512(rows[k] + a * E);
    HWY_UNROLL(8)
    for (int k = 0; k < kN; ++k) _mm512_storeu_si512(to + k * 64, kShuffle(x, k));
  });
}

/// kN columns whose rows follow each other without a gap.
template <int E, int kN>
void part_columns(const TransposeBlock& t) {
  constexpr int kCount = 64 / E;
  static constexpr Shuffle<E, kN> kShuffle([](int i) { return i % kCount * kN + i / kCount; });
  const hn::FixedTag<typename Element<E>::Type, kCount> d;
  const bool ahead = t.tuning->prefetch_for_write;
  const Byte* const first = t.row(0);
  Byte* to[kN];
  for (int k = 0; k < kN; ++k) to[k] = t.column(k);
  in_steps<kCount>(t.nb, [&](std::int64_t b) HWY_ATTR {
    const Byte* const from = first + b * kN * E;
    __m512i x[kN];
    HWY_UNROLL(8)
    for (int k = 0; k < kN; ++k) x[k] = _mm512_loadu_si512(from + k * 64);
    HWY_UNROLL(8)
    for (int k = 0; k < kN; ++k)
      write(hn::Vec<decltype(d)>{kShuffle(x, k)}, d, to[k] + b * E, ahead);
  });
}

/// Orders of the lanes of two registers, one behind the other.
template <int E>
struct Lanes {
  static constexpr int kCount = 64 / E;
  using Order = std::array<typename Element<E>::Type, kCount>;

  static constexpr Order make(int (*from)(int i)) {
    Order out{};
    for (int i = 0; i < kCount; ++i)
      out[static_cast<std::size_t>(i)] = static_cast<typename Element<E>::Type>(from(i));
    return out;
  }

  /// Lanes of either in turn, from the beginning or from the middle.
  alignas(64) static constexpr Order kLow = make([](int i) { return i % 2 * kCount + i / 2; });
  alignas(64) static constexpr Order kHigh = make([](int i) {
    return i % 2 * kCount + i / 2 + kCount / 2;
  });
  alignas(64) static constexpr Order kEven = make([](int i) { return 2 * i; });
  alignas(64) static constexpr Order kOdd = make([](int i) { return 2 * i + 1; });
};

/// kN rows whose columns follow each other without a gap, in as many perfect shuffles as kN has
/// binary digits.
template <int E, int kN, bool kHalves>
void join_lanes_as(const TransposeBlock& t) {
  constexpr int kCount = Lanes<E>::kCount;
  const __m512i low = _mm512_load_si512(Lanes<E>::kLow.data()),
                high = _mm512_load_si512(Lanes<E>::kHigh.data());
  const Byte* rows[kN];
  for (int k = 0; k < kN; ++k) rows[k] = t.row(k);
  Byte* const first = t.column(0);
  const bool ahead = t.tuning->prefetch_for_write;
  in_steps<kCount>(t.na, t.order_of_steps(), [&](std::int64_t a) HWY_ATTR {
    Byte* const to = first + a * kN * E;
    if (ahead) prefetch_ahead(to, kN * 64);
    __m512i x[kN], y[kN];
    HWY_UNROLL(16)
    for (int k = 0; k < kN; ++k) {
      const Byte* const line = rows[k] + a * E;
      x[k] = kHalves ? load_halves(line, line + 32) : _mm512_loadu_si512(line);
    }
    HWY_UNROLL(4)
    for (int round = 1; round < kN; round *= 2) {
      HWY_UNROLL(8)
      for (int k = 0; k < kN / 2; ++k) {
        y[2 * k] = permute<E>(x[k], low, x[k + kN / 2]);
        y[2 * k + 1] = permute<E>(x[k], high, x[k + kN / 2]);
      }
      HWY_UNROLL(16)
      for (int k = 0; k < kN; ++k) x[k] = y[k];
    }
    HWY_UNROLL(16)
    for (int k = 0; k < kN; ++k) _mm512_storeu_si512(to + k * 64, x[k]);
  });
}

template <int E, int kN>
void join_lanes(const TransposeBlock& t) {
  t.tuning->loads_pieces() ? join_lanes_as<E, kN, true>(t) : join_lanes_as<E, kN, false>(t);
}

/// kN columns whose rows follow each other without a gap: the shuffles undone.
template <int E, int kN>
void part_lanes(const TransposeBlock& t) {
  constexpr int kCount = Lanes<E>::kCount;
  const __m512i even = _mm512_load_si512(Lanes<E>::kEven.data()),
                odd = _mm512_load_si512(Lanes<E>::kOdd.data());
  const hn::FixedTag<typename Element<E>::Type, kCount> d;
  Byte* to[kN];
  for (int k = 0; k < kN; ++k) to[k] = t.column(k);
  const Byte* const first = t.row(0);
  const bool ahead = t.tuning->prefetch_for_write;
  in_steps<kCount>(t.nb, t.order_of_steps(), [&](std::int64_t b) HWY_ATTR {
    const Byte* const from = first + b * kN * E;
    __m512i x[kN], y[kN];
    HWY_UNROLL(16)
    for (int k = 0; k < kN; ++k) x[k] = _mm512_loadu_si512(from + k * 64);
    HWY_UNROLL(4)
    for (int round = 1; round < kN; round *= 2) {
      HWY_UNROLL(8)
      for (int k = 0; k < kN / 2; ++k) {
        y[k] = permute<E>(x[2 * k], even, x[2 * k + 1]);
        y[k + kN / 2] = permute<E>(x[2 * k], odd, x[2 * k + 1]);
      }
      HWY_UNROLL(16)
      for (int k = 0; k < kN; ++k) x[k] = y[k];
    }
    HWY_UNROLL(16)
    for (int k = 0; k < kN; ++k) write(hn::Vec<decltype(d)>{x[k]}, d, to[k] + b * E, ahead);
  });
}

/// So few columns that tiles, which load lines in pieces and stream, do as well.
template <int E, int kN>
void part_few(const TransposeBlock& t) {
  t.col_stride != 0 && (t.tuning->loads_pieces() || t.non_temporal) ? bands<E, kBlocks>(t)
                                                                    : part_lanes<E, kN>(t);
}

/// Two rows of elements of 16 bytes, whose columns follow each other without a gap.
inline void join_whole_blocks(const TransposeBlock& t) {
  const Byte *const first = t.row(0), *const second = t.row(1);
  Byte* const column = t.cols[0];
  in_steps<4>(t.na, t.order_of_steps(), [&](std::int64_t a) HWY_ATTR {
    const __m512i x = _mm512_loadu_si512(first + a * 16), y = _mm512_loadu_si512(second + a * 16);
    Byte* const to = column + a * 32;
    __m512i low, high;
    interleave_quarters(x, y, low, high);
    _mm512_storeu_si512(to, low);
    _mm512_storeu_si512(to + 64, high);
  });
}

/// Two columns of elements of 16 bytes, whose rows follow each other without a gap.
template <bool kPieces>
void part_blocks_as(const TransposeBlock& t) {
  Byte *const first = t.column(0), *const second = t.column(1);
  const Byte* const row = t.row(0);
  in_steps<4>(t.nb, t.order_of_steps(), [&](std::int64_t b) HWY_ATTR {
    const Byte* const from = row + b * 32;
    __m512i x, y;
    if constexpr (kPieces) {
      x = load_quarters(from, from + 32, from + 64, from + 96);
      y = load_quarters(from + 16, from + 48, from + 80, from + 112);
    } else {
      const __m512i v = _mm512_loadu_si512(from), w = _mm512_loadu_si512(from + 64);
      x = _mm512_shuffle_i32x4(v, w, 0x88);
      y = _mm512_shuffle_i32x4(v, w, 0xdd);
    }
    _mm512_storeu_si512(first + b * 16, x);
    _mm512_storeu_si512(second + b * 16, y);
  });
}

inline void part_blocks(const TransposeBlock& t) {
  t.tuning->loads_pieces() ? part_blocks_as<true>(t) : part_blocks_as<false>(t);
}
#endif

#if HWY_TARGET <= HWY_AVX2
/// As many rows as a square has; columns follow each other without a gap. `kWhole`: lines of the
/// source are loaded whole.
template <int E, Writing kWriting, bool kWhole, class Place>
HWY_NOINLINE void join_squares_of(const Place& first, const TransposeBlock& t) {
  constexpr std::int64_t kN = kVector<E>, kColumn = kN * E;
  Byte* const column = t.column(0);
  const bool ahead = kWriting == Writing::plain && t.tuning->prefetch_for_write;
  in_steps<kN>(t.na, t.order_of_steps(), [&](std::int64_t a) HWY_ATTR {
    Byte* const to = column + a * kColumn;
    if (ahead) prefetch_ahead(to, kN * kColumn);
    Place from = first;
    from.skip_columns(a * E);
    square_at<E, kWriting, kWhole>(from.rows(), to, kColumn);
  });
}

template <int E, Writing kWriting>
void join_squares_as(const TransposeBlock& t) {
  constexpr std::int64_t kN = kVector<E>;
  const EvenPlace<16 / E> even{t.row(0), t.row_stride};
  if (kBlocks == 4 && t.tuning->streams > 0) {
    return along_columns<E, kWriting, false>(even, t.column(0), t.na, kN * E, t.order_of_steps());
  }
  t.row_stride != 0
      ? join_squares_of<E, kWriting, true>(even, t)
      : join_squares_of<E, kWriting, false>(AnyPlace<16 / E>{t.rows, t.row_offset}, t);
}

template <int E>
void join_squares(const TransposeBlock& t) {
  can_stream(t, t.column(0), kBlocks * 16) ? join_squares_as<E, Writing::stream>(t)
                                           : join_squares_as<E, Writing::plain>(t);
}

#if HWY_TARGET <= HWY_AVX3
/// Two or four rows of elements of 16 bytes, whose columns follow each other without a gap, by
/// loads of 16 and 32 bytes.
template <int kRows, Writing kWriting>
void join_pieces_as(const TransposeBlock& t) {
  const hn::FixedTag<std::uint64_t, 8> d;
  const Byte* rows[kRows];
  for (int k = 0; k < kRows; ++k) rows[k] = t.row(k);
  Byte* const first = t.column(0);
  in_steps<2>(t.na, t.order_of_steps(), [&](std::int64_t a) HWY_ATTR {
    Byte* const to = first + a * kRows * 16;
    const auto one = [&](int row, int column) HWY_ATTR {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[row] + (a + column) * 16));
    };
    const auto two = [&](int row) HWY_ATTR {
      return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows[row] + a * 16));
    };
    if constexpr (kRows == 2) {
      const Byte *const x = rows[0] + a * 16, *const y = rows[1] + a * 16;
      write<kWriting>(hn::Vec<decltype(d)>{load_quarters(x, y, x + 16, y + 16)}, d, to);
    } else {
      const __m256i x = two(0), y = two(1);
      __m512i first_line = _mm512_castsi256_si512(_mm256_permute2x128_si256(x, y, 0x20)),
              second_line = _mm512_castsi256_si512(_mm256_permute2x128_si256(x, y, 0x31));
      first_line = _mm512_inserti32x4(first_line, one(2, 0), 2);
      first_line = _mm512_inserti32x4(first_line, one(3, 0), 3);
      second_line = _mm512_inserti32x4(second_line, one(2, 1), 2);
      second_line = _mm512_inserti32x4(second_line, one(3, 1), 3);
      asm("" : "+v"(first_line), "+v"(second_line));  // loads of both lines before the stores
      write<kWriting>(hn::Vec<decltype(d)>{first_line}, d, to);
      write<kWriting>(hn::Vec<decltype(d)>{second_line}, d, to + 64);
    }
  });
}

template <int kRows>
void join_blocks(const TransposeBlock& t) {
  if (!t.tuning->loads_pieces()) return kRows == 2 ? join_whole_blocks(t) : join_squares<16>(t);
  t.na % 2 == 0 && can_stream(t, t.column(0), 64) ? join_pieces_as<kRows, Writing::stream>(t)
                                                  : join_pieces_as<kRows, Writing::plain>(t);
}
#endif

/// As many columns, at equal distances, as a square has; rows follow each other without a gap.
template <int E, Writing kWriting>
void part_squares_as(const TransposeBlock& t) {
  constexpr std::int64_t kN = kVector<E>, kRow = kN * E;
  const std::int64_t stride = t.col_stride;
  const Byte* const from = t.row(0);
  Byte* const to = t.column(0);
  in_steps<kN>(t.nb, t.order_of_steps(), [&](std::int64_t b) HWY_ATTR {
    square_of_lines<E, kWriting>(DenseRows<16 / E, kRow>{from + b * kRow}, to + b * E, stride);
  });
}

#if HWY_TARGET <= HWY_AVX3
/// Four columns of elements of 16 bytes, likewise, by loads of 16 and 32 bytes.
template <Writing kWriting>
void part_pieces_as(const TransposeBlock& t) {
  const hn::FixedTag<std::uint64_t, 8> d;
  const Byte* const first = t.row(0);
  Byte* to[4];
  for (int k = 0; k < 4; ++k) to[k] = t.column(k);
  in_steps<4>(t.nb, t.order_of_steps(), [&](std::int64_t b) HWY_ATTR {
    const auto one = [&](int row, int column) HWY_ATTR {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(first + (b + row) * 64) + column);
    };
    const auto two = [&](int row, int half) HWY_ATTR {
      return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(first + (b + row) * 64) + half);
    };
    __m512i x[4];
    HWY_UNROLL(2)
    for (int half = 0; half < 2; ++half) {
      const __m256i p = two(0, half), q = two(1, half);
      x[2 * half] = _mm512_castsi256_si512(_mm256_permute2x128_si256(p, q, 0x20));
      x[2 * half + 1] = _mm512_castsi256_si512(_mm256_permute2x128_si256(p, q, 0x31));
    }
    HWY_UNROLL(4)
    for (int k = 0; k < 4; ++k) x[k] = _mm512_inserti32x4(x[k], one(2, k), 2);
    HWY_UNROLL(4)
    for (int k = 0; k < 4; ++k) x[k] = _mm512_inserti32x4(x[k], one(3, k), 3);
    asm("" : "+v"(x[0]), "+v"(x[1]), "+v"(x[2]), "+v"(x[3]));  // all loads before the stores
    HWY_UNROLL(4)
    for (int k = 0; k < 4; ++k) write<kWriting>(hn::Vec<decltype(d)>{x[k]}, d, to[k] + b * 16);
  });
}
#endif

template <int E>
void part_squares(const TransposeBlock& t) {
  const bool stream = t.nb % kVector<E> == 0 && can_stream(t, t.column(0), kBlocks * 16);
#if HWY_TARGET <= HWY_AVX3
  if (E == 16 && t.tuning->loads_pieces())
    return stream ? part_pieces_as<Writing::stream>(t) : part_pieces_as<Writing::plain>(t);
#endif
  if (stream) return part_squares_as<E, Writing::stream>(t);
  t.tuning->prefetch_for_write ? part_squares_as<E, Writing::ahead>(t)
                               : part_squares_as<E, Writing::plain>(t);
}
#endif

#if HWY_TARGET == HWY_AVX2
/// Two or four rows of elements of 16 bytes, whose columns follow each other without a gap.
template <int kRows>
void join_blocks(const TransposeBlock& t) {
  const TileTag<16, 2> d;
  const std::int64_t na = t.na;
  const Byte* rows[kRows];
  for (int k = 0; k < kRows; ++k) rows[k] = t.row(k);
  Byte* const first = t.cols[0];
  const bool ahead = t.tuning->prefetch_for_write;
  for (std::int64_t next = 0; next < na; next += 2) {
    const std::int64_t a = std::min(next, na - 2);
    Byte* const to = first + a * kRows * 16;
    if (ahead) prefetch_ahead(to, kRows * 32);
    HWY_UNROLL(2)
    for (int k = 0; k < kRows; k += 2) {
      const auto load = [&](int row) HWY_ATTR {
        return hn::LoadU(d, reinterpret_cast<const std::uint64_t*>(rows[row] + a * 16));
      };
      const auto x = load(k), y = load(k + 1);
      write<Writing::plain>(hn::ConcatLowerLower(d, y, x), d, to + k * 16);
      write<Writing::plain>(hn::ConcatUpperUpper(d, y, x), d, to + (kRows + k) * 16);
    }
  }
}

/// Two or four columns of elements of 16 bytes, whose rows follow each other without a gap.
template <int kColumns>
void part_blocks(const TransposeBlock& t) {
  const TileTag<16, 2> d;
  constexpr std::int64_t kRow = kColumns * 16;
  const std::int64_t nb = t.nb;
  const Byte* const first = t.row(0);
  Byte* columns[kColumns];
  for (int k = 0; k < kColumns; ++k) columns[k] = t.column(k);
  const bool ahead = t.tuning->prefetch_for_write;
  for (std::int64_t next = 0; next < nb; next += 2) {
    const std::int64_t b = std::min(next, nb - 2);
    const Byte* const from = first + b * kRow;
    HWY_UNROLL(2)
    for (int k = 0; k < kColumns; k += 2) {
      const auto load = [&](std::int64_t at) HWY_ATTR {
        return hn::LoadU(d, reinterpret_cast<const std::uint64_t*>(from + at));
      };
      const auto x = load(k * 16), y = load(kRow + k * 16);
      write(hn::ConcatLowerLower(d, y, x), d, columns[k] + b * 16, ahead);
      write(hn::ConcatUpperUpper(d, y, x), d, columns[k + 1] + b * 16, ahead);
    }
  }
}

/// Eight columns of bytes whose rows follow each other without a gap, in whole vectors.
inline void part_bytes(const TransposeBlock& t) {
  const TileTag<1, 2> d;
  const TileTag<1, 1> half;
  const std::int64_t nb = t.nb;
  const Byte* const first = t.row(0);
  Byte* to[8];  // bytes may alias t
  for (int a = 0; a < 8; ++a) to[a] = t.column(a);
  const bool ahead = t.tuning->prefetch_for_write;
  for (std::int64_t next = 0; next < nb; next += 32) {
    const std::int64_t b = std::min(next, nb - 32);
    const Byte* const from = first + b * 8;
    hn::Vec<TileTag<1, 2> > x[8];
    HWY_UNROLL(8)
    for (int k = 0; k < 8; ++k)
      x[k] = hn::Combine(d, hn::LoadU(half, from + 128 + 16 * k), hn::LoadU(half, from + 16 * k));
    // Two rows in each 16 bytes: one round more than a row takes.
    shuffle_rows<8>(d, x);
    shuffle_round<8>(d, x);
    HWY_UNROLL(8)
    for (int a = 0; a < 8; ++a) write(x[a], d, to[a] + b, ahead);
  }
}

/// Eight or sixteen rows of elements of at most 2 bytes, whose columns follow each other without a
/// gap, in whole vectors.
template <int E, int kRows>
void join_words(const TransposeBlock& t) {
  using T = typename Element<E>::Type;
  const TileTag<E, 2> d;
  constexpr std::int64_t kN = 32 / E;
  const std::int64_t na = t.na;
  const Byte* rows[kRows];
  for (int k = 0; k < kRows; ++k) rows[k] = t.row(k);
  Byte* const first = t.cols[0];
  const bool ahead = t.tuning->prefetch_for_write;
  for (std::int64_t next = 0; next < na; next += kN) {
    const std::int64_t a = std::min(next, na - kN);
    Byte* to = first + a * kRows * E;
    if (ahead) prefetch_ahead(to, kRows * 32);
    hn::Vec<decltype(d)> x[kRows];
    HWY_UNROLL(16)
    for (int k = 0; k < kRows; ++k)
      x[k] = hn::LoadU(d, reinterpret_cast<const T*>(rows[k] + a * E));
    shuffle_rows<kRows>(d, x);
    HWY_UNROLL(8)
    for (int k = 0; k < kRows; k += 2, to += 32)
      write<Writing::plain>(hn::ConcatLowerLower(d, x[k + 1], x[k]), d, to);
    HWY_UNROLL(8)
    for (int k = 0; k < kRows; k += 2, to += 32)
      write<Writing::plain>(hn::ConcatUpperUpper(d, x[k + 1], x[k]), d, to);
  }
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace stowage::conversion

HWY_AFTER_NAMESPACE();

#endif
