// SPDX-License-Identifier: Apache-2.0
// The inner kernels of a conversion. None knows a layout: they see rows, columns and runs.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "convert/tuning.h"
#include "stowage/layout.h"

namespace stowage::conversion {

using Byte = std::uint8_t;

/// A cache line.
inline constexpr std::int64_t kLine = 64;
/// Longest block along either direction of a transposition, in elements; where rows or columns at
/// equal distances need no table.
inline constexpr std::int64_t kMaxBlock = 1024, kMaxEvenBlock = 16384;

/// The most elements of a block that are whole runs and, where a block holds that many, whole
/// vectors. A run is no longer than a block.
constexpr std::int64_t whole_runs(std::int64_t run) {
  const std::int64_t whole = std::lcm(run, std::int64_t{16}),
                     unit = whole <= kMaxBlock ? whole : run;
  return kMaxBlock / unit * unit;
}

/// Bytes of a column that leave together where results bypass the caches: stores to memory go on
/// where they ended, and reading follows few rows at once.
inline constexpr std::int64_t kBypassRun = 2 * kLine;
/// Bytes of a column that leave a buffer together where lines of columns crowd the L1.
inline constexpr std::int64_t kCrowdedRun = 8 * kLine;

/// Columns of the squares that fill lines: of narrow elements half as many, for want of registers.
constexpr std::int64_t columns_of_square(std::int64_t element) {
  return kLine / element / (element < 4 ? 2 : 1);
}

/// The most columns whose runs are put together.
inline constexpr std::int64_t kMostOfRuns = 64;

/// How many are: squares of them, as many as leave the source some of the L1.
inline std::int64_t columns_of_runs(const Caches& caches, std::int64_t square) {
  return std::clamp(caches.l1 * 2 / 3 / kCrowdedRun / square * square, square, kMostOfRuns);
}

/// Bytes of the narrowest elements that do: others do not fill lines as fast as memory takes them.
inline constexpr int kLeastOfBypass = 4;

/// Zeros that stand for rows without a source; long enough for a block and a vector behind it.
inline constexpr std::size_t kZeroBytes = 16 * kMaxBlock + 64;

/// Of a tensor: in the L2 cache together with its source, in it, beyond it, or beyond the L3
/// (Tuning::huge_from).
enum class Size : std::uint8_t { tiny, small, large, huge };

/// In which order a kernel takes its steps: digit k, from the lowest, is the step of each four that
/// is taken as the k-th.
enum class StepOrder : std::uint32_t {
  straight = 0x3210,
  /// Each is at another distance from the one before than that from the one before it, see
  /// Tuning::scatters.
  scattered = 0x2130,
};

/// Which of n steps is taken after i others.
constexpr std::int64_t step_at(StepOrder order, std::int64_t i, std::int64_t n) {
  constexpr std::uint32_t kThree = 0x201;  // where that many are left
  const std::int64_t place = i % 4, first = i - place;
  if (order == StepOrder::straight || n - first < 3) return i;
  const std::uint32_t digits =
      n - first == 3 ? kThree : static_cast<std::uint32_t>(StepOrder::scattered);
  return first + ((digits >> (4 * place)) & 3);
}

/// The order for a destination of this size: beyond the L2 prefetchers are needed to bring lines.
inline StepOrder order_of_steps(Size size, const Tuning& tuning) {
  return size == Size::tiny && tuning.scatters() ? StepOrder::scattered : StepOrder::straight;
}

/// In which order a transposition in tiles or squares walks its blocks.
enum class Walk : std::uint8_t {
  free,       ///< as its kernel finds best
  panels,     ///< a few rows or columns at a time, also where `Tuning::streams` asks for none
  staggered,  ///< a few columns at a time, each few of them lines behind those before
  diagonal,   ///< squares along the diagonals of a block
  runs,       ///< runs of lines of several columns are put together in a buffer of the L1's size
  pieces,  ///< pieces are put together in a small buffer, which they leave by non-temporal stores
};

/// Whether lines are put together in a buffer: neither copied before nor asked for.
constexpr bool goes_by_buffer(Walk walk) { return walk == Walk::runs || walk == Walk::pieces; }

/// Element (a, b) lies at row(b) + a * E and goes to column(a) + b * E. Rows at equal distances
/// need no table: only rows[0] is set then, and row_stride; likewise for columns. What a table says
/// is meant from its offset on, so that blocks alike share one.
struct TransposeBlock {
  const Byte* const* rows;
  Byte* const* cols;
  std::int64_t na, nb;
  const Byte* src_end;      ///< reading up to here is allowed, whatever it yields
  std::int64_t row_stride;  ///< 0: rows are a table
  std::int64_t col_stride;  ///< 0: columns are a table
  Size size;                ///< of the whole destination
  const Tuning* tuning;
  std::int64_t row_offset = 0, col_offset = 0;  ///< of tables, in bytes
  bool copied = false;                          ///< the rows are a copy and in the cache
  Walk walk = Walk::free;
  bool non_temporal = false;  ///< stores that fill lines are
  bool one_piece = false;     ///< columns of a table are one piece of memory from the first on

