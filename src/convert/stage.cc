// SPDX-License-Identifier: Apache-2.0
#include "convert/stage.h"

#include <algorithm>

#include "convert/walk.h"

namespace stowage::conversion {
namespace {

/// Ranges of a stage; elements of one that is not worth a stage of its own.
constexpr std::int64_t kMostRanges = 16, kShortRange = 1024;

/// A loop that stays long in a quarter of the scratch memory is cut to that, which the L1 holds
/// beside what is read and written.
constexpr std::int64_t kFewer = 4, kLongLoop = 64;

/// How many iterations a part of the loop has, at most `most`.
std::int64_t part_of(const Loop& loop, std::int64_t most) noexcept {
  if (loop.n <= most) return loop.n;
  return loop.valid < loop.n ? 1 : equal_part(loop.n, most);
}

/// The loop in `all` of which this is what a part has left, or the same.
int whole_of(const Loop& rest, const Pool& all) noexcept {
  const auto same_reach = [&](const Loop& loop, std::int64_t Loop::*stride) {
    return loop.n * (loop.*stride) == rest.n * (rest.*stride);
  };
  int i = 0;
  while (all.loops[i].dim >= 0 || !same_reach(all.loops[i], &Loop::is) ||
         !same_reach(all.loops[i], &Loop::os))
    ++i;
  return i;
}

/// The loops along which the side that is cast is dense, of at most `most` elements, the last one
/// of `fewer` if it is long then: out of the pool and into the stage.
void take_range(Pool& pool, int wide, int narrow, std::int64_t most, std::int64_t fewer,
                Stage& out) noexcept {
  const auto stride = out.cast_first ? &Loop::is : &Loop::os;
  out.move.count = 0;
  out.elements = 1;
  std::int64_t used = 1;
  bool whole = true;
  for (int i; whole && (i = pool.find_nearest(stride)) >= 0;) {
    const Loop& next = pool.loops[i];
    const std::int64_t distance = next.*stride / wide;
    if (next.*stride % wide != 0 || distance < out.elements) return;
    const auto part_within = [&](std::int64_t elements) {
      return part_of(next, std::max<std::int64_t>(elements - out.elements, 0) / distance + 1);
    };
    const std::int64_t few = part_within(fewer), n = few >= kLongLoop ? few : part_within(most);
    const std::int64_t valid = out.cast_first ? std::min(n, next.valid) : n;
    const std::int64_t elements = out.elements + (valid - 1) * distance;
    // Gaps of the destination are not to be touched.
    const bool dense = out.cast_first ? elements <= 2 * used * valid : elements == used * valid;
    if (n < 2 || elements > most || !dense) return;
    whole = n == next.n;
    Loop& loop = out.move.loops[out.move.count++] = pool.take_part(i, n);
    loop.*stride = distance * narrow;
    out.elements = elements;
    used *= valid;
  }
}

}  // namespace

bool cut_stage(Pool& pool, int src_bytes, int dst_bytes, Stage& out) noexcept {
  out.cast_first = src_bytes >= dst_bytes;
  const int wide = out.cast_first ? src_bytes : dst_bytes,
            narrow = out.cast_first ? dst_bytes : src_bytes;
  const auto cast = out.cast_first ? &Loop::is : &Loop::os,
             moved = out.cast_first ? &Loop::os : &Loop::is;
  out.ranges = kOneIteration;
  out.move.fill = false;
  out.move.src = out.move.dst = out.move.param = 0;
  const Pool all = pool;
  const std::int64_t most = kStageBytes / narrow;
  const auto take = [&](std::int64_t elements, std::int64_t fewer) {
    pool = all;
    take_range(pool, wide, narrow, elements, fewer, out);
  };
  // The nearest loop of those that are left, where stages share lines of the other side by it.
  const auto shared = [&] {
    const int next = pool.find_nearest(moved);
    return next >= 0 && pool.loops[next].*moved < kLine ? next : -1;
  };
  take(most, most / kFewer);
  if (shared() >= 0) take(most, most);
  // Such stages are one, of several ranges.
  if (const int next = shared(); next >= 0) {
    const int i = whole_of(pool.loops[next], all);
    if (const std::int64_t n = part_of(all.loops[i], kMostRanges); n > 1) {
      pool = all;
      out.ranges = pool.take_part(i, n);
      // What is left of the loop is no part of a range.
      const bool left = n < all.loops[i].n;
      const Loop rest = left ? pool.take(i) : kOneIteration;
      const std::int64_t part = most / n;
      take_range(pool, wide, narrow, part, part, out);
      if (left) pool.loops[pool.count++] = rest;
    }
  }
  // Short ranges are several to a stage too, of the loop in which they are nearest.
  if (const int next = pool.find_nearest(cast);
      next >= 0 && out.ranges.n == 1 && out.elements < kShortRange && out.move.count > 0) {
    const std::int64_t n = part_of(pool.loops[next], std::min(kMostRanges, most / out.elements));
    if (n > 1) out.ranges = pool.take_part(next, n);
  }
  if (out.ranges.n > 1) {
    Loop& loop = out.move.loops[out.move.count++] = out.ranges;
    loop.*cast = out.ranges.*moved = out.elements * narrow;
  }
  std::sort(out.move.loops.begin(), out.move.loops.begin() + out.move.count,
            [](const Loop& x, const Loop& y) { return x.os < y.os; });
  return out.move.count > 1;
}

void choose_stage(const Nest& nest, int src_scalar, int dst_scalar, std::int64_t least,
                  Job& job) noexcept {
  constexpr std::int64_t kShortRow = 64, kTinyBlock = 256;
  // Longer runs are as fast one by one; blocks of a few elements take a call each.
  const std::int64_t block = job.a.block * job.b.block * std::max(job.src_bytes, job.dst_bytes);
  const bool moves = job.move == UnitMove::runs ? job.a.n * job.dst_bytes >= kLongRunBytes
                     : moves_pixels(job.move)   ? block > kTinyBlock
                                                : job.move != UnitMove::none;
  if (job.fill || moves) return;
  const bool along_b = job.src_bytes <= job.dst_bytes;
  const Chain &row = along_b ? job.b : job.a, &rows = along_b ? job.a : job.b;
  const bool runs = job.kind == Kind::copy && job.a.n <= kShortRun,
             small = job.kind == Kind::transpose &&
                     (row.block * rows.block <= kShortRun ||
                      (job.parts == Parts::none && row.block < kShortRow && rows.count > 1));
  if (!runs && !small && job.kind != Kind::strided) return;
  Pool outer(nest);
  Stage stage;
  if (!cut_stage(outer, src_scalar, dst_scalar, stage)) return;
  if (stage.elements * stage.ranges.n < least) return;
  begin_job(nest, src_scalar, dst_scalar, job);
  job.kind = Kind::stage;
  for (int i = 0; i < stage.move.count; ++i) job.a.n *= stage.move.loops[i].n;
  job.a.valid = job.a.block = job.a.n;
  order_steps(job, outer);
}

}  // namespace stowage::conversion
