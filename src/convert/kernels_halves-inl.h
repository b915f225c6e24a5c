// SPDX-License-Identifier: Apache-2.0
// Casts between f32 and 16-bit floats on their way from rows to columns, in tiles: what is cast
// stays in registers until it is where it belongs.
#if defined(STOWAGE_CONVERT_HALVES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef STOWAGE_CONVERT_HALVES_INL_H
#undef STOWAGE_CONVERT_HALVES_INL_H
#else
#define STOWAGE_CONVERT_HALVES_INL_H
#endif

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "convert/kernels_cast-inl.h"
#include "convert/kernels_panels-inl.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::conversion {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR

/// Columns of a tile, and rows of it in each 16 bytes of a register.
inline constexpr std::int64_t kHalves = 8;

/// kRows * kHalves elements of 16 bits.
template <int kRows>
using HalvesTag = hn::FixedTag<std::uint16_t, kRows * kHalves>;

/// Eight floats of each of kRows rows, cast.
template <Fast kTo, int kRows>
HWY_INLINE hn::Vec<HalvesTag<kRows> > load_narrowed(const Byte* p, std::int64_t distance) {
  const HalvesTag<kRows> d;
  if constexpr (2 * kRows <= kBlocks) {
    const hn::FixedTag<float, kRows * kHalves> df;
    if constexpr (kRows == 1) {
      return narrow<kTo>(df, hn::LoadU(df, reinterpret_cast<const float*>(p)));
    } else {
      static_assert(kRows == 2);
      const hn::Half<decltype(df)> row;
      const auto load = [&](const Byte* from) HWY_ATTR {
        return hn::LoadU(row, reinterpret_cast<const float*>(from));
      };
      return narrow<kTo>(df, hn::Combine(df, load(p + distance), load(p)));
    }
  } else if constexpr (kRows == 1) {
    const hn::FixedTag<float, kHalves / 2> df;
    const auto part = [&](int i) HWY_ATTR {
      return narrow<kTo>(df, hn::LoadU(df, reinterpret_cast<const float*>(p) + i * kHalves / 2));
    };
    return hn::Combine(d, part(1), part(0));
  } else {
    constexpr int kHalf = kRows / 2;
    return hn::Combine(d, load_narrowed<kTo, kHalf>(p + kHalf * distance, distance),
                       load_narrowed<kTo, kHalf>(p, distance));
  }
}

/// The elements of a register as floats.
template <Fast kFrom, Writing kWriting, int kRows>
HWY_INLINE void store_widened(hn::Vec<HalvesTag<kRows> > v, Byte* to) {
  constexpr int kFloats = kRows * kHalves;
  if constexpr (kFloats <= kBlocks * 4) {
    const hn::FixedTag<float, kFloats> df;
    write<kWriting>(widen<kFrom>(df, v), df, to);
  } else if constexpr (kRows == 1) {
    const hn::FixedTag<float, kFloats / 2> df;
    const hn::FixedTag<std::uint16_t, kFloats / 2> half;
    write<kWriting>(widen<kFrom>(df, hn::LowerHalf(half, v)), df, to);
    write<kWriting>(widen<kFrom>(df, hn::UpperHalf(half, v)), df, to + kFloats * 2);
  } else {
    const HalvesTag<kRows / 2> half;
    store_widened<kFrom, kWriting, kRows / 2>(hn::LowerHalf(half, v), to);
    store_widened<kFrom, kWriting, kRows / 2>(hn::UpperHalf(half, v), to + kFloats * 2);
  }
}

/// 16-bit elements as they are where floats have become them, else as floats.
template <Fast kFrom, Writing kWriting, int kRows>
HWY_INLINE void store_cast(hn::Vec<HalvesTag<kRows> > v, Byte* to) {
  if constexpr (kFrom == Fast::f32) {
    write<kWriting>(v, HalvesTag<kRows>(), to);
  } else {
    store_widened<kFrom, kWriting, kRows>(v, to);
  }
}

/// Eight columns of kB * kHalves rows.
template <Fast kFrom, Fast kTo, Writing kWriting, int kB>
HWY_INLINE void cast_tile(const Byte* from, std::int64_t distance, Byte* to, std::int64_t stride) {
  hn::Vec<HalvesTag<kB> > x[kHalves];
  EvenRows<kHalves> rows(from, distance);
  HWY_UNROLL(8)
  for (int k = 0; k < kHalves; ++k, rows.next_row()) {
    if constexpr (kFrom == Fast::f32) {
      x[k] = load_narrowed<kTo, kB>(rows.at(k, 0), kHalves * distance);
    } else {
      x[k] = load_rows<2, kB>(rows, k);
    }
  }
  shuffle_rows<kHalves>(HalvesTag<kB>(), x);
  HWY_UNROLL(8)
  for (int k = 0; k < kHalves; ++k) store_cast<kFrom, kWriting, kB>(x[k], to + k * stride);
}

