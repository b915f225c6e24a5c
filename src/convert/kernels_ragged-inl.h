// SPDX-License-Identifier: Apache-2.0
// Rows of several runs: copies of those whose last run is shorter or ends in zeros, and
// transpositions of few short ones.
#if defined(STOWAGE_CONVERT_RAGGED_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef STOWAGE_CONVERT_RAGGED_INL_H
#undef STOWAGE_CONVERT_RAGGED_INL_H
#else
#define STOWAGE_CONVERT_RAGGED_INL_H
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "convert/kernels_copy-inl.h"
#include "convert/kernels_squares-inl.h"
#include "convert/kernels_transpose-inl.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::conversion {
namespace HWY_NAMESPACE {

#if HWY_TARGET <= HWY_AVX3
/// So many runs of kRun bytes as fill a line, one of each of the rows from p on.
template <int kRun>
HWY_INLINE __m512i load_runs(const Byte* p, std::int64_t is) {
  if constexpr (kRun == 32) return load_halves(p, p + is);
  return _mm512_loadu_si512(p);
}

/// Rows of several runs, the last of which is shorter or ends in zeros.
inline void copy_run_by_run(const CopyBlock& c) {
  const std::int64_t zeros = c.last_run - c.last_valid;
  for (std::int64_t r = 0; r < c.rows; ++r) {
    const Byte* from = c.src + r * c.is;
    Byte* to = c.dst + r * c.os;
    for (std::int64_t k = 1; k < c.across; ++k, from += c.across_is, to += c.across_os)
      std::memcpy(to, from, static_cast<std::size_t>(c.run));
    std::memcpy(to, from, static_cast<std::size_t>(c.last_valid));
    std::memset(to + c.last_valid, 0, static_cast<std::size_t>(zeros));
  }
}

/// Runs of each row, the last of which ends in zeros; those of one block of the destination follow
/// each other there. Lines of it are put together from as many rows as that takes, kLines of a
/// block before the next block.
template <int kRun, std::int64_t kLines>
void copy_ragged_as(const CopyBlock& c) {
  constexpr std::int64_t kRows = 64 / kRun;
  const std::int64_t is = c.is, n = c.across, across_is = c.across_is, across_os = c.across_os,
                     last_valid = c.last_valid;  // bytes may alias c
  const bool asked = c.tuning->prefetch_for_write;
  std::uint64_t valid = 0;
  for (std::int64_t i = 0; i < 64; ++i) valid |= std::uint64_t{i % kRun < last_valid} << i;
  const __mmask64 mask = valid;
  const std::int64_t safe =
      rows_with_room(c, (n - 1) * across_is + kRun) / (kLines * kRows) * (kLines * kRows);
  const Byte* from = c.src;
  Byte* to = c.dst;
  for (std::int64_t r = 0; r < safe; r += kLines * kRows) {
    const Byte* x = from;
    Byte* y = to;
    for (std::int64_t k = 1; k < n; ++k, x += across_is, y += across_os) {
      HWY_UNROLL(4)
      for (std::int64_t line = 0; line < kLines; ++line) {
        if (asked) prefetch_for_write(y + 512 + line * 64);
        _mm512_storeu_si512(y + line * 64, load_runs<kRun>(x + line * kRows * is, is));
      }
    }
    HWY_UNROLL(4)
    for (std::int64_t line = 0; line < kLines; ++line) {
      if (asked) prefetch_for_write(y + 512 + line * 64);
      _mm512_storeu_si512(y + line * 64,
                          _mm512_maskz_mov_epi8(mask, load_runs<kRun>(x + line * kRows * is, is)));
    }
    from += kLines * kRows * is;
    to += kLines * 64;
  }
  if (safe < c.rows) copy_run_by_run(rows_from(c, safe));
}

/// Runs of each row, the last of which is shorter and not padded: rows without a gap between runs.
template <int kRun>
void copy_cut(const CopyBlock& c) {
  const hn::FixedTag<Byte, kRun> d;
  const std::int64_t rows = c.rows, is = c.is, os = c.os, n = c.across,
                     across_is = c.across_is;  // bytes may alias c
  const bool asked = c.tuning->prefetch_for_write;
  const auto last = hn::FirstN(d, static_cast<std::size_t>(c.last_run));
  const Byte* from = c.src;
  Byte* to = c.dst;
  for (std::int64_t r = 0; r < rows; ++r, from += is, to += os) {
    if (asked) prefetch_for_write(to + 512);
    const Byte* x = from;
    Byte* y = to;
    for (std::int64_t k = 1; k < n; ++k, x += across_is, y += kRun)
      hn::StoreU(hn::LoadU(d, x), d, y);
    hn::BlendedStore(hn::MaskedLoad(last, d, x), last, d, y);
  }
}

/// The same of two runs of 32 bytes: one store, over the beginning of the next row but for the
/// last.
inline void copy_cut_pairs(const CopyBlock& c) {
  const std::int64_t rows = c.rows, is = c.is, os = c.os,
                     across_is = c.across_is;  // bytes may alias c
  const bool asked = c.tuning->prefetch_for_write;
  const __mmask64 last = first_bytes(32 + c.last_run);
  const Byte* from = c.src;
  Byte* to = c.dst;
  for (std::int64_t r = 1; r <= rows; ++r, from += is, to += os) {
    if (asked) prefetch_for_write(to + 512);
    const __m512i v = _mm512_inserti64x4(
        _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))),
        _mm256_maskz_loadu_epi8(static_cast<__mmask32>(last >> 32), from + across_is), 1);
    r < rows ? _mm512_storeu_si512(to, v) : _mm512_mask_storeu_epi8(to, last, v);
  }
}

