// SPDX-License-Identifier: Apache-2.0
// Kernels that move bytes: tile transpose, (de)interleave, runs. Compiled once an instruction set.
#if defined(STOWAGE_CONVERT_MOVE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef STOWAGE_CONVERT_MOVE_INL_H
#undef STOWAGE_CONVERT_MOVE_INL_H
#else
#define STOWAGE_CONVERT_MOVE_INL_H
#endif

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

#if HWY_TARGET == HWY_SCALAR || HWY_HAVE_SCALABLE

template <int E>
void transpose(const TransposeBlock& t) {
  for (std::int64_t a = 0; a < t.na; ++a) {
    for (std::int64_t b = 0; b < t.nb; ++b) std::memcpy(t.cols[a] + b * E, t.rows[b] + a * E, E);
  }
}

#else

/// 128-bit blocks of the widest vector.
inline constexpr int kBlocks = HWY_MAX_BYTES >= 64 ? 4 : HWY_MAX_BYTES >= 32 ? 2 : 1;

template <int E, int kB>
using TileTag =
    hn::FixedTag<typename Element<E>::Type, 16 / sizeof(typename Element<E>::Type) * kB>;

/// Register k of a tile: 16 bytes of each of the rows k, L + k, 2L + k, ...
template <int E, int kB>
HWY_INLINE hn::Vec<TileTag<E, kB> > load_rows(const Byte* const* rows, std::int64_t offset) {
  using T = typename Element<E>::Type;
  const TileTag<E, kB> d;
  if constexpr (kB == 1) {
    return hn::LoadU(d, reinterpret_cast<const T*>(rows[0] + offset));
  } else {
    const auto lo = load_rows<E, kB / 2>(rows, offset);
    const auto hi = load_rows<E, kB / 2>(rows + 16 / E * (kB / 2), offset);
    return hn::Combine(d, hi, lo);
  }
}