#if HWY_TARGET <= HWY_AVX3
/// The 16-bit elements of 16 columns from each of two places, cast if they are floats.
template <Fast kFrom, Fast kTo>
HWY_INLINE __m512i load_cast(const Byte* p, const Byte* q) {
  if constexpr (kFrom != Fast::f32) {
    return load_halves(p, q);
  } else {
    const FloatTag df;
    const auto cast = [&](const Byte* from)
                          HWY_ATTR { return narrow<kTo>(df, load_floats<kFrom>(from)); };
    return hn::Combine(HalvesTag<4>(), cast(q), cast(p)).raw;
  }
}

/// 16 columns of 32 rows: whole lines of floats.
template <Fast kFrom, Fast kTo, Writing kWriting>
HWY_INLINE void cast_lines(const Byte* from, std::int64_t distance, Byte* to, std::int64_t stride) {
  half_square<2, false>(
      EvenRows<kHalves>(from, distance), 2 * kHalves,
      [](const Byte* p, const Byte* q) HWY_ATTR { return load_cast<kFrom, kTo>(p, q); },
      [&](auto v, std::int64_t i) HWY_ATTR { store_cast<kFrom, kWriting, 4>(v, to + i * stride); });
}

/// 32 columns of eight rows, which follow each other without a gap.
template <Fast kFrom, Fast kTo, Writing kWriting>
HWY_INLINE void cast_joined(const Byte* from, std::int64_t distance, Byte* to) {
  constexpr std::int64_t kSource = sizeof(typename Stored<kFrom>::Type),
                         kColumn = kHalves * sizeof(typename Stored<kTo>::Type);
  using V = hn::Vec<HalvesTag<4> >;
  V x[kHalves];
  HWY_UNROLL(8)
  for (int k = 0; k < kHalves; ++k, from += distance)
    x[k] = V{load_cast<kFrom, kTo>(from, from + 2 * kHalves * kSource)};
  shuffle_rows<kHalves>(HalvesTag<4>(), x);
  // The 16 bytes g of x[k] are column g * kHalves + k.
  HWY_UNROLL(2)
  for (int k = 0; k < kHalves; k += 4) {
    store_quarters(x[k].raw, x[k + 1].raw, x[k + 2].raw, x[k + 3].raw,
                   [&](__m512i v, std::int64_t g) HWY_ATTR {
                     store_cast<kFrom, kWriting, 4>(V{v}, to + (g * kHalves + k) * kColumn);
                   });
  }
}
#endif

/// kB * kHalves rows of `columns` columns, a tile at least.
template <Fast kFrom, Fast kTo, Writing kWriting, int kB>
HWY_NOINLINE void cast_band(const Byte* from, std::int64_t distance, Byte* to, std::int64_t stride,
                            std::int64_t columns, StepOrder order) {
  constexpr std::int64_t kSource = sizeof(typename Stored<kFrom>::Type);
#if HWY_TARGET <= HWY_AVX3
  if constexpr (kB == 4) {
    if (columns >= 2 * kHalves)
      return in_steps<2 * kHalves>(columns, order, [&](std::int64_t a) HWY_ATTR {
        cast_lines<kFrom, kTo, kWriting>(from + a * kSource, distance, to + a * stride, stride);
      });
  }
  if constexpr (kB == 1) {
    const bool dense =
        stride == kHalves * static_cast<std::int64_t>(sizeof(typename Stored<kTo>::Type));
    if (dense && columns >= 4 * kHalves)
      return in_steps<4 * kHalves>(columns, order, [&](std::int64_t a) HWY_ATTR {
        cast_joined<kFrom, kTo, kWriting>(from + a * kSource, distance, to + a * stride);
      });
  }
#endif
  in_steps<kHalves>(columns, order, [&](std::int64_t a) HWY_ATTR {
    cast_tile<kFrom, kTo, kWriting, kB>(from + a * kSource, distance, to + a * stride, stride);
  });
}