  const Byte* row(std::int64_t b) const {
    return row_stride != 0 ? rows[0] + b * row_stride : rows[b] + row_offset;
  }

  StepOrder order_of_steps() const { return conversion::order_of_steps(size, *tuning); }

  Byte* column(std::int64_t a) const {
    return col_stride != 0 ? cols[0] + a * col_stride : cols[a] + col_offset;
  }
};

/// `rows` runs of `run` bytes, of which the first `valid` have a source and the others become zero.
struct CopyBlock {
  const Byte* src;
  Byte* dst;
  std::int64_t rows, is, os, run, valid;
  const Byte* src_end;  ///< as above
  const Tuning* tuning;
  std::int64_t across = 1, across_is = 0, across_os = 0;  ///< runs of each row, at these distances
  std::int64_t last_run = 0, last_valid = 0;  ///< of the last of several runs; 0: as the others
};

/// Longer runs are not copied several of a row at a time, in bytes.
inline constexpr std::int64_t kMostOfAcross = 512;

/// Whether so many lines at this distance are more than 16 for each of the sets of an L1 cache of
/// 64 sets that they fall into: no such cache holds them at once.
constexpr bool crowded(std::int64_t distance, std::int64_t lines) {
  const std::int64_t power = distance & -distance;
  return lines * (power < 4096 ? power : 4096) > 16 * 4096;
}

/// Whether a few of n columns at this distance are better walked to the last row before the next
/// few: their lines share few sets of the L1.
constexpr bool columns_crowd(std::int64_t distance, std::int64_t n) {
  return distance % 2048 == 0 || crowded(distance, n);
}

/// Lines of so many rows at this distance that fall into one set of a cache, whose sets repeat at
/// `span` bytes, are more than the ways of the set.
constexpr bool crowds(std::int64_t span, int ways, std::int64_t distance, std::int64_t rows) {
  return rows * std::gcd(distance, span) > ways * span;
}

/// Whether columns at this distance are better walked to the last row than row by row: the L1 does
/// not hold a line of each of so few.
inline bool few_crowd(const Caches& caches, std::int64_t distance) {
  constexpr std::int64_t kFew = 64;
  return crowds(caches.l1_span(), caches.l1_ways, distance, kFew);
}

/// So many rows at most are read side by side, though each is a stream of its own.
inline constexpr std::int64_t kFewRows = 80;

/// Columns at most so far apart are near each other: lines of several are in the cache together.
inline constexpr std::int64_t kNear = 16 * kLine;

/// How a block is transposed in squares.
struct Squares {
  bool pay;
  bool whole_lines;  ///< of the source are loaded
  bool rows_crowd;   ///< the L2