template <int kRun>
void copy_ragged_runs(const CopyBlock& c) {
  if (c.last_run < kRun) return kRun == 32 && c.across == 2 ? copy_cut_pairs(c) : copy_cut<kRun>(c);
  // So many streams are written better one after the other than in turns.
  constexpr std::int64_t kFewBlocks = 5;
  c.across <= kFewBlocks ? copy_ragged_as<kRun, 1>(c) : copy_ragged_as<kRun, 4>(c);
}

/// Short runs of E bytes: those at equal places of kRows rows are a line. `kWidth`, 16, 32 or 64
/// bytes, holds all of a row; part q of register k of group g is of row (g * kParts + q) * kL + k.
template <int E, int kWidth>
struct ShortRuns {
  static constexpr int kL = 16 / E, kRows = 64 / E, kParts = 64 / kWidth,
                       kGroups = kRows / kL / kParts;
  using D = TileTag<E, kBlocks>;
  using V = hn::Vec<D>;

  /// Bytes that `mask` has not are zero, and not read.
  static HWY_INLINE __m512i load(const Byte* p, std::int64_t distance, __mmask64 mask) {
    if constexpr (kWidth == 64) {
      return _mm512_maskz_loadu_epi8(mask, p);
    } else if constexpr (kWidth == 32) {
      const auto half = static_cast<__mmask32>(mask);
      return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_maskz_loadu_epi8(half, p)),
                                _mm256_maskz_loadu_epi8(half, p + distance), 1);
    } else {
      const auto quarter = [&](int q) HWY_ATTR {
        return _mm_maskz_loadu_epi8(static_cast<__mmask16>(mask), p + q * distance);
      };
      __m512i x = _mm512_inserti32x4(_mm512_castsi128_si512(quarter(0)), quarter(1), 1);
      x = _mm512_inserti32x4(x, quarter(2), 2);
      return _mm512_inserti32x4(x, quarter(3), 3);
    }
  }

  /// Rows from p on become lines of their runs: store(v, i) is run i of all.
  template <class Store>
  static HWY_INLINE void part(const Byte* p, std::int64_t distance, __mmask64 mask,
                              const Store& store) {
    const D d;
    V x[kGroups][kL];
    HWY_UNROLL(4)
    for (int g = 0; g < kGroups; ++g) {
      HWY_UNROLL(4)
      for (int k = 0; k < kL; ++k)
        x[g][k].raw = load(p + (g * kParts * kL + k) * distance, kL * distance, mask);
      if constexpr (kL > 1) shuffle_rows<kL>(d, x[g]);
    }
    HWY_UNROLL(4)
    for (int k = 0; k < kL; ++k) {
      if constexpr (kWidth == 64) {
        store_quarters(x[0][k].raw, x[1][k].raw, x[2][k].raw, x[3][k].raw,
                       [&](__m512i v, int i) HWY_ATTR { store(v, i * kL + k); });
      } else if constexpr (kWidth == 32) {
        store(_mm512_shuffle_i32x4(x[0][k].raw, x[1][k].raw, 0x88), k);
        store(_mm512_shuffle_i32x4(x[0][k].raw, x[1][k].raw, 0xdd), kL + k);
      } else {
        store(x[0][k].raw, k);
      }
    }
  }

  /// The same undone: load(i) is run i of all. `kOver`: rows are stored whole, each over the
  /// beginning of the next, but the last; they are at least half as long.
  template <bool kOver, class Load>
  static HWY_INLINE void join(const Load& load, Byte* p, std::int64_t distance, __mmask64 mask) {
    const D d;
    V x[kGroups][kL];
    HWY_UNROLL(4)
    for (int k = 0; k < kL; ++k) {
      if constexpr (kWidth == 64) {
        store_quarters(load(k), load(kL + k), load(2 * kL + k), load(3 * kL + k),
                       [&](__m512i v, int g) HWY_ATTR { x[g][k].raw = v; });
      } else if constexpr (kWidth == 32) {
        interleave_quarters(load(k), load(kL + k), x[0][k].raw, x[1][k].raw);
      } else {
        x[0][k].raw = load(k);
      }
    }
    HWY_UNROLL(4)
    for (int g = 0; g < kGroups; ++g) {
      if constexpr (kL > 1) shuffle_rows<kL>(d, x[g]);
      p = store_parts<kOver>(x[g], p, distance, mask, g == kGroups - 1);
    }
  }

 private:
  /// The rows of registers of a group from part q on, in their order. Returns where the next
  /// begins.
  template <bool kOver, int q = 0>
  static HWY_INLINE Byte* store_parts(const V (&x)[kL], Byte* p, std::int64_t distance,
                                      __mmask64 mask, bool last) {
    HWY_UNROLL(4)
    for (int k = 0; k < kL; ++k, p += distance) {
      asm("" : "+r"(p));  // step by step: compilers would compute all of them first
      const bool whole = kOver && !(last && q == kParts - 1 && k == kL - 1);
      if constexpr (kWidth == 64) {
        const __m512i v = x[k].raw;
        whole ? _mm512_storeu_si512(p, v) : _mm512_mask_storeu_epi8(p, mask, v);
      } else if constexpr (kWidth == 32) {
        const __m256i v = _mm512_extracti64x4_epi64(x[k].raw, q);
        whole ? _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v)
              : _mm256_mask_storeu_epi8(p, static_cast<__mmask32>(mask), v);
      } else {
        const __m128i v = _mm512_extracti32x4_epi32(x[k].raw, q);
        whole ? _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v)
              : _mm_mask_storeu_epi8(p, static_cast<__mmask16>(mask), v);
      }
    }
    if constexpr (q + 1 < kParts) p = store_parts<kOver, q + 1>(x, p, distance, mask, last);
    return p;
  }
};

