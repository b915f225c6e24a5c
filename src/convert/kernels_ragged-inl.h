// SPDX-License-Identifier: Apache-2.0
// Copies of rows of several runs, the last of which is shorter or ends in zeros.
#if defined(STOWAGE_CONVERT_RAGGED_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef STOWAGE_CONVERT_RAGGED_INL_H
#undef STOWAGE_CONVERT_RAGGED_INL_H
#else
#define STOWAGE_CONVERT_RAGGED_INL_H
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "convert/kernels_copy-inl.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::conversion {
namespace HWY_NAMESPACE {

#if HWY_TARGET <= HWY_AVX3
/// So many runs of kRun bytes as fill a line, one of each of the rows from p on.
template <int kRun>
HWY_INLINE __m512i load_runs(const Byte* p, std::int64_t is) {
  if constexpr (kRun == 16) return load_quarters(p, p + is, p + 2 * is, p + 3 * is);
  if constexpr (kRun == 32) return load_halves(p, p + is);
  return _mm512_loadu_si512(p);
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
  for (std::int64_t r = safe; r < c.rows; ++r, from += is, to += kRun) {
    for (std::int64_t k = 0; k < n; ++k) {
      Byte* const y = to + k * across_os;
      const std::int64_t bytes = k + 1 < n ? kRun : last_valid;
      std::memcpy(y, from + k * across_is, static_cast<std::size_t>(bytes));
      std::memset(y + bytes, 0, static_cast<std::size_t>(kRun - bytes));
    }
  }
}

/// Runs of each row, the last of which is shorter and not padded: rows without a gap between runs.
/// A whole run is written there as well, which the next row puts right; not behind the last row.
template <int kRun>
void copy_cut(const CopyBlock& c) {
  const hn::FixedTag<Byte, kRun> d;
  const std::int64_t rows = c.rows, is = c.is, os = c.os, n = c.across, across_is = c.across_is,
                     last_run = c.last_run;  // bytes may alias c
  const bool asked = c.tuning->prefetch_for_write;
  const std::int64_t safe =
      std::min(rows - kRun / os - 1, rows_with_room(c, (n - 1) * across_is + kRun));
  const Byte* from = c.src;
  Byte* to = c.dst;
  for (std::int64_t r = 0; r < safe; ++r, from += is, to += os) {
    if (asked) prefetch_for_write(to + 512);
    const Byte* x = from;
    Byte* y = to;
    for (std::int64_t k = 0; k < n; ++k, x += across_is, y += kRun)
      hn::StoreU(hn::LoadU(d, x), d, y);
  }
  for (std::int64_t r = std::max<std::int64_t>(safe, 0); r < rows; ++r, from += is, to += os) {
    for (std::int64_t k = 0; k < n; ++k)
      std::memcpy(to + k * kRun, from + k * across_is,
                  static_cast<std::size_t>(k + 1 < n ? kRun : last_run));
  }
}

/// kN runs of 16 bytes that follow each other in a row, of each of the four rows from p on: x[k] is
/// run k of all. As few loads as hold them.
template <int kN>
HWY_INLINE void load_runs_across(__m512i (&x)[kN], const Byte* p, std::int64_t is) {
  if constexpr (kN == 2) {
    const __m512i low = load_halves(p, p + is), high = load_halves(p + 2 * is, p + 3 * is);
    x[0] = _mm512_shuffle_i32x4(low, high, 0x88);
    x[1] = _mm512_shuffle_i32x4(low, high, 0xdd);
  } else {
    const __m512i row0 = _mm512_loadu_si512(p), row1 = _mm512_loadu_si512(p + is),
                  row2 = _mm512_loadu_si512(p + 2 * is), row3 = _mm512_loadu_si512(p + 3 * is);
    const __m512i first0 = _mm512_shuffle_i32x4(row0, row1, 0x44),
                  first1 = _mm512_shuffle_i32x4(row2, row3, 0x44),
                  last0 = _mm512_shuffle_i32x4(row0, row1, 0xee),
                  last1 = _mm512_shuffle_i32x4(row2, row3, 0xee);
    x[0] = _mm512_shuffle_i32x4(first0, first1, 0x88);
    x[1] = _mm512_shuffle_i32x4(first0, first1, 0xdd);
    x[2] = _mm512_shuffle_i32x4(last0, last1, 0x88);
    if constexpr (kN == 4) x[3] = _mm512_shuffle_i32x4(last0, last1, 0xdd);
  }
}

/// As copy_ragged_as for kN runs of 16 bytes that follow each other in a row.
template <int kN>
void copy_ragged_across(const CopyBlock& c) {
  constexpr std::int64_t kReach = kN == 2 ? 32 : 64;
  const std::int64_t is = c.is, across_os = c.across_os;  // bytes may alias c
  const bool asked = c.tuning->prefetch_for_write;
  const std::uint64_t run = (std::uint64_t{1} << c.last_valid) - 1;
  const __mmask64 mask = run | run << 16 | run << 32 | run << 48;
  const std::int64_t safe = rows_with_room(c, kReach) / 4 * 4;
  const Byte* from = c.src;
  Byte* to = c.dst;
  for (std::int64_t r = 0; r < safe; r += 4, from += 4 * is, to += 64) {
    __m512i x[kN];
    load_runs_across<kN>(x, from, is);
    x[kN - 1] = _mm512_maskz_mov_epi8(mask, x[kN - 1]);
    HWY_UNROLL(4)
    for (int k = 0; k < kN; ++k) {
      if (asked) prefetch_for_write(to + k * across_os + 512);
      _mm512_storeu_si512(to + k * across_os, x[k]);
    }
  }
  CopyBlock rest = c;
  rest.src = from;
  rest.dst = to;
  rest.rows -= safe;
  if (rest.rows > 0) copy_ragged_as<16, 1>(rest);
}

template <int kRun>
void copy_ragged_runs(const CopyBlock& c) {
  if (kRun > 16 && c.last_run < kRun) return copy_cut<kRun>(c);
  // Shuffles save loads where they are not the dearer ones.
  if (kRun == 16 && c.across_is == kRun && c.tuning->cheap_two_sources()) {
    if (c.across == 2) return copy_ragged_across<2>(c);
    if (c.across == 3) return copy_ragged_across<3>(c);
    if (c.across == 4) return copy_ragged_across<4>(c);
  }
  // So many streams are written better one after the other than in turns.
  constexpr std::int64_t kFewBlocks = 5;
  c.across <= kFewBlocks ? copy_ragged_as<kRun, 1>(c) : copy_ragged_as<kRun, 4>(c);
}

void copy_ragged(const CopyBlock& c) {
  if (c.run == 16) return copy_ragged_runs<16>(c);
  c.run == 32 ? copy_ragged_runs<32>(c) : copy_ragged_runs<64>(c);
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace stowage::conversion

HWY_AFTER_NAMESPACE();

#endif
