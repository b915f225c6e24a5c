// SPDX-License-Identifier: Apache-2.0
// Runs: of any length, several in each row, and padded with zeros.
#if defined(STOWAGE_CONVERT_COPY_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef STOWAGE_CONVERT_COPY_INL_H
#undef STOWAGE_CONVERT_COPY_INL_H
#else
#define STOWAGE_CONVERT_COPY_INL_H
#endif

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "convert/kernels_tile-inl.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::conversion {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR
/// Runs with small gaps behind them in the source and none in the destination: what 16 bytes hold
/// at once, each written over the end of the one before. Returns how many are done.
template <int kRun>
std::int64_t press_runs(const CopyBlock& c) {
  const hn::FixedTag<Byte, 16> d;
  const std::int64_t is = c.is, at_once = 16 / is, rows = c.rows;
  const auto press = hn::LoadU(d, order_of_pieces<Byte, 16>(kRun, is, kRun).data());
  const Byte* from = c.src;
  Byte* to = c.dst;
  std::int64_t r = 0;
#if HWY_TARGET <= HWY_AVX3
  if (16 % is == 0 && at_once * kRun % 4 == 0) {  // four times as many, their words moved together
    const std::int64_t words = at_once * kRun / 4;
    const auto places = order_of_pieces<std::int32_t, 16>(words, 4, words);
    const __m512i gather = _mm512_loadu_si512(places.data()),
                  each = _mm512_broadcast_i32x4(press.raw);
    for (; (rows - r) * kRun >= 64 && c.src_end - from >= 64; r += 4 * at_once) {
      const __m512i pressed = _mm512_shuffle_epi8(_mm512_loadu_si512(from), each);
      _mm512_storeu_si512(to, _mm512_permutexvar_epi32(gather, pressed));
      from += 64;
      to += 4 * at_once * kRun;
    }
  }
#endif
  for (; (rows - r) * kRun >= 16 && c.src_end - from >= 16; r += at_once) {
    hn::StoreU(hn::TableLookupBytesOr0(hn::LoadU(d, from), press), d, to);
    from += at_once * is;
    to += at_once * kRun;
  }
  return r;
}
#endif

/// Runs of a size that the compiler knows.
template <int kRun>
void copy_short(const CopyBlock& c) {
  const std::int64_t rows = c.rows, is = c.is, os = c.os;  // bytes may alias c
  const Byte* from = c.src;
  Byte* to = c.dst;
  std::int64_t r = 0;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (kRun > 0 && kRun < 8) {
    if (os == kRun && is > kRun && is <= 8) {
      r = press_runs<kRun>(c);
      from += r * is;
      to += r * os;
    }
  }
#endif
  constexpr std::int64_t kWide = std::bit_ceil(static_cast<unsigned>(kRun));
  if (kWide > kRun && kRun > 2 && os == kRun && is >= kWide) {
    // One move each, the end of which the next writes over; not past the end of the last.
    const std::int64_t wide = rows - (kWide + kRun - 1) / kRun;
    for (; r < wide; ++r, from += is, to += os) std::memcpy(to, from, kWide);
  }
  HWY_UNROLL(2)  // so short a loop is slower where it lies across a line of code
  for (; r < rows; ++r, from += is, to += os) std::memcpy(to, from, kRun);
}

template <int... kRun>
HWY_INLINE void copy_short_switch(const CopyBlock& c, std::integer_sequence<int, kRun...>) {
  using F = void (*)(const CopyBlock&);
  static constexpr F table[] = {copy_short<kRun>...};
  table[c.run](c);
}

#if HWY_TARGET != HWY_SCALAR

/// What is prefetched for write while runs are copied.
enum class Ahead {
  none,
  ends,   ///< the first and the last line of a run further on
  lines,  ///< each line, where runs are long or follow each other
};

