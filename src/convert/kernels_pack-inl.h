// SPDX-License-Identifier: Apache-2.0
// Rows of narrow elements whose columns are packed: 17 to 40 of them, so that a column, or two of
// bytes, is about a vector long.
#if defined(STOWAGE_CONVERT_PACK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef STOWAGE_CONVERT_PACK_INL_H
#undef STOWAGE_CONVERT_PACK_INL_H
#else
#define STOWAGE_CONVERT_PACK_INL_H
#endif

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/checked.h"
#include "convert/kernels_transpose-inl.h"

#if HWY_TARGET <= HWY_AVX3_DL
HWY_BEFORE_NAMESPACE();

namespace stowage::conversion {
namespace HWY_NAMESPACE {

/// Rows of which columns are packed: so many but 32, whose columns fill vectors as they are.
inline constexpr std::int64_t kLeastPacked = 17, kMostPacked = 40;
/// Of a vector and a rest, one or two columns.
static_assert(2 * kMostPacked <= 64 + 16);

/// Where groups of rows begin, see PackOrder.
struct PackGroups {
  std::int64_t third, fourth, fifth;

  constexpr explicit PackGroups(std::int64_t rows)
      : third(std::min<std::int64_t>(16, rows - 8)),
        fourth(std::min<std::int64_t>(24, rows - 8)),
        fifth(rows - 8) {}
};

/// Where the bytes of packed columns come from. Rows are taken in groups of eight, A to E; C, D and
/// E end with the last row at most, so that they may overlap. Eight registers hold A in their lower
/// halves and C in their upper ones, eight B and D, and four the halves of E: each 16 bytes are
/// rows of two columns (A to D) or four (E) next to each other, of words of one or two.
/// `half`: the first 16 bytes of a register's halves, or the second. `place`: the first half of the
/// columns in 16 bytes of E, or the second.
struct PackOrder {
  alignas(64) Byte first[2][64];  ///< by half: of AC and BD
  Byte last[2][2][64];            ///< by half and place: of E
  Byte rest[2][2][64];            ///< of BD and E: bytes from the 64th on of one or two columns
  std::uint64_t of_last;          ///< which bytes of a vector E has
};

template <int E>
constexpr PackOrder pack_order(std::int64_t rows) {
  constexpr std::int64_t kColumns = 2 / E;  // of a vector
  const PackGroups groups(rows);
  PackOrder order{};
  const auto set = [&](std::int64_t half, std::int64_t place, std::int64_t i) {
    const std::int64_t element = i / E, column = element / rows, row = element % rows;
    if (column >= kColumns) return;
    const bool last = row >= 32;
    std::int64_t at = 16 * half + i % E;
    if (last) {
      const std::int64_t k = row - groups.fifth;
      at += k / 4 * 32 + ((kColumns * place + column) * 4 + k % 4) * E;
    } else {
      const std::int64_t group = row < groups.third + 8 ? std::min<std::int64_t>(row / 8, 2) : 3,
                         k = row - (group < 2    ? 8 * group
                                    : group == 2 ? groups.third
                                                 : groups.fourth);
      at += group % 2 * 64 + group / 2 * 32 + (column * 8 + k) * E;
    }
    const auto h = static_cast<std::size_t>(half), p = static_cast<std::size_t>(place);
    if (i >= 64) {
      order.rest[h][p][i - 64] = static_cast<Byte>(last ? 64 + at : at - 64);
    } else if (last) {
      order.last[h][p][i] = static_cast<Byte>(at);
      order.of_last |= std::uint64_t{1} << i;
    } else {
      order.first[h][i] = static_cast<Byte>(at);
    }
  };
  for (std::int64_t half = 0; half < 2; ++half) {
    for (std::int64_t place = 0; place < 2; ++place) {
      for (std::int64_t i = 0; i < 2 * rows; ++i) set(half, place, i);
    }
  }
  return order;
}

template <int E>
inline constexpr auto kPackOrders = [] {
  std::array<PackOrder, kMostPacked - kLeastPacked + 1> orders{};
  for (std::size_t i = 0; i < orders.size(); ++i)
    orders[i] = pack_order<E>(kLeastPacked + static_cast<std::int64_t>(i));
  return orders;
}();

/// Rows at equal distances, by as few registers as eight of them take.
struct RowDistance {
  std::int64_t one, three, five, seven;

