// SPDX-License-Identifier: Apache-2.0
#include "convert/runs.h"

#include <algorithm>
#include <bit>

#include "convert/blocks.h"
#include "convert/cast_move.h"
#include "convert/walk.h"

namespace stowage::conversion {
namespace {

/// A piece of a run.
constexpr std::int64_t kRunBytes = 16384;

/// Fewer rows are not worth a unit.
constexpr std::int64_t kLeastRows = 8;

/// How many short runs that follow each other in the destination are copied before the next row of
/// them, so that the L1 holds the lines of the source that they and the next rows share: fewer
/// where these crowd it, all where zeros follow. 1: so many do not divide the loop.
std::int64_t part_of_row(const Loop& runs, const Caches& caches) noexcept {
  constexpr std::int64_t kMost = 128, kLeast = 4;
  std::int64_t most = kMost;
  while (most > kLeast && crowds(caches.l1_span(), caches.l1_ways, runs.is, most)) most /= 2;
  const std::int64_t n = runs.valid < runs.n ? runs.n : equal_part(runs.n, most);
  return n >= kLeast || n == runs.n ? n : 1;
}

/// Whether runs of so many bytes are copied in the order of the destination where that is
/// prefetched. Those of one or two lines, or that fill such, are not cut by lines: they are read in
/// order, unless the L1 does not hold the lines that so few are written to.
bool follows_destination(std::int64_t run, const Loop& read, const Loop& written,
                         const Tuning& tuning) noexcept {
  constexpr std::int64_t kLeast = 5, kLeastOfCrowd = 16;  // of which kernels know
  if (!tuning.prefetch_for_write || run < kLeast) return false;
  const bool whole = run <= 2 * kLine && std::has_single_bit(static_cast<std::uint64_t>(run));
  return !whole || (run >= kLeastOfCrowd && run != kLine && read.n < written.n &&
                    crowds(tuning.caches.l1_span(), tuning.caches.l1_ways, read.os, read.n));
}

/// Runs of so many bytes in the order of the destination, and the rows that follow each other in
/// the source. Long runs and long rows of them are units by themselves. False, and the same job:
/// they cannot be cut.
bool choose_in_order(Job& job, Pool& pool, int read, int written, std::int64_t run,
                     const Caches& caches) noexcept {
  const Loop& runs = pool.loops[written];
  const std::int64_t part = run < kLine ? part_of_row(runs, caches) : runs.n;
  if (part == 1) return false;
  if (run > kMostOfAcross || run * part > kMostBytes / 2) {
    append(job.b, pool.take(written));
    return true;
  }
  append(job.b, pool.take(read));
  job.across = pool.take_part(written - static_cast<int>(read < written), part);
  return true;
}

/// Runs that one side keeps together and the other does not: both loops are walked at once, the
/// shorter one inside, while the lines that they share are near, or the one that follows the
/// destination.
void choose_across(Job& job, Pool& pool, const Tuning& tuning) noexcept {
  if (job.a.valid != job.a.n) return;
  const Caches& caches = tuning.caches;
  const std::int64_t run = job.a.n * job.dst_bytes;
  const int read = pool.find_source(job.a.n * job.src_bytes), written = pool.find_destination(run);
  const bool both = read >= 0 && written >= 0 && read != written;
  if (both && follows_destination(run, pool.loops[read], pool.loops[written], tuning) &&
      choose_in_order(job, pool, read, written, run, caches))
    return;
  const int across = both ? (pool.loops[read].n < pool.loops[written].n ? read : written)
                          : std::max(read, written);
  if (across < 0 || run * pool.loops[across].n > kMostBytes / kLeastRows) return;
  // Parts of lines of so many places that the L1 holds none of them until its next part is written.
  const Loop& loop = pool.loops[across];
  if (run < kLine && across != written && crowds(caches.l1_span(), caches.l1_ways, loop.os, loop.n))
    return;
  // Zeros behind the runs of a row are one run.
  if (loop.valid != loop.n && across != written) return;
  int rows = both ? read + written - across : 0;
  while (rows < pool.count && (rows == across || pool.loops[rows].dim >= 0)) ++rows;
  if (rows == pool.count || pool.loops[rows].n < kLeastRows) return;
  append(job.b, pool.loops[rows]);
  job.across = pool.loops[across];
  pool.take(std::max(rows, across));
  pool.take(std::min(rows, across));
}

/// Rows of runs that are cast together: the most of the same parameters; those that follow each
/// other in the destination where the others crowd. The first loop where there are none.
int find_rows_of_cast(const Job& job, const Pool& pool) noexcept {
  // Fewer dense rows are not worth a call; lines at multiples of the distance share eight sets of
  // L1.
  constexpr std::int64_t kFew = 64, kCrowding = 512;
  int best = -1, dense = -1;
  for (int i = 0; i < pool.count; ++i) {
    const Loop& loop = pool.loops[i];
    if (loop.dim >= 0 || loop.ps != 0) continue;
    if (loop.os == job.a.n * job.dst_bytes && loop.n >= kFew) dense = i;
    if (best < 0 || loop.n > pool.loops[best].n) best = i;
  }
  if (best < 0) return 0;
  return pool.loops[best].os % kCrowding == 0 && dense >= 0 ? dense : best;
}

}  // namespace

void choose_copy(Job& job, Pool& pool, int run, bool cast, bool cast_runs, bool alone,
                 const Tuning& tuning) noexcept {
  const std::int64_t all = pool.bytes(job.dst_bytes);
  job.kind = Kind::copy;
  if (run >= 0) append(job.a, pool.take(run));
  while (job.a.can_grow() && job.a.valid == job.a.n) {
    const int i = pool.find_destination(job.a.n * job.dst_bytes);
    if (i < 0) break;
    // Zeros behind a run; or only the parameters of a cast differ.
    if (pool.loops[i].valid > 1 && (!cast || pool.loops[i].is != job.a.n * job.src_bytes)) break;
    append(job.a, pool.take(i));
  }
  const bool runs = !cast || (cast_runs && has_short_runs(job));
  if (runs && !job.fill) choose_across(job, pool, tuning);
  const int rows = cast ? find_rows_of_cast(job, pool) : 0;
  if (job.b.count == 0 && rows < pool.count && pool.loops[rows].dim < 0)
    append(job.b, pool.take(rows));
  const bool maps = cast && !same_parameters(job.a);
  job.a.block =
      std::min(job.a.n, maps ? kMaxBlock : kRunBytes / std::max(job.src_bytes, job.dst_bytes));
  if (maps && job.a.count > 1 && job.a.loops[0].n <= kMaxBlock) {  // keep the period of parameters
    job.a.block = std::min(job.a.n, whole_runs(job.a.loops[0].n));
  }
  const std::int64_t row = std::max<std::int64_t>(job.a.block * job.dst_bytes * job.across.n, 1);
  const std::int64_t most = cast || !alone ? kRunBytes : most_of_streams(all);
  job.b.block = std::clamp<std::int64_t>(most / row, 1, job.b.n);
}

}  // namespace stowage::conversion
