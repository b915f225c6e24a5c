// SPDX-License-Identifier: Apache-2.0
#include "convert/blocks.h"

#include <algorithm>
#include <cstdlib>

#include "base/checked.h"
#include "convert/kernels.h"

namespace stowage::conversion {
namespace {

/// The longer a unit goes on that is walked a few rows or columns at a time, the further hardware
/// prefetchers run ahead. Still not more than this part of the whole.
constexpr std::int64_t kLeastOfPanels = 65536, kMostOfPanels = 524288, kPartOfAll = 8;

constexpr std::int64_t kMostOfStreams = 262144, kMostOfTiles = 65536;

/// What a unit may touch that is walked along its diagonals, which are to be long.
std::int64_t most_of_diagonals(std::int64_t all) noexcept {
  constexpr std::int64_t kMost = 2097152, kPart = 4;
  return std::clamp(all / kPart, kLeastOfPanels, kMost);
}

/// How far rows of the source are from each other, and columns of the destination; 0: not evenly.
struct Distances {
  std::int64_t rows, columns;
};

Distances distances(const Job& job) noexcept {
  return {even_stride(job.b, &Loop::is), even_stride(job.a, &Loop::os)};
}

/// Whether every row and column has a source: those without are found by tables.
bool is_whole(const Job& job) noexcept { return job.a.valid == job.a.n && job.b.valid == job.b.n; }

/// Whether a few rows or columns are walked together, each of their lines once; `panels`: those of
/// a line or less are.
bool one_pass(const Job& job, bool panels, const Tuning& tuning) noexcept {
  constexpr std::int64_t kTile = 16;  // bytes of a row
  if (std::min(job.a.n, job.b.n) * job.dst_bytes > kLine) return false;
  const auto [rows, columns] = distances(job);
  return panels || job.a.n * job.src_bytes <= kTile ||
         kernel_for(job.dst_bytes, job.a.n, job.b.n, rows, columns, tuning).number !=
             TransposeKernel::Number::element;
}

/// As many blocks, none much shorter than the others: prefetchers start again with each.
void even_blocks(Chain& chain) noexcept {
  const std::int64_t even = ceil_div(chain.n, ceil_div(chain.n, chain.block));
  chain.block = std::min(chain.block, round_up(even, kLine));
}

/// Where the L1 does not hold a line of each of the columns that a line of the source goes to, but
/// a line of each of the rows that are read until those columns are done. Not where `all` bytes
/// take much of the L3: panels meet each line once.
bool choose_staggered_blocks(Job& job, std::int64_t all, const Tuning& tuning) noexcept {
  constexpr std::int64_t kRows = 128, kPartOfL3 = 8;
  const Caches& caches = tuning.caches;
  const std::int64_t of_line = kLine / job.dst_bytes;
  const auto [rows, columns] = distances(job);
  const bool pays = is_whole(job) && job.dst_bytes == 4 && job.a.n >= 2 * of_line &&
                    job.b.n >= kRows && all <= caches.l3 / kPartOfL3 && rows != 0 && columns != 0 &&
                    crowds(caches.l1_span(), caches.l1_ways, columns, of_line) &&
                    !crowds(caches.l1_span(), caches.l1_ways, rows, kRows);
  if (!pays) return false;
  job.walk = Walk::staggered;
  job.a.block = longest_block(job, job.a);
  job.b.block = std::clamp(most_of_panels(all) / (job.a.block * job.dst_bytes) / of_line * of_line,
                           kRows, longest_block(job, job.b));
  return true;
}

/// Whether it has panels: rows or columns that are walked a few at a time.
bool has_panels(const Job& job, const Tuning& tuning) noexcept {
  return tuning.streams > 0 && job.dst_bytes >= kernels().least_of_squares;
}

/// Whether tiles take all columns of a few rows before the next rows, however many rows there are:
/// columns are few and, farther from each other than rows, do not crowd the L1.
bool goes_by_rows(const Job& job) noexcept {
  const auto [rows, columns] = distances(job);
  return job.dst_bytes >= 4 && job.a.n * job.dst_bytes <= 4 * kLine && rows != 0 &&
         2 * rows < columns && !columns_crowd(columns, job.a.n);
}

/// Whether rows crowd a few sets: they are copied first, as many as there is room for.
bool copies_rows(const Job& job) noexcept {
  return !job.whole_lines && crowded(job.b.loops[0].is, kLine / job.src_bytes);
}

/// Of a transposition that moves `all` bytes, in more than one pass.
std::int64_t most_bytes(const Job& job, bool panels, std::int64_t all) noexcept {
  if (!panels && job.src_bytes == job.dst_bytes && goes_by_rows(job))
    return std::clamp(all / kPartOfAll, kMostBytes, kMostOfTiles);
  return !panels || copies_rows(job) ? kMostBytes : most_of_panels(all);
}

/// Where results bypass the caches: as many rows as fill a run of a column, and as many columns as
/// a unit may touch. Plain stores keep up with that where columns or rows are few, and the L2 holds
/// a line of each of far columns: then only if all results do.
bool choose_bypass_blocks(Job& job, std::int64_t all, Bypass bypass,
                          const Tuning& tuning) noexcept {
  constexpr std::int64_t kFewBytes = 256;
  const Caches& caches = tuning.caches;
  const std::int64_t element = job.dst_bytes, line = kLine / element, run = kBypassRun / element;
  const auto [rows, columns] = distances(job);
  const bool crowd = columns > rows && crowds(caches.l2_span(), caches.l2_ways, columns, job.a.n),
             few = std::min(job.a.n, job.b.n) * element <= kFewBytes && !crowd;
  if (!(bypass == Bypass::all || (bypass == Bypass::wide && !few)) || element < kLeastOfBypass ||
      job.a.n < line || job.b.n % line != 0 || !is_whole(job) || rows == 0 || columns == 0 ||
      columns % kLine != 0 ||
      kernel_for(job.dst_bytes, job.a.n, job.b.n, rows, columns, tuning).number !=
          TransposeKernel::Number::element)
    return false;
  const std::int64_t most = most_of_panels(all) / element;
  job.walk = Walk::pieces;
  job.a.block = std::min(longest_block(job, job.a), most / run);
  even_blocks(job.a);
  job.b.block = std::min(longest_block(job, job.b), std::max(most / job.a.block / run * run, run));
  return true;
}

/// Whether it is between rows, or columns, that are near each other and two to eight lines long,
/// say pixels of a few channels, and others that are far: tiles would load or store lines of the
/// former in pieces, and pieces in two lines. Panels are slower where rows lie in every other set
/// of the caches or far columns share one, and for columns of bytes; rows that crowd are copied
/// first.
bool few_are_near(const Job& job, const Caches& caches) noexcept {
  constexpr std::int64_t kSquare = 16, kMostOfFew = 8 * kLine;
  const auto [rows, columns] = distances(job);
  const bool rows_near = rows < columns;
  const std::int64_t near = rows_near ? rows : columns, few = rows_near ? job.a.n : job.b.n,
                     bytes = job.dst_bytes;
  if (!kernels().vectors_are_lines() || !is_whole(job) || bytes > 8 || near <= 0 || near > kNear ||
      few > kFewRows || few * bytes <= kLine || few * bytes > kMostOfFew ||
      (bytes < 4 && crowded(rows, kLine / bytes)))
    return false;
  if (!rows_near) return bytes > 1 && columns % kLine != 0;
  const bool crowd = bytes >= 4 && crowds(caches.l1_span(), caches.l1_ways, columns, kSquare);
  return rows % (2 * kLine) != 0 && !crowd;
}

/// As crowds(), also where lines at this distance, or at twice or three times it, drift by so
/// little that more than the ways of a set lie within two lines: those that begin within lines take
/// both.
bool nearly_crowds(std::int64_t span, int ways, std::int64_t distance,
                   std::int64_t lines) noexcept {
  if (crowds(span, ways, distance, lines)) return true;
  for (std::int64_t step = 1; step <= lines / (ways + 1); ++step) {
    const std::int64_t ahead = step * std::abs(distance) % span,
                       drift = std::min(ahead, span - ahead);
    if (drift * ways < 2 * kLine) return true;
  }
  return false;
}

/// Whether lines of the columns of one square crowd the L1, or of two of wide elements where rows
/// begin within lines, so that stores are dear but for several in a row.
bool for_runs(const Job& job, const Caches& caches) noexcept {
  const auto [rows, columns] = distances(job);
  const std::int64_t square = columns_of_square(job.dst_bytes),
                     lines = rows % kLine == 0 ? square : std::max<std::int64_t>(square, 16);
  return kernels().vectors_are_lines() && is_whole(job) && rows != 0 && columns != 0 &&
         job.a.n >= square && job.b.n * job.dst_bytes >= kCrowdedRun &&
         nearly_crowds(caches.l1_span(), caches.l1_ways, columns, lines);
}

/// Of a transposition that has panels anyway or not, in squares whose sides are lines or not.
Walk choose_walk(const Job& job, bool panels, bool lines, Bypass bypass,
                 const Tuning& tuning) noexcept {
  if (!panels) return few_are_near(job, tuning.caches) ? Walk::panels : Walk::free;
  const Caches& caches = tuning.caches;
  const std::int64_t square = columns_of_square(job.dst_bytes);
  const auto [rows, columns] = distances(job);
  const bool diagonal =
      lines && rows != 0 && rows % kLine == 0 && both_crowd(caches, rows, columns, square);
  // Of rows that crowd as well, a buffer that few columns fit into reads too little at a time.
  const bool few = columns_of_runs(caches, square) < kMostOfRuns;
  if (bypass < Bypass::lines && for_runs(job, caches) && !(diagonal && few)) return Walk::runs;
  return diagonal ? Walk::diagonal : Walk::free;
}

/// As many columns of a run of rows as a unit may touch, and more rows where those are few.
bool choose_blocks_of_runs(Job& job, std::int64_t all) noexcept {
  if (job.walk != Walk::runs) return false;
  const std::int64_t run = kCrowdedRun / job.dst_bytes, most = most_of_panels(all);
  job.a.block = std::min(longest_block(job, job.a), most / kCrowdedRun);
  even_blocks(job.a);
  const std::int64_t longest = longest_block(job, job.b), square = kLine / job.dst_bytes;
  std::int64_t rows = most / (job.a.block * job.dst_bytes) / run * run;
  // The last block is to have rows for a square.
  while (rows < longest && job.b.n % rows > 0 && job.b.n % rows < square) rows += run;
  job.b.block = std::min(rows, longest);
  return true;
}

/// Diagonals of all rows or columns, those that are farther apart; rows farther apart than columns,
/// few of whose lines crowd the L1, to the last one.
bool choose_long_blocks(Job& job, std::int64_t all, const Tuning& tuning) noexcept {
  const std::int64_t line = kLine / job.dst_bytes;
  const auto [rows, columns] = distances(job);
  const bool rows_far = rows >= columns, diagonal = job.walk == Walk::diagonal;
  if (!is_whole(job) || !job.whole_lines ||
      !(diagonal || (rows_far && few_crowd(tuning.caches, columns))))
    return false;
  Chain &whole = rows_far ? job.b : job.a, &part = rows_far ? job.a : job.b;
  const std::int64_t most = (diagonal ? most_of_diagonals(all) : most_of_panels(all)) /
                            (whole.n * job.dst_bytes) / line * line;
  if (whole.n > longest_block(job, whole) || most == 0) return false;
  whole.block = whole.n;
  part.block = std::min(longest_block(job, part), most);
  even_blocks(part);
  return true;
}

/// How long rows are that are cast before or after a transposition: longer for prefetchers that
/// follow few streams, and where elements become narrower. 64 of them, of bytes, are what scratch
/// memory takes.
std::int64_t cast_row(const Job& job, const Tuning& tuning) noexcept {
  return tuning.streams > 0 || job.src_bytes > job.dst_bytes ? kMaxBlock / 2 : kMaxBlock / 4;
}

}  // namespace

std::int64_t most_of_streams(std::int64_t all) noexcept {
  return std::clamp(all / kPartOfAll, kLeastOfPanels, kMostOfStreams);
}

std::int64_t most_of_panels(std::int64_t all) noexcept {
  return std::clamp(all / kPartOfAll, kLeastOfPanels, kMostOfPanels);
}

std::int64_t longest_block(const Job& job, const Chain& chain) noexcept {
  const bool table = chain.count > 1 || !is_whole(job);
  return std::min(chain.n, table ? kMaxBlock : kMaxEvenBlock);
}

std::int64_t even_stride(const Chain& chain, std::int64_t Loop::*stride) noexcept {
  return chain.count == 1 ? chain.loops[0].*stride : 0;
}

TransposeBlock block_of(std::int64_t na, std::int64_t nb, std::int64_t row_stride,
                        std::int64_t col_stride, const Tuning& tuning, Walk walk) noexcept {
  TransposeBlock block{};
  block.tuning = &tuning;
  block.walk = walk;
  block.na = na;
  block.nb = nb;
  block.row_stride = row_stride;
  block.col_stride = col_stride;
  return block;
}

const TransposeKernel& kernel_for(int element, std::int64_t na, std::int64_t nb,
                                  std::int64_t row_stride, std::int64_t col_stride,
                                  const Tuning& tuning, Walk walk) noexcept {
  return choose(kernels(), element, block_of(na, nb, row_stride, col_stride, tuning, walk));
}

void choose_blocks(Job& job, std::int64_t cast_row, std::int64_t most) noexcept {
  // Elements moved one by one are found by tables, and so are a cast's means.
  const bool tables = job.kind == Kind::strided || cast_row > 0;
  const auto longest = [&](const Chain& chain) {
    return std::min(longest_block(job, chain), tables ? kMaxBlock : kMaxEvenBlock);
  };
  const std::int64_t element = std::max(job.src_bytes, job.dst_bytes);
  // Four lines in either direction; what the shorter side leaves goes to the longer one.
  std::int64_t side = 4 * kLine / element;
  while (side * side * element > most) side /= 2;
  const auto grow = [&](const Chain& chain, std::int64_t from, std::int64_t to) {
    return std::min(longest(chain), std::max(from, round_up(to, kLine)));
  };
  std::int64_t a = std::min(job.a.n, side), b = std::min(job.b.n, side);
  if (job.b.n > side && job.b.n <= 2 * side) {
    b = job.b.n;
    a = std::min(longest(job.a), std::max<std::int64_t>(most / element / b / 16 * 16, 16));
  } else if (job.a.n > side && 5 * job.a.n <= 8 * side) {
    a = job.a.n;
  }
  const std::int64_t least = most / element;
  if (a * b < least) a = grow(job.a, a, least / b);
  if (a * b < least) b = grow(job.b, b, least / a);
  if (cast_row >
      0) {  // whole rows are cast, on that side of the transposition where elements are narrow
    const bool along_b = job.src_bytes <= job.dst_bytes;
    std::int64_t& row = along_b ? b : a;
    std::int64_t& rows = along_b ? a : b;
    row = grow(along_b ? job.b : job.a, row, cast_row);
    const std::int64_t narrow = std::min(job.src_bytes, job.dst_bytes);
    rows = std::clamp<std::int64_t>(64 * cast_row / row / narrow, 1, rows);
  }
  job.a.block = a;
  job.b.block = b;
}

bool choose_transpose_blocks(Job& job, std::int64_t all, bool cast, Bypass bypass,
                             const Tuning& tuning) noexcept {
  if (!cast && choose_bypass_blocks(job, all, bypass, tuning)) return false;
  if (!cast && choose_staggered_blocks(job, all, tuning)) return false;
  const std::int64_t line = kLine / job.dst_bytes;
  const bool lines = job.dst_bytes >= kernels().least_of_line_squares && job.a.n >= line &&
                     job.b.n >= line && distances(job).columns != 0;
  bool panels = !cast && has_panels(job, tuning);
  job.walk = cast ? Walk::free : choose_walk(job, panels, lines, bypass, tuning);
  panels |= job.walk == Walk::panels;
  job.whole_lines = panels && lines;
  // One pass meets each line once, unless half of the rows crowd the L1.
  const Caches& caches = tuning.caches;
  const bool evicts = panels && copies_rows(job) &&
                      crowds(caches.l1_span(), caches.l1_ways, job.b.loops[0].is, job.b.n / 2);
  if (!cast && job.walk != Walk::runs && one_pass(job, panels, tuning) && !evicts) {
    choose_blocks(job, 0, most_of_streams(all));
    even_blocks(job.a);
    even_blocks(job.b);
  } else if (!choose_blocks_of_runs(job, all) && !choose_long_blocks(job, all, tuning)) {
    choose_blocks(job, cast ? cast_row(job, tuning) : 0, most_bytes(job, panels, all));
  }
  return !cast;
}

}  // namespace stowage::conversion