  explicit RowDistance(std::int64_t d) : one(d), three(3 * d), five(5 * d), seven(7 * d) {
    asm("" : "+r"(three), "+r"(five), "+r"(seven));  // once: not for each row
  }
};

/// x[k]: 32 bytes of row k from p on, and with `kBoth` behind them 32 of row k from q on.
template <bool kBoth, class V>
HWY_INLINE void load_eight(V (&x)[8], const Byte* p, const Byte* q, const RowDistance& d) {
  asm("" : "+r"(p), "+r"(q));
  const auto load = [&](std::int64_t at) HWY_ATTR {
    if constexpr (kBoth) return load_halves(p + at, q + at);
    return _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + at)));
  };
  x[0].raw = load(0);
  x[1].raw = load(d.one);
  x[2].raw = load(2 * d.one);
  x[3].raw = load(d.three);
  x[4].raw = load(4 * d.one);
  x[5].raw = load(d.five);
  x[6].raw = load(2 * d.three);
  x[7].raw = load(d.seven);
}

/// kGroups: as many as hold all rows, at least three. A step is 32 bytes of each row; what is
/// written behind a column is overwritten by the next, and behind the last one of a step nothing
/// is, so that steps may be taken in any order.
template <int E, int kGroups>
HWY_NOINLINE void pack_columns(const TransposeBlock& t) {
  constexpr bool kMore = kGroups == 5;
  constexpr std::int64_t kN = 32 / E;
  const TileTag<E, kBlocks> d;
  using V = hn::Vec<decltype(d)>;
  const PackOrder& order = kPackOrders<E>[static_cast<std::size_t>(t.nb - kLeastPacked)];
  const RowDistance distance(t.row_stride);
  const PackGroups groups(t.nb);
  const std::int64_t pitch = 2 * t.nb, steps = ceil_div(t.na, kN);
  const StepOrder step_order = t.order_of_steps();
  const bool ahead = t.tuning->prefetch_for_write;
  const __mmask64 end = first_bytes(kMore ? pitch - 64 : pitch);
  __m512i first[2], last[2][2], rest[2][2];
  for (int half = 0; half < 2; ++half) {
    first[half] = _mm512_load_si512(order.first[half]);
    for (int place = 0; kMore && place < 2; ++place) {
      last[half][place] = _mm512_load_si512(order.last[half][place]);
      rest[half][place] = _mm512_load_si512(order.rest[half][place]);
    }
  }
  for (std::int64_t i = 0; i < steps; ++i) {
    const std::int64_t a = std::min(step_at(step_order, i, steps) * kN, t.na - kN);
    const Byte* const from = t.rows[0] + a * E;
    Byte* to = t.cols[0] + a * t.nb * E;
    if (ahead) prefetch_ahead(to, kN * t.nb * E);
    V ac[8], bd[8], e[4];
    load_eight<true>(ac, from, from + groups.third * t.row_stride, distance);
    shuffle_rows<8>(d, ac);
    load_eight<(kGroups > 3)>(bd, from + 8 * t.row_stride, from + groups.fourth * t.row_stride,
                              distance);
    shuffle_rows<8>(d, bd);
    if constexpr (kMore) {
      const Byte* p = from + groups.fifth * t.row_stride;
      asm("" : "+r"(p));
      e[0].raw = load_halves(p, p + 4 * distance.one);
      e[1].raw = load_halves(p + distance.one, p + distance.five);
      e[2].raw = load_halves(p + 2 * distance.one, p + 2 * distance.three);
      e[3].raw = load_halves(p + distance.three, p + distance.seven);
      shuffle_rows<4>(d, e);
    }
    HWY_UNROLL(16)
    for (int k = 0; k < 16; ++k, to += pitch) {
      asm("" : "+r"(to));  // step by step: compilers would compute all of them first
      const int half = k / 8, j = k % 8;
      __m512i v = _mm512_permutex2var_epi8(ac[j].raw, first[half], bd[j].raw);
      if constexpr (!kMore) {
        k == 15 ? _mm512_mask_storeu_epi8(to, end, v) : _mm512_storeu_si512(to, v);
      } else {
        v = _mm512_mask_permutexvar_epi8(v, order.of_last, last[half][j % 2], e[j / 2].raw);
        _mm512_storeu_si512(to, v);
        const __m128i more = _mm512_castsi512_si128(
            _mm512_permutex2var_epi8(bd[j].raw, rest[half][j % 2], e[j / 2].raw));
        k == 15 ? _mm_mask_storeu_epi8(to + 64, static_cast<__mmask16>(end), more)
                : _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 64), more);
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace stowage::conversion

HWY_AFTER_NAMESPACE();
#endif

#endif