/// A tile of 16 / E columns by kB * 16 / E rows; the first `columns` are stored. One width of
/// interleave, repeated, is a perfect shuffle; log2 of them transpose the 128-bit blocks.
template <int E, int kB, class Store>
HWY_INLINE void tile(const Byte* const* rows, std::int64_t offset, const Store& store) {
  constexpr int kL = 16 / E;
  const TileTag<E, kB> d;
  using V = hn::Vec<TileTag<E, kB> >;
  V x[kL];
  HWY_UNROLL(16)
  for (int k = 0; k < kL; ++k) x[k] = load_rows<E, kB>(rows + k, offset);
  if constexpr (kL > 1) {
    HWY_UNROLL(4)
    for (int round = 1; round < kL; round *= 2) {
      V y[kL];
      HWY_UNROLL(8)
      for (int i = 0; i < kL / 2; ++i) {
        y[2 * i] = hn::InterleaveLower(d, x[i], x[i + kL / 2]);
        y[2 * i + 1] = hn::InterleaveUpper(d, x[i], x[i + kL / 2]);
      }
      HWY_UNROLL(16)
      for (int i = 0; i < kL; ++i) x[i] = y[i];
    }
  }
  HWY_UNROLL(16)
  for (int j = 0; j < kL; ++j) store(j, x[j]);
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

/// kB * 16 / E rows from b, all columns. `some`: rows to store where the tile has more (kB == 1).
template <int E, int kB, bool kSome>
void band(const TransposeBlock& t, std::int64_t b, std::int64_t some) {
  constexpr std::int64_t kL = 16 / E;
  using T = typename Element<E>::Type;
  const TileTag<E, kB> d;
  const Byte* const* rows = t.rows + b;
  const Byte* padded[kL];
  if constexpr (kSome) {  // the missing rows repeat the last
    for (int k = 0; k < kL; ++k) padded[k] = rows[k < some ? k : some - 1];
    rows = padded;
  }
  const auto run = [&](const Byte* const* from, std::int64_t offset, std::int64_t a,
                       std::int64_t columns) {
    tile<E, kB>(from, offset, [&](std::int64_t j, auto v) {
      if (j >= columns) return;
      Byte* const to = t.cols[a + j] + b * E;
      if constexpr (kSome) {
        store_some(v, to, some * E);
      } else {
        hn::StoreU(v, d, reinterpret_cast<T*>(to));
      }
    });
  };
  if (t.na >= kL) {
    std::int64_t a = 0;
    for (; a + kL <= t.na; a += kL) run(rows, a * E, a, kL);
    if (a < t.na) run(rows, (t.na - kL) * E, t.na - kL, kL);
    return;
  }
  // Columns fewer than a tile: a row is read past its end, but not past the end of the source.
  const Byte* safe[kL * kB];
  alignas(16) Byte copies[kL * kB][16];
  for (int k = 0; k < kL * kB; ++k) {
    safe[k] = rows[k];
    if (reinterpret_cast<std::uintptr_t>(rows[k]) + 16 >
        reinterpret_cast<std::uintptr_t>(t.src_end)) {
      std::memcpy(copies[k], rows[k], static_cast<std::size_t>(t.na) * E);
      safe[k] = copies[k];
    }
  }
  run(safe, 0, 0, t.na);
}

template <int E, int kB>
void bands(const TransposeBlock& t) {
  constexpr std::int64_t kL = 16 / E;
  if constexpr (kB > 1) {
    if (t.nb < kL * kB) return bands<E, kB / 2>(t);
  }
  if (t.nb < kL) return band<E, 1, true>(t, 0, t.nb);
  std::int64_t b = 0;
  for (; b + kL * kB <= t.nb; b += kL * kB) band<E, kB, false>(t, b, 0);
  // The rest is taken again from the end, with the narrowest band that holds it.
  const std::int64_t rest = t.nb - b;
  if (rest == 0) return;
  if (kB >= 4 && rest > 2 * kL) return band<E, kB, false>(t, t.nb - kL * kB, 0);
  if (kB >= 2 && rest > kL) return band < E, kB >= 2 ? 2 : 1, false > (t, t.nb - 2 * kL, 0);
  band<E, 1, false>(t, t.nb - kL, 0);
}

/// nb rows of na become one row of na * nb: step elements of each at a time.
template <int E>
void interleave(const TransposeBlock& t) {
  using T = typename Element<E>::Type;
  const hn::ScalableTag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto row = [&](int b, std::int64_t a) {
    return hn::LoadU(d, reinterpret_cast<const T*>(t.rows[b] + a * E));
  };
  for (std::int64_t next = 0; next < t.na; next += lanes) {
    const std::int64_t a = next + lanes <= t.na ? next : t.na - lanes;
    T* const to = reinterpret_cast<T*>(t.cols[0] + a * t.nb * E);
    if (t.nb == 2) hn::StoreInterleaved2(row(0, a), row(1, a), d, to);
    if (t.nb == 3) hn::StoreInterleaved3(row(0, a), row(1, a), row(2, a), d, to);
    if (t.nb == 4) hn::StoreInterleaved4(row(0, a), row(1, a), row(2, a), row(3, a), d, to);
  }
}

/// One row of na * nb becomes na rows of nb.
template <int E>
void deinterleave(const TransposeBlock& t) {
  using T = typename Element<E>::Type;
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t next = 0; next < t.nb; next += lanes) {
    const std::int64_t b = next + lanes <= t.nb ? next : t.nb - lanes;
    const T* const from = reinterpret_cast<const T*>(t.rows[0] + b * t.na * E);
    const auto store = [&](int a, V v) {
      hn::StoreU(v, d, reinterpret_cast<T*>(t.cols[a] + b * E));
    };
    V v0, v1, v2, v3;
    if (t.na == 2) hn::LoadInterleaved2(d, from, v0, v1);
    if (t.na == 3) hn::LoadInterleaved3(d, from, v0, v1, v2);
    if (t.na == 4) hn::LoadInterleaved4(d, from, v0, v1, v2, v3);
    store(0, v0);
    store(1, v1);
    if (t.na >= 3) store(2, v2);
    if (t.na == 4) store(3, v3);
  }
}

template <int E>
void transpose(const TransposeBlock& t) {
  if constexpr (E <= 8) {
    constexpr std::int64_t kLanes = kBlocks * 16 / E;
    if (t.cols_dense && t.nb >= 2 && t.nb <= 4 && t.na >= kLanes) return interleave<E>(t);
    if (t.rows_dense && t.na >= 2 && t.na <= 4 && t.nb >= kLanes) return deinterleave<E>(t);
  }
  bands<E, kBlocks>(t);
}

#endif

/// Runs of a size that the compiler knows.
template <int kRun>
void copy_short(const CopyBlock& c) {
  const Byte* from = c.src;
  Byte* to = c.dst;
  for (std::int64_t r = 0; r < c.rows; ++r, from += c.is, to += c.os) std::memcpy(to, from, kRun);
}

template <int... kRun>
HWY_INLINE void copy_short_switch(const CopyBlock& c, std::integer_sequence<int, kRun...>) {
  using F = void (*)(const CopyBlock&);
  static constexpr F table[] = {copy_short<kRun>...};
  table[c.run](c);
}

void copy_rows(const CopyBlock& c) {
  if (c.valid == c.run && c.run <= 32)
    return copy_short_switch(c, std::make_integer_sequence<int, 33>{});
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