/// One run in vectors, the last of which overlaps the one before; `ahead` of its place are those of
/// the lines that are prefetched.
template <Ahead kHow, class D>
HWY_INLINE void copy_run(D d, const Byte* from, Byte* to, std::int64_t run, std::int64_t ahead) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if (kHow == Ahead::ends) {
    prefetch_for_write(to + ahead);
    if (run > lanes) prefetch_for_write(to + ahead + run - 1);
  }
  std::int64_t i = 0;
  for (; i + lanes < run; i += lanes) {
    if (kHow == Ahead::lines) prefetch_for_write(to + ahead + i);
    hn::StoreU(hn::LoadU(d, from + i), d, to + i);
  }
  if (kHow == Ahead::lines) prefetch_for_write(to + ahead + run - lanes);
  hn::StoreU(hn::LoadU(d, from + run - lanes), d, to + run - lanes);
}

/// Runs longer than 32 bytes in vectors.
template <Ahead kHow>
void copy_vectors_as(const CopyBlock& c, std::int64_t ahead) {
  const hn::ScalableTag<Byte> d;
  const std::int64_t rows = c.rows, is = c.is, os = c.os, run = c.run;  // bytes may alias c
  const Byte* from = c.src;
  Byte* to = c.dst;
  if constexpr (kBlocks == 4) {
    if (run < 64) {  // two halves
      const hn::Half<decltype(d)> half;
      for (std::int64_t r = 0; r < rows; ++r, from += is, to += os)
        copy_run<kHow>(half, from, to, run, ahead);
      return;
    }
  }
  for (std::int64_t r = 0; r < rows; ++r, from += is, to += os)
    copy_run<kHow>(d, from, to, run, ahead);
}

void copy_vectors(const CopyBlock& c) {
  constexpr std::int64_t kFewLines = 256;  // bytes of a run whose first and last line stand for all
  if (!c.tuning->prefetch_for_write) return copy_vectors_as<Ahead::none>(c, 0);
  if (c.os == c.run) return copy_vectors_as<Ahead::lines>(c, kAheadOfDense);
  c.run <= kFewLines ? copy_vectors_as<Ahead::ends>(c, 8 * c.os)
                     : copy_vectors_as<Ahead::lines>(c, 3 * c.os);
}

/// The block without its first rows. Made when they are done: a copy of what has just been written
/// word by word waits until it has left for the cache.
inline CopyBlock rows_from(const CopyBlock& c, std::int64_t row) {
  CopyBlock rest = c;
  rest.src += row * c.is;
  rest.dst += row * c.os;
  rest.rows -= row;
  return rest;
}

/// How many rows may be read for `reach` bytes each without passing the end of the source.
inline std::int64_t rows_with_room(const CopyBlock& c, std::int64_t reach) {
  const std::int64_t room = c.src_end - c.src - reach;
  if (c.is < 0 || room < 0) return 0;
  return c.is == 0 ? c.rows : std::min(c.rows, room / c.is + 1);
}

/// Bytes whose number the compiler knows, in as wide vectors as there are.
template <int kBytes>
HWY_INLINE void copy_bytes(const Byte* from, Byte* to) {
  constexpr int kVector = std::min(kBytes, 16 * kBlocks);
  const hn::FixedTag<Byte, kVector> d;
  for (int i = 0; i < kBytes; i += kVector) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
}

/// One run of half of kWide bytes to all of them, as it is.
template <int kWide>
HWY_INLINE void copy_exactly(const Byte* from, Byte* to, std::int64_t run) {
  copy_bytes<kWide / 2>(from, to);
  copy_bytes<kWide / 2>(from + run - kWide / 2, to + run - kWide / 2);
}

