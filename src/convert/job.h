// SPDX-License-Identifier: Apache-2.0
// A nest with its decisions made: which kernel does the inner block, how large a block is, and
// in which order the blocks follow each other.
#pragma once

#include <array>
#include <cstdint>

#include "convert/kernels.h"
#include "convert/pool.h"

namespace stowage::conversion {

/// Loops that follow each other without a gap on one side: the block walks them as one.
struct Chain {
  int count = 0;
  std::array<Loop, 6> loops;
  std::int64_t n = 1;      ///< product of the loops
  std::int64_t valid = 1;  ///< iterations with a source, where they are the first ones
  std::int64_t block = 1;  ///< iterations of one unit

  /// Whether there is something to go on with, and room for another loop.
  bool can_grow() const noexcept { return count > 0 && count < static_cast<int>(loops.size()); }
};

enum class Kind : std::uint8_t {
  copy,       ///< chain a is contiguous on both sides, b are rows of it
  transpose,  ///< a is contiguous in the source, b in the destination
  strided,    ///< no contiguous loop on one side or both: element by element
  stage,      ///< a cast by way of scratch memory, see stage.h; chain a has its elements
  shuffle,    ///< chunks put together in registers, see shuffle.h; a and b are loops of them
  passes,  ///< by way of another layout in scratch memory, see passes.h; b has its elements, those
           ///< of an iteration of a where that is a loop that parts do not divide
};

/// Whether the rows or the columns of a transposition are contiguous in short parts only. Rows are
/// gathered in scratch memory before the kernel runs; columns are made there and copied afterwards.
enum class Parts : std::uint8_t { none, rows, columns };

/// A layout between two passes: `count` loops of a tile, from the one on that is `first` in the
/// order of one side, are innermost, and the others follow in the order of the other side.
struct Between {
  bool by_source;
  int first, count;
};

/// One loop over units: an outer loop of the nest, or the blocks of a chain.
struct Step {
  enum class What : std::uint8_t { outer, blocks_a, blocks_b } what;
  std::int64_t n;
  Loop loop;
};

/// What moves a whole unit at once: one of CastMoves, or, also without a cast, between rows and
/// pixels of two or four elements.
enum class UnitMove : std::uint8_t {
  none,
  split,
  spread,
  press,
  join,
  part,
  transpose,
  runs,
  transpose_runs,
};

/// Whether it moves between rows and pixels.
constexpr bool moves_pixels(UnitMove move) {
  return move == UnitMove::join || move == UnitMove::part;
}

/// Whether it moves blocks of rows and columns as kernels without a cast do.
constexpr bool moves_blocks(UnitMove move) {
  return moves_pixels(move) || move == UnitMove::transpose;
}

/// What bypasses the caches of a transposition's results.
enum class Bypass : std::uint8_t {
  none,
  wide,   ///< pieces (see Walk), of those whose rows and columns are many, or crowd the L2
  lines,  ///< stores that fill lines
  all,    ///< pieces, or stores that fill lines
};

/// What scratch memory holds of rows or columns: half of a small L1. Beside a cast, of its wider
/// elements: three buffers are in use at once.
inline constexpr std::int64_t kPartsBytes = 16384, kCastBytes = 8192;

struct Job {
  Kind kind;
  Parts parts;
  /// Of a transposition: how many columns its kernel makes. More than a.n where rows have gaps
  /// behind them: what lies in the gaps becomes columns that are thrown away.
  std::int64_t columns;
  Walk walk;
  /// Of a transposition: stores that fill lines are non-temporal.
  bool non_temporal;
  /// Of a transposition: each line is loaded whole, once, so that rows may crowd the L1.
  bool whole_lines;
  /// Of a transposition: the columns of a block are one piece of memory, in any order.
  bool one_piece;
  bool fill;
  int src_bytes, dst_bytes;  ///< of an element; equal and wider than a scalar where runs are short
  std::int64_t src, dst, param;
  Chain a, b;
  Chain chunk;  ///< of a shuffle: its elements, by the destination
  /// Of a copy: runs of one row that a unit moves together; of a transposition: blocks that it
  /// does. n = 1 where there is none.
  Loop across;
  /// Of a copy with `across`: the bytes of the last run of each row, and those of them that have a
  /// source; 0: as the others.
  std::int64_t last_run, last_valid;
  /// What moves a whole unit, and the distances of rows and columns that a transposition has been
  /// chosen for; parts of a unit at the border find theirs when they are there.
  const TransposeKernel* transpose;
  const CopyKernel* copy;
  std::int64_t row_stride, col_stride;
  std::int64_t copy_run, copy_valid, copy_across;  ///< likewise of a copy
  UnitMove move;
  JoinKernels joins;  ///< of a move between rows and pixels
  Between between;    ///< of passes
  int windows;        ///< of a chunk of a shuffle, as many for each vector
  /// Of a shuffle: how far before its place the last chunk of chain a begins, so that it ends with
  /// the loop.
  std::int64_t back_is, back_os;
  void (*shuffle)(const ShuffleRun&);
  Kind stage_move;  ///< of a stage: a shuffle or passes (then as above), or any other
  int step_count;
  std::array<Step, kMaxLoops + 2> steps;  ///< innermost first
  std::int64_t units;

  /// Bytes written.
  std::int64_t bytes() const noexcept;
};

/// The chain goes on with the loop, around those that it has.
void append(Chain& chain, const Loop& loop) noexcept;

/// How long the parts are where n iterations are cut into as few equal parts of at most `most` as
/// can be found in a few steps; else 1.
std::int64_t equal_part(std::int64_t n, std::int64_t most) noexcept;

/// A run so short that it is one element of a wider type: 2 bytes become u16 and so on. `fill`:
/// there is no source.
void widen_element(Pool& pool, bool fill, int& src_bytes, int& dst_bytes) noexcept;

/// The bytes of an element of what is copied from both sides alike: a scalar, or such a run, whose
/// loops leave the pool.
int take_element(Pool& pool, int scalar) noexcept;

/// Units are the blocks of the chains and the iterations of the loops in the pool, in the order of
/// the destination.
void order_steps(Job& job, const Pool& pool) noexcept;

/// A job without loops.
void begin_job(const Nest& nest, int src_bytes, int dst_bytes, Job& out) noexcept;

/// Makes it a copy of such runs, `across` of each row, in blocks of rows; the loops left in the
/// pool are around it.
void choose_runs(Job& job, const Loop& run, const Loop& rows, const Pool& pool) noexcept;

/// `alone`: the nest makes all of its tensor; several take turns. `cast`: elements
/// change or are scaled, so that they cannot be taken together as wider ones.
void make_job(const Nest& nest, bool alone, int src_bytes, int dst_bytes, bool cast,
              const CastMoves& moves, Bypass bypass, const Tuning& tuning, Job& out) noexcept;

}  // namespace stowage::conversion
