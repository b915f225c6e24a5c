// SPDX-License-Identifier: Apache-2.0
#include "convert/ragged.h"

#include <algorithm>

namespace stowage::conversion {
namespace {

bool same(const Loop& x, const Loop& y) noexcept {
  return x.dim < 0 && y.dim < 0 && x.valid == x.n && y.valid == y.n && x.n == y.n && x.is == y.is &&
         x.os == y.os;
}

}  // namespace

bool choose_ragged(const Nest& whole, const Nest& ends, int element, Job& job) noexcept {
  if (whole.fill || ends.fill || !kernels().copies_ragged) return false;
  Pool pool(whole), other(ends);
  const int i = pool.find_destination(element), j = other.find_destination(element);
  if (i < 0) return false;
  const Loop run = pool.take(i);
  Loop end = run;  // a run of one element has no loop
  end.n = end.valid = 1;
  if (j >= 0) end = other.take(j);
  const std::int64_t bytes = run.n * element;
  const bool padded = end.n == run.n, cut = end.n < run.n && end.valid == end.n;
  if (run.is != element || end.is != element || run.valid != run.n || (!padded && !cut))
    return false;
  // Where there is one block, it has no loop.
  Loop across{.n = 1,
              .valid = 1,
              .is = ends.src - whole.src,
              .os = ends.dst - whole.dst,
              .ps = 0,
              .step = 0,
              .dim = -1};
  if (pool.count == other.count + 1) {
    const int blocks = padded ? pool.find_source(bytes) : pool.find_destination(bytes);
    if (blocks < 0 || pool.loops[blocks].valid != pool.loops[blocks].n) return false;
    across = pool.take(blocks);
  }
  // Runs of a row follow each other where rows are, on the other side rows do.
  if ((padded ? across.is : across.os) != bytes || !fits_ragged(bytes, across.n + 1) ||
      pool.count != other.count ||
      !std::equal(pool.loops.begin(), pool.loops.begin() + pool.count, other.loops.begin(), same) ||
      ends.src - whole.src != across.n * across.is || ends.dst - whole.dst != across.n * across.os)
    return false;
  const int rows = padded ? pool.find_destination(bytes) : pool.find_source(bytes);
  if (rows < 0 || pool.loops[rows].is <= 0) return false;
  // A whole run is written where the last one is cut: over the next row, never over a gap.
  if (cut && pool.loops[rows].os != across.n * bytes + end.n * element) return false;
  ++across.n;
  ++across.valid;
  begin_job(whole, element, element, job);
  job.across = across;
  job.last_valid = end.valid * element;
  job.last_run = end.n * element;
  choose_runs(job, run, pool.take(rows), pool);
  return true;
}

}  // namespace stowage::conversion