  /// As many as hardware follows, or half of them.
  std::int64_t rows_at_a_time() const { return rows_crowd ? 16 : 32; }
};

/// Of n by n elements, which vectors hold a row of. They pay where rows are far apart and columns
/// near each other, unless more than half of the last square is done twice. Lines of the source are
/// loaded whole where rows begin with lines and all lines of a few columns stay in the L1. Where
/// more rows than n crowd the L2, squares pay only if each line is loaded and stored once; then
/// columns may be far from each other, too.
inline Squares squares_of(const TransposeBlock& t, std::int64_t n, bool vectors_are_lines) {
  const Caches& caches = t.tuning->caches;
  const bool even = t.row_stride != 0,
             crowd = even && crowds(caches.l2_span(), caches.l2_ways, t.row_stride, t.nb),
             whole_lines = vectors_are_lines && even && t.row_stride % kLine == 0 &&
                           !few_crowd(caches, t.col_stride),
             once = whole_lines && t.col_stride % kLine == 0, more = crowd && t.nb > n,
             near = t.col_stride != 0 && (t.col_stride <= kNear || (more && once)),
             far = !even || (t.row_stride > t.col_stride && (!more || once)),
             fit = t.na >= n && t.nb >= n && (t.nb % n == 0 || 2 * (t.nb % n) > n);
  return {near && far && fit, whole_lines, crowd};
}

/// Whether lines of few rows crowd the L1, lines of few columns do, and those of the rows or of the
/// columns of one square.
inline bool both_crowd(const Caches& caches, std::int64_t row_distance,
                       std::int64_t column_distance, std::int64_t square) {
  const auto crowd = [&](std::int64_t distance) {
    return crowds(caches.l1_span(), caches.l1_ways, distance, square);
  };
  return few_crowd(caches, row_distance) && few_crowd(caches, column_distance) &&
         (crowd(row_distance) || crowd(column_distance));
}

/// mean and norm of a row: none, the same for all, or one for each element.
struct RowMap {
  enum class Mode : std::uint8_t { none, scalar, each } mode = Mode::none;
  const float* mean = nullptr;
  const float* norm = nullptr;
};

/// The dtypes that the vector casts know, as indices of the tables below.
enum class Fast : std::uint8_t { f32, f16, bf16, u8, i8, u16, i16, i32, count };

inline constexpr DType kFastDTypes[] = {DType::f32, DType::f16, DType::bf16, DType::u8,
                                        DType::i8,  DType::u16, DType::i16,  DType::i32};
static_assert(std::size(kFastDTypes) == static_cast<std::size_t>(Fast::count));

/// A row of the table of transpositions of elements of one size.
struct TransposeKernel {
  enum class Number : std::uint8_t { element, rows, columns };

  std::string_view name;  ///< as Conversion::kernel() prints it, with a number behind it
  Number number;          ///< the element's bytes, or how many rows or columns
  bool (*fits)(const TransposeBlock&);  ///< looks at extents, distances, walk and tuning alone
  void (*run)(const TransposeBlock&);
};

/// Whether rows of so many runs of so many bytes may end in a shorter one, see CopyBlock::last_run;
/// then rows follow each other without a gap in the destination, or, where the last run is cut, its
/// runs do. Many short runs are better moved as elements of a transposition.
constexpr bool fits_ragged(std::int64_t run, std::int64_t across) {
  constexpr std::int64_t kMostShort = 256;  // bytes of a row
  return run == 32 || run == 64 ||
         ((run == 4 || run == 8 || run == 16) && across * run <= kMostShort);
}

/// A row of the table of copies.
struct CopyKernel {
  std::string_view name;
  bool (*fits)(const CopyBlock&);  ///< looks at run, valid, across and last_run alone
  void (*run)(const CopyBlock&);
};

/// n pixels of interleaved bytes that become f32: (float(x) - mean) * norm.
struct PixelRun {
  static constexpr int kLeast = 2, kMost = 4;  ///< channels of what is split