/// Several short runs of each row that follow each other in the destination, of more than half of
/// kWide bytes: all of those are moved, and the next run is written over those behind its own.
template <int kWide, bool kAsked>
void copy_over_as(const CopyBlock& c) {
  const std::int64_t is = c.is, os = c.os, n = c.across, run = c.run,
                     step = c.across_is;  // bytes may alias c
  const std::int64_t reach = std::max<std::int64_t>(step, 0) * (n - 1) + kWide,
                     safe = rows_with_room(c, reach);
  const Byte* from = c.src;
  Byte* to = c.dst;
  for (std::int64_t r = 0; r < safe; ++r, from += is, to += os) {
    const Byte* x = from;
    Byte* y = to;
    HWY_UNROLL(4)
    for (std::int64_t k = 1; k < n; ++k, x += step, y += run) {
      if (kAsked) prefetch_for_write(y + kAheadOfDense);
      copy_bytes<kWide>(x, y);
    }
    copy_exactly<kWide>(x, y, run);
  }
  for (std::int64_t r = safe; r < c.rows; ++r, from += is, to += os) {
    for (std::int64_t k = 0; k < n; ++k) copy_exactly<kWide>(from + k * step, to + k * run, run);
  }
}

template <int kWide>
void copy_over(const CopyBlock& c) {
  const bool asked = c.tuning->prefetch_for_write && is_dense(c.run, c.across_os, c.across, c.os);
  asked ? copy_over_as<kWide, true>(c) : copy_over_as<kWide, false>(c);
}

/// Several runs of each row, of 32 bytes or more; kRun and kAcross are 0 where only the block
/// knows.
template <int kRun, int kAcross, Ahead kHow>
void copy_across_as(const CopyBlock& c, std::int64_t ahead) {
  using D = std::conditional_t<kRun == 32, hn::FixedTag<Byte, kBlocks == 1 ? 16 : 32>,
                               hn::FixedTag<Byte, 16 * kBlocks> >;
  const std::int64_t rows = c.rows, is = c.is, os = c.os, n = kAcross > 0 ? kAcross : c.across,
                     step_is = c.across_is, step_os = c.across_os,
                     run = kRun > 0 ? kRun : c.run;  // bytes may alias c
  const Byte* from = c.src;
  Byte* to = c.dst;
  for (std::int64_t r = 0; r < rows; ++r, from += is, to += os) {
    const Byte* x = from;
    Byte* y = to;
    for (std::int64_t k = 0; k < n; ++k, x += step_is, y += step_os)
      copy_run<kHow>(D(), x, y, run, ahead);
  }
}

#if HWY_TARGET <= HWY_AVX3
/// Two runs of 32 bytes that are a line of the destination, in loads of 16 bytes: as in
/// join_blocks.
void copy_two_halves(const CopyBlock& c) {
  const std::int64_t rows = c.rows, is = c.is, os = c.os, other = c.across_is;  // bytes may alias c
  const Byte* from = c.src;
  Byte* to = c.dst;
  for (std::int64_t r = 0; r < rows; ++r, from += is, to += os)
    _mm512_storeu_si512(to, load_quarters(from, from + 16, from + other, from + other + 16));
}
#endif