/// `n` runs of each of some rows of the block, from run `first` on, the last of which has `bytes`
/// of a whole one: into lines where those lie next to each other in the destination, else out of
/// them.
template <int E, int kWidth>
HWY_NOINLINE void copy_short_runs(const CopyBlock& c, std::int64_t row, std::int64_t rows,
                                  std::int64_t first, std::int64_t n, std::int64_t bytes) {
  using Runs = ShortRuns<E, kWidth>;
  const __mmask64 mask = first_bytes((n - 1) * E + bytes);
  const std::int64_t is = c.is, os = c.os, across_is = c.across_is,
                     across_os = c.across_os;  // bytes may alias c
  const bool asked = c.tuning->prefetch_for_write;
  const Byte* const src = c.src + row * is + first * across_is;
  Byte* const dst = c.dst + row * os + first * across_os;
  if (os == E) {
    in_steps<Runs::kRows>(rows, [&](std::int64_t r) HWY_ATTR {
      Byte* const to = dst + r * E;
      Runs::part(src + r * is, is, mask, [&](__m512i v, int i) HWY_ATTR {
        if (i >= n) return;
        if (asked) prefetch_for_write(to + i * across_os + 512);
        _mm512_storeu_si512(to + i * across_os, v);
      });
    });
    return;
  }
  const auto join = [&](auto over) HWY_ATTR {
    in_steps<Runs::kRows>(rows, [&](std::int64_t r) HWY_ATTR {
      const Byte* const from = src + r * E;
      if (asked) prefetch_ahead(dst + r * os, Runs::kRows * os);
      Runs::template join<over()>(
          [&](int i) HWY_ATTR {
            return i < n ? _mm512_loadu_si512(from + i * across_is) : _mm512_setzero_si512();
          },
          dst + r * os, os, mask);
    });
  };
  // Of rows of several vectors the next one's first is there already; of shorter rows than half a
  // vector more than the last reach behind it.
  c.across == n && 2 * os >= kWidth ? join(std::true_type()) : join(std::false_type());
}