  const Byte* src;
  const Byte* src_end;  ///< reading up to here is allowed
  std::int64_t n;
  int channels;
  float* to[kMost];
  float mean[kMost], norm[kMost];
  bool prefetch_for_write;  ///< as the tuning says
};

/// `rows` rows of `across` runs of n elements that are cast, at these distances on both sides.
struct CastRuns {
  static constexpr std::int64_t kLeast = 4;  ///< elements

  const Byte* src;
  Byte* dst;
  std::int64_t rows, is, os, n;
  std::int64_t across = 1, across_is = 0, across_os = 0;
  bool prefetch_for_write = false;  ///< as the tuning says
};

/// Two or four rows of n elements and n pixels, which have one element of each row next to each
/// other; `count` times, from one time to the next these bytes further.
template <class Row, class Pixel>
struct RowsAndPixels {
  Row* rows[4];
  Pixel* pixels;
  std::int64_t n;
  std::int64_t count, row_step, pixel_step;
  bool prefetch_for_write;  ///< as the tuning says
  StepOrder order;          ///< of steps along n
};

using JoinRun = RowsAndPixels<const Byte, Byte>;
using PartRun = RowsAndPixels<Byte, const Byte>;

/// Rows into pixels, and back; null where an instruction set has no such kernel.
struct JoinKernels {
  void (*join)(const JoinRun&) = nullptr;
  void (*part)(const PartRun&) = nullptr;
};

/// By how many rows there are.
struct JoinKernelsByRows {
  JoinKernels two, four;

  JoinKernels of(std::int64_t rows) const {
    return rows == 2 ? two : rows == 4 ? four : JoinKernels{};
  }
};

/// Of an element's bytes, a power of two: its place in tables by size.
constexpr std::size_t log2_of(int bytes) {
  return static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(bytes)));
}

/// dst[i] = cast((float(src[i]) - mean) * norm)
using CastRow = void (*)(const Byte* src, Byte* dst, std::int64_t n, const RowMap& map);

/// Kernels that cast elements and move them in one step; null where a cast or an instruction set
/// has none.
struct CastMoves {
  /// A plane for each channel.
  void (*split)(const PixelRun&) = nullptr;
  /// Four floats for each pixel from to[0] on, zeros behind its channels.
  void (*spread)(const PixelRun&) = nullptr;
  /// n pixels of four floats; the first channels of each, one to four, as bytes without a gap.
  void (*press)(const float* src, Byte* dst, std::int64_t n, int channels) = nullptr;
  JoinKernelsByRows joins;
  /// The same of four elements, and of eight, that are next to each other.
  JoinKernelsByRows joins_of_four, joins_of_eight;
  /// Element (a, b) of row(b) becomes that of column(a); rows and columns are at equal distances.
  void (*transpose)(const TransposeBlock&) = nullptr;
  /// Runs too short for a call each, which stay runs.
  void (*runs)(const CastRuns&) = nullptr;
  /// The same of 4 or 8 elements that follow each other along rows on one side and across on the
  /// other; in tiles of 32 / n by 16 / n.
  void (*transpose_runs)(const CastRuns&) = nullptr;
};

/// Chunks of the destination that are put together in registers: each of their vectors in a few
/// steps, of which each has lanes from one or two windows of the source, as long as a vector.
struct ShuffleTable {
  static constexpr int kMostBytes = 256;  ///< of a chunk
  static constexpr int kMostSteps = 4;

  int vector;   ///< bytes: 16 or 64
  int sources;  ///< windows of a step
  int lane;     ///< bytes: 1; 4 where vectors have 64 bytes and elements are in words
  int vectors, steps;
  bool zeros;          ///< whether there are bytes from no step
  std::int64_t bytes;  ///< of a chunk
  std::int64_t reach;  ///< bytes of the source up to the end of the last window

  /// Of a vector and a step: lanes of the windows, one after the other. Of one window, 128: zero.
  Byte* order_of(int v, int step) noexcept { return order + index(v, step) * vector; }