template <int kRun, int kAcross>
void copy_across(const CopyBlock& c) {
#if HWY_TARGET <= HWY_AVX3
  if (kRun == 32 && kAcross == 2 && c.across_os == 32 && c.tuning->loads_pieces())
    return copy_two_halves(c);
#endif
  if (!c.tuning->prefetch_for_write) return copy_across_as<kRun, kAcross, Ahead::none>(c, 0);
  is_dense(c.run, c.across_os, c.across, c.os)
      ? copy_across_as<kRun, kAcross, Ahead::lines>(c, kAheadOfDense)
      : copy_across_as<kRun, kAcross, Ahead::ends>(c, 4 * c.os);
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

#if HWY_TARGET <= HWY_AVX3
/// Runs of 16 bytes without a gap behind each other, of which a vector of the source holds what
/// four need: its words go where those runs are, bytes to their places there. Returns how many are
/// done.
HWY_INLINE std::int64_t spread_pieces(const CopyBlock& c, std::int64_t rows) {
  const std::int64_t is = c.is;
  alignas(64) std::int32_t words[16];
  alignas(64) Byte order[64];
  for (int k = 0; k < 4; ++k) {
    const auto at = static_cast<int>(k * is);
    for (int i = 0; i < 4; ++i) words[4 * k + i] = std::min(at / 4 + i, 15);
    for (int i = 0; i < 16; ++i)
      order[16 * k + i] = i < c.valid ? static_cast<Byte>(at % 4 + i) : Byte{0x80};
  }
  const __m512i gather = _mm512_load_si512(words), spread = _mm512_load_si512(order);
  const bool asked = c.tuning->prefetch_for_write;
  const std::int64_t room = c.src_end - c.src - 64,
                     safe = room < 0 ? 0 : std::min(rows, room / is + 4);
  const Byte* from = c.src;
  Byte* to = c.dst;
  std::int64_t r = 0;
  for (; r + 4 <= safe; r += 4, from += 4 * is, to += 64) {
    if (asked) prefetch_for_write(to + 512);
    const __m512i x = _mm512_permutexvar_epi32(gather, _mm512_loadu_si512(from));
    _mm512_storeu_si512(to, _mm512_shuffle_epi8(x, spread));
  }
  return r;
}

/// Whether four such runs are in one vector of the source, and each of them in four of its words.
inline bool for_spread_pieces(const CopyBlock& c) {
  const std::int64_t most_within = c.is % 4 == 0 ? 0 : c.is % 2 == 0 ? 2 : 3;
  return c.is > 0 && 3 * c.is + c.valid <= 64 && most_within + c.valid <= 16;
}
#endif

/// As copy_pieces for one piece, where the runs follow each other without a gap: a vector of them
/// at once.
HWY_INLINE void copy_dense_pieces(const CopyBlock& c, std::int64_t rows, const Byte* mask) {
  const TileTag<1, kBlocks> d;
  const auto last = hn::LoadDup128(d, mask);
  const bool asked = c.tuning->prefetch_for_write;  // bytes may alias c
  const std::int64_t is = c.is;
  Byte* to = c.dst;
  std::int64_t r = 0;
  if (is == c.valid && kBlocks * c.valid <= 16) {  // one load holds all of them
    const auto order = order_of_pieces<Byte, 16 * kBlocks>(c.valid, c.valid, 16);
    const auto spread = hn::LoadU(d, order.data());
    const Byte* from = c.src;
    for (; r + kBlocks <= rows; r += kBlocks, to += 16 * kBlocks) {
      if (asked) prefetch_for_write(to + 512);
      hn::StoreU(hn::TableLookupBytesOr0(hn::LoadDup128(d, from), spread), d, to);
      from += kBlocks * is;
    }
  }
#if HWY_TARGET <= HWY_AVX3
  if (r == 0 && for_spread_pieces(c)) {
    r = spread_pieces(c, rows);
    to += r * 16;
  }
#endif
  EvenRows<1> from(c.src + r * is, is);
  for (; r + kBlocks <= rows; r += kBlocks, to += 16 * kBlocks) {
    if (asked) prefetch_for_write(to + 512);
    hn::StoreU(hn::And(load_rows<1, kBlocks>(from, 0), last), d, to);
    from.skip(kBlocks * is);
  }
  copy_pieces<1, 1>(rows_from(c, r), rows - r, mask);
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
  const bool asked = c.tuning->prefetch_for_write;
  const Byte* from = c.src;
  Byte* to = c.dst;
  for (std::int64_t r = 0; r < rows; ++r, from += is, to += os) {
    if (asked) prefetch_for_write(to + 8 * os);
    hn::StoreU(hn::MaskedLoad(valid, d, from), d, to);
  }
}
#endif

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
  HWY_UNROLL(4)
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

/// Whether 16 bytes of the source hold the rows of 16 bytes that are made of them.
inline bool near_words(const CopyBlock& c) {
  return c.os == c.run && c.is > 0 && (16 / c.run - 1) * c.is + c.valid <= 16;
}

/// Rows of 2, 4 or 8 bytes that end in zeros, near each other in the source and without a gap in
/// the destination: as many as fill a vector at once. Returns how many are done.
std::int64_t copy_near_words(const CopyBlock& c) {
  const TileTag<1, kBlocks> d;
  const std::int64_t is = c.is, words = 16 / c.run;
  const auto order = order_of_pieces<Byte, 16>(c.valid, is, c.run);
  const auto spread = hn::LoadDup128(d, order.data());
  const std::int64_t safe = rows_with_room(c, 16);
  const bool asked = c.tuning->prefetch_for_write;
  EvenRows<1> from(c.src, words * is);
  Byte* to = c.dst;
  std::int64_t row = 0;
  for (; row + kBlocks * words <= safe; row += kBlocks * words, to += 16 * kBlocks) {
    if (asked) prefetch_for_write(to + 512);
    hn::StoreU(hn::TableLookupBytesOr0(load_rows<1, kBlocks>(from, 0), spread), d, to);
    from.skip(kBlocks * words * is);
  }
  return row;
}

constexpr bool is_word(std::int64_t run) { return run <= 8 && (run & (run - 1)) == 0; }

/// Runs of 2, 4, 8 or 16 bytes that end in zeros, without a gap on both sides but for what lies in
/// the place of the zeros. Returns how many are done.
std::int64_t copy_dense_masked(const CopyBlock& c) {
  const TileTag<1, kBlocks> d;
  constexpr std::int64_t kVectorBytes = 16 * kBlocks;
  alignas(16) Byte bytes[16] = {};
  std::memset(bytes, 0xff, static_cast<std::size_t>(c.valid));
  for (std::int64_t i = c.run; i < 16; i *= 2)
    std::memcpy(bytes + i, bytes, static_cast<std::size_t>(i));
  const auto mask = hn::LoadDup128(d, bytes);
  // The last run may end where the source does.
  const std::int64_t whole = c.rows * c.run,
                     all = c.src_end - c.src < whole ? whole - c.run : whole;
  const Byte* const from = c.src;
  Byte* const to = c.dst;
  const bool asked = c.tuning->prefetch_for_write;
  std::int64_t i = 0;
  const auto move = [&](std::int64_t at) HWY_ATTR {
    hn::StoreU(hn::And(hn::LoadU(d, from + at), mask), d, to + at);
  };
  for (; i + kVectorBytes <= all; i += kVectorBytes) {
    if (asked) prefetch_for_write(to + i + 512);
    move(i);
  }
  if (i == 0 || i == all) return i / c.run;
  move(all - kVectorBytes);
  return all / c.run;
}

/// Short runs that end in zeros, a row or a few at a time.
void copy_padded_rows(const CopyBlock& c) {
  if (is_word(c.run)) {
    if (c.run == 8) return copy_words<std::uint64_t>(c);
    if (c.run == 4) return copy_words<std::uint32_t>(c);
    if (c.run == 2) return copy_words<std::uint16_t>(c);
  }
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

/// Short runs that end in zeros. Not read past the end of the source.
void copy_padded(const CopyBlock& c) {
  const bool word = is_word(c.run);
  std::int64_t done = 0;
  if (c.valid > 0 && (word || c.run == 16) && c.is == c.run && c.os == c.run) {
    done = copy_dense_masked(c);
  } else if (c.valid > 0 && word && near_words(c)) {
    done = copy_near_words(c);
  }
  if (done == 0) return copy_padded_rows(c);
  if (done < c.rows) copy_padded_rows(rows_from(c, done));
}

#endif

void copy_short(const CopyBlock& c) { copy_short_switch(c, std::make_integer_sequence<int, 33>{}); }

/// Runs of any length, from the source as far as they are valid.
void copy_long(const CopyBlock& c) {
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