/// Element by element, of fewer rows or columns than a tile has.
template <Fast kFrom, Fast kTo>
void cast_elements(const TransposeBlock& t) {
  using S = typename Stored<kFrom>::Type;
  using D = typename Stored<kTo>::Type;
  constexpr std::int64_t kMost = 64;
  S column[kMost];
  for (std::int64_t a = 0; a < t.na; ++a) {
    for (std::int64_t b = 0; b < t.nb; b += kMost) {
      const std::int64_t n = std::min(kMost, t.nb - b);
      for (std::int64_t i = 0; i < n; ++i)
        std::memcpy(column + i, t.row(b + i) + a * sizeof(S), sizeof(S));
      cast_row<kFrom, kTo>(reinterpret_cast<const Byte*>(column), t.column(a) + b * sizeof(D), n,
                           {});
    }
  }
}

/// Columns [a, a + na) of all rows, in bands of kB * kHalves rows; the rest is taken again from the
/// end, with the narrowest band that holds it.
template <Fast kFrom, Fast kTo, Writing kWriting, int kB>
void cast_bands(const TransposeBlock& t, std::int64_t a, std::int64_t na) {
  constexpr std::int64_t kSource = sizeof(typename Stored<kFrom>::Type),
                         kResult = sizeof(typename Stored<kTo>::Type), kRows = kB * kHalves;
  const auto band = [&](std::int64_t b, auto blocks, auto writing) HWY_ATTR {
    cast_band<kFrom, kTo, writing(), blocks()>(t.row(b) + a * kSource, t.row_stride,
                                               t.column(a) + b * kResult, t.col_stride, na,
                                               t.order_of_steps());
  };
  constexpr std::integral_constant<int, kB> whole;
  constexpr std::integral_constant<Writing, kWriting> ahead;
  std::int64_t b = 0;
  for (; b + kRows < t.nb; b += kRows) band(b, whole, ahead);
  const auto last = [&](auto blocks) HWY_ATTR {
    constexpr Writing kLast = kWriting == Writing::stream ? kWriting : Writing::plain;
    band(t.nb - blocks() * kHalves, blocks, std::integral_constant<Writing, kLast>());
  };
  const std::int64_t rest = t.nb - b;
  if (rest <= kHalves) return last(std::integral_constant<int, 1>());
  if (rest <= 2 * kHalves) return last(std::integral_constant<int, std::min(kB, 2)>());
  last(whole);
}

template <Fast kFrom, Fast kTo, Writing kWriting, int kB>
void cast_tiles(const TransposeBlock& t) {
  if (t.nb < kB * kHalves || t.na < kHalves) {
    if constexpr (kB > 1) {
      return cast_tiles<kFrom, kTo, kWriting, kB / 2>(t);
    } else {
      return cast_elements<kFrom, kTo>(t);
    }
  }
  // Near columns that begin within lines: few at a time, whose lines wait in the L1 for the next
  // band.
  constexpr std::int64_t kFew = 32;
  const bool within = t.col_stride % kLine != 0 && t.row_stride > t.col_stride;
  if (!within || t.na < kFew) return cast_bands<kFrom, kTo, kWriting, kB>(t, 0, t.na);
  in_steps<kFew>(
      t.na, [&](std::int64_t a) HWY_ATTR { cast_bands<kFrom, kTo, kWriting, kB>(t, a, kFew); });
}

/// Calls f with how the tiles of a cast write their columns, parts of so many `rows` and bytes.
template <class F>
void choose_writing(const TransposeBlock& t, std::int64_t rows, std::int64_t bytes, const F& f) {
  // Stores of whole lines that the L2 holds wait for none of them.
  const bool wait = t.size != Size::tiny || t.col_stride % kLine != 0;
  if (t.nb % rows == 0 && can_stream(t, t.cols[0], bytes))
    return f(std::integral_constant<Writing, Writing::stream>());
  if (wait && t.tuning->prefetch_for_write)
    return f(std::integral_constant<Writing, Writing::ahead>());
  f(std::integral_constant<Writing, Writing::plain>());
}

/// Element (a, b) is cast from row(b) to column(a), both at equal distances.
template <Fast kFrom, Fast kTo>
void cast_transposed(const TransposeBlock& t) {
  choose_writing(t, kBlocks * kHalves, kBlocks * 16,
                 [&](auto writing) { cast_tiles<kFrom, kTo, writing(), kBlocks>(t); });
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace stowage::conversion

HWY_AFTER_NAMESPACE();

#endif