  const Byte* order_of(int v, int step) const noexcept { return order + index(v, step) * vector; }

  /// 255 where a byte comes from this step. Of two windows: bytes from no step become zero.
  Byte* taken_of(int v, int step) noexcept { return taken + index(v, step) * vector; }

  const Byte* taken_of(int v, int step) const noexcept { return taken + index(v, step) * vector; }

  /// Where windows begin, in bytes from where the chunk does.
  std::int64_t* windows_of(int v, int step) noexcept { return windows + index(v, step) * sources; }

  const std::int64_t* windows_of(int v, int step) const noexcept {
    return windows + index(v, step) * sources;
  }

  alignas(64) Byte order[kMostSteps * kMostBytes], taken[kMostSteps * kMostBytes];
  std::int64_t windows[kMostSteps * kMostBytes / 16];

 private:
  static std::int64_t index(int v, int step) noexcept { return v * kMostSteps + step; }
};

/// Rows of n chunks, at these distances.
struct ShuffleRun {
  const Byte* src;
  Byte* dst;
  std::int64_t n, is, os;
  std::int64_t rows, row_is, row_os;
  const ShuffleTable* table;
};

/// The vectors of an instruction set, and what makes them; none: 0 bytes.
struct Shuffles {
  using Run = void (*)(const ShuffleRun&);

  int vector = 0, sources = 1;
  /// By steps and, of vectors of 64 bytes, by vectors of a chunk.
  Run run[ShuffleTable::kMostSteps][ShuffleTable::kMostBytes / 64] = {};

  Run run_of(int vectors, int steps) const noexcept {
    return run[steps - 1][vector == 64 ? vectors - 1 : 0];
  }
};

/// A value for each pair of those types, the type before the cast first.
template <class T>
using OfCasts = std::array<std::array<T, static_cast<std::size_t>(Fast::count)>,
                           static_cast<std::size_t>(Fast::count)>;

/// The first row of a table that fits is the best; the last one fits everything.
struct Kernels {
  std::array<std::span<const TransposeKernel>, 5> transpose;  ///< by log2 of the element's bytes
  std::span<const CopyKernel> copy;
  int least_of_squares;       ///< bytes of the narrowest elements that are moved in squares
  int least_of_line_squares;  ///< the same of squares whose sides are lines
  bool copies_ragged;         ///< whether last_run is known
  /// Every type to f32 and back; null where a pair goes by way of f32.
  OfCasts<CastRow> casts;
  OfCasts<CastMoves> moves;
  std::array<JoinKernelsByRows, 5> joins;  ///< without a cast, by log2 of the element's bytes
  Shuffles shuffle_bytes, shuffle_words;   ///< of elements of 1 or 2 bytes, and of wider ones
  std::int64_t target;                     ///< the instruction set, Highway's bit

  const JoinKernelsByRows& joins_of(int element) const noexcept { return joins[log2_of(element)]; }

  const Shuffles& shuffles_of(int element) const noexcept {
    return element < 4 ? shuffle_bytes : shuffle_words;
  }

  /// Whether vectors are whole lines.
  bool vectors_are_lines() const noexcept { return least_of_line_squares <= 4; }
};

/// Those of vectors half as long; null: none are compiled.
const Kernels* narrower(const Kernels& kernels) noexcept;

const TransposeKernel& choose(const Kernels& kernels, int element, const TransposeBlock& block);
const CopyKernel& choose(const Kernels& kernels, const CopyBlock& block);

/// After non-temporal stores, before another thread may read.
void finish_stores() noexcept;

/// Those of the best instruction set of this machine.
const Kernels& kernels() noexcept;

/// For tests: what this program was compiled for and this machine can run (Highway's target bits).
std::vector<std::int64_t> instruction_sets();

/// For tests: conversions made from now on use only this one; 0 = the best.
void use_instruction_set(std::int64_t target);

/// kZeroBytes of zeros.
const Byte* zero_bytes() noexcept;

}  // namespace stowage::conversion
