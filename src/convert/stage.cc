// SPDX-License-Identifier: Apache-2.0
#include "convert/stage.h"

#include <algorithm>

#include "base/checked.h"
#include "convert/walk.h"

namespace stowage::conversion {
namespace {

constexpr std::int64_t kMostRanges = 16;

/// Of the loops that are left, the one with the nearest iterations; -1: none.
int nearest(const Nest& nest, std::int64_t Loop::*stride) noexcept {
  int best = -1;
  for (int i = 0; i < nest.count; ++i) {
    const Loop& loop = nest.loops[i];
    if (loop.dim < 0 && (best < 0 || loop.*stride < nest.loops[best].*stride)) best = i;
  }
  return best;
}

void remove(Nest& nest, int i) noexcept {
  for (--nest.count; i < nest.count; ++i) nest.loops[i] = nest.loops[i + 1];
}

/// How many iterations a part of the loop has, at most `most`.
std::int64_t part_of(const Loop& loop, std::int64_t most) noexcept {
  if (loop.n <= most) return loop.n;
  return loop.valid < loop.n ? 1 : equal_part(loop.n, most);
}

/// The loop of the nest of which this is what a part has left, or the same.
int whole_of(const Loop& rest, const Nest& nest) noexcept {
  int i = 0;
  const auto reach = [](const Loop& l, std::int64_t Loop::*stride) { return l.n * (l.*stride); };
  while (nest.loops[i].dim >= 0 || reach(nest.loops[i], &Loop::is) != reach(rest, &Loop::is) ||
         reach(nest.loops[i], &Loop::os) != reach(rest, &Loop::os))
    ++i;
  return i;
}

/// The loops along which the side that is cast is dense, of at most `most` elements: out of the
/// nest and into the stage.
void take_range(Nest& nest, int wide, int narrow, std::int64_t most, Stage& out) noexcept {
  const auto stride = out.cast_first ? &Loop::is : &Loop::os;
  out.move = {.fill = false, .src = 0, .dst = 0, .param = 0, .count = 0, .loops = {}};
  out.elements = 1;
  std::int64_t used = 1;
  for (int i; (i = nearest(nest, stride)) >= 0;) {
    Loop loop = nest.loops[i];
    const std::int64_t distance = loop.*stride / wide;
    if (loop.*stride % wide != 0 || distance < out.elements) return;
    const std::int64_t n = part_of(loop, (most - out.elements) / distance + 1);
    const std::int64_t valid = out.cast_first ? std::min(n, loop.valid) : n;
    const std::int64_t elements = out.elements + (valid - 1) * distance;
    // Gaps of the destination are not to be touched.
    const bool dense = out.cast_first ? elements <= 2 * used * valid : elements == used * valid;
    if (n < 2 || elements > most || !dense) return;
    Loop outer = loop;
    outer.n = outer.valid = loop.n / n;
    outer.is *= n;
    outer.os *= n;
    loop.valid = std::min(n, loop.valid);
    loop.n = n;
    loop.*stride = distance * narrow;
    out.elements = elements;
    used *= valid;
    out.move.loops[out.move.count++] = loop;
    if (outer.n > 1) {
      nest.loops[i] = outer;
      return;
    }
    remove(nest, i);
  }
}

}  // namespace

bool cut_stage(Nest& nest, int src_bytes, int dst_bytes, Stage& out) noexcept {
  out.cast_first = src_bytes >= dst_bytes;
  const int wide = out.cast_first ? src_bytes : dst_bytes,
            narrow = out.cast_first ? dst_bytes : src_bytes;
  const auto cast = out.cast_first ? &Loop::is : &Loop::os,
             moved = out.cast_first ? &Loop::os : &Loop::is;
  out.ranges = {.n = 1, .valid = 1, .is = 0, .os = 0, .ps = 0, .step = 0, .dim = -1};
  const Nest all = nest;
  take_range(nest, wide, narrow, kStageBytes / narrow, out);
  // Stages that share lines of the other side are one, of several ranges.
  const int next = nearest(nest, moved);
  if (next >= 0 && nest.loops[next].*moved < kLine) {
    const int i = whole_of(nest.loops[next], all);
    const Loop ranges = all.loops[i];
    if (ranges.n <= kMostRanges) {
      nest = all;
      remove(nest, i);
      take_range(nest, wide, narrow, kStageBytes / narrow / ranges.n, out);
      Loop& loop = out.move.loops[out.move.count++] = out.ranges = ranges;
      loop.*cast = out.elements * narrow;
    }
  }
  std::sort(out.move.loops.begin(), out.move.loops.begin() + out.move.count,
            [](const Loop& x, const Loop& y) { return x.os < y.os; });
  return out.move.count > 1;
}

void choose_stage(const Nest& nest, std::int64_t least, Job& job) noexcept {
  if (job.fill) return;
  constexpr std::int64_t kShortRow = 64;
  const bool along_b = job.src_bytes <= job.dst_bytes;
  const Chain &row = along_b ? job.b : job.a, &rows = along_b ? job.a : job.b;
  const bool runs = job.kind == Kind::copy && job.a.n <= kShortRun,
             small =
                 job.kind == Kind::transpose && job.parts == Parts::none && !job.split &&
                 (row.block * rows.block <= kShortRun || (row.block < kShortRow && rows.count > 1));
  if (!runs && !small && job.kind != Kind::strided) return;
  Nest outer = nest;
  Stage stage;
  if (!cut_stage(outer, job.src_bytes, job.dst_bytes, stage)) return;
  if (stage.elements * stage.ranges.n < least) return;
  job.kind = Kind::stage;
  job.a = job.b = Chain{};
  for (int i = 0; i < stage.move.count; ++i) job.a.n *= stage.move.loops[i].n;
  job.a.valid = job.a.block = job.a.n;
  job.step_count = 0;
  job.units = 1;
  for (int i = 0; i < outer.count; ++i) {
    job.steps[job.step_count++] = {Step::What::outer, outer.loops[i].n, outer.loops[i]};
    job.units *= outer.loops[i].n;
  }
}

}  // namespace stowage::conversion