/// Rows of runs of E bytes, of which the last may end in zeros or be shorter: of several vectors a
/// row, a few rows at a time.
template <int E>
void move_short_runs(const CopyBlock& c) {
  constexpr std::int64_t kRuns = 64 / E, kNear = 8192;  // runs of a vector, and rows of a step
  if (c.rows < kRuns) return copy_run_by_run(c);
  const auto move = [&](std::int64_t row, std::int64_t rows, std::int64_t first) {
    const std::int64_t n = std::min(kRuns, c.across - first),
                       bytes = first + n == c.across ? c.last_valid : E;
    if (2 * n > kRuns) return copy_short_runs<E, 64>(c, row, rows, first, n, bytes);
    if (4 * n > kRuns) return copy_short_runs<E, 32>(c, row, rows, first, n, bytes);
    copy_short_runs<E, 16>(c, row, rows, first, n, bytes);
  };
  const std::int64_t near = std::max(kNear / std::max(c.is, c.os) / kRuns, std::int64_t{1}) * kRuns,
                     some = c.across <= kRuns ? c.rows : near;
  for (std::int64_t row = 0; row < c.rows;) {
    const std::int64_t left = c.rows - row, rows = left < 2 * some ? left : some;
    for (std::int64_t first = 0; first < c.across; first += kRuns) move(row, rows, first);
    row += rows;
  }
}

/// Tiles have non-temporal stores.
template <int E>
void part_runs(const TransposeBlock& t) {
  if (t.non_temporal) return bands<E, kBlocks>(t);
  move_short_runs<E>({t.row(0), t.column(0), t.nb, t.row_stride, E, E, E, t.src_end, t.tuning, t.na,
                      E, t.col_stride, E, E});
}

template <int E>
void join_runs(const TransposeBlock& t) {
  if (t.non_temporal) return bands<E, kBlocks>(t);
  move_short_runs<E>({t.row(0), t.column(0), t.na, E, t.col_stride, E, E, t.src_end, t.tuning, t.nb,
                      t.row_stride, E, E, E});
}

void copy_ragged(const CopyBlock& c) {
  if (c.run == 4) return move_short_runs<4>(c);
  if (c.run == 8) return move_short_runs<8>(c);
  if (c.run == 16) return move_short_runs<16>(c);
  c.run == 32 ? copy_ragged_runs<32>(c) : copy_ragged_runs<64>(c);
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace stowage::conversion

HWY_AFTER_NAMESPACE();

#endif
