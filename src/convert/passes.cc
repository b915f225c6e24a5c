// SPDX-License-Identifier: Apache-2.0
#include "convert/passes.h"

#include <algorithm>
#include <span>

#include "convert/cost.h"
#include "convert/pool.h"
#include "convert/shuffle.h"

namespace stowage::conversion {
namespace {

constexpr int kMostLoops = 8;

/// The loops of a tile.
struct Tile {
  std::array<Loop, kMostLoops> loops;
  int count = 0;
  std::int64_t n = 1;
  int element;  ///< bytes

  std::span<Loop> all() noexcept { return {loops.data(), static_cast<std::size_t>(count)}; }

  /// Bytes that follow each other on one side.
  std::int64_t run(std::int64_t Loop::*stride) const noexcept {
    std::int64_t bytes = element;
    const auto* const end = loops.begin() + count;
    for (;;) {
      const auto* const next = std::find_if(
          loops.begin(), end, [&](const Loop& l) { return l.*stride == bytes && l.valid == l.n; });
      if (next == end) return bytes;
      bytes *= next->n;
    }
  }
};

/// Takes the loops that go on where the runs of either side end, the shorter one first, until both
/// are long or there is no room for more.
bool cut_tile(Pool& pool, int element, Tile& out) noexcept {
  constexpr std::int64_t kLong = 8 * kLine, kLeast = kLine;
  out.element = element;
  bool done[2] = {};
  while (!(done[0] && done[1]) && out.count < kMostLoops) {
    const std::int64_t runs[] = {out.run(&Loop::is), out.run(&Loop::os)};
    const int side = done[0] ? 1 : done[1] ? 0 : runs[1] <= runs[0] ? 1 : 0;
    const std::int64_t room = kTileBytes / element / out.n;
    const int i = side == 0 ? pool.find_source(runs[0]) : pool.find_destination(runs[1]);
    done[side] = true;
    if (i < 0 || runs[side] >= kLong) continue;
    const Loop& next = pool.loops[i];
    std::int64_t n = next.n;
    if (n > room) n = next.valid < next.n ? 1 : equal_part(n, std::max<std::int64_t>(room, 1));
    if (n < 2) continue;
    done[side] = n < next.n;
    out.loops[static_cast<std::size_t>(out.count++)] = pool.take_part(i, n);
    out.n *= n;
  }
  return out.count > 2 && std::min(out.run(&Loop::is), out.run(&Loop::os)) >= kLeast;
}

/// The passes by way of a layout that has the innermost `inner` loops of one side innermost, and
/// the others in the order of the other side.
void order(Tile tile, bool by_source, int inner, Passes& out) noexcept {
  const auto near = by_source ? &Loop::is : &Loop::os, far = by_source ? &Loop::os : &Loop::is;
  const auto sort = [](auto begin, auto end, auto stride) {
    std::sort(begin, end, [&](const Loop& x, const Loop& y) { return x.*stride < y.*stride; });
  };
  const std::span<Loop> loops = tile.all();
  sort(loops.begin(), loops.end(), near);
  sort(loops.begin() + inner, loops.end(), far);
  for (Nest* const nest : {&out.first, &out.second}) {
    nest->fill = false;
    nest->src = nest->dst = nest->param = 0;
    nest->count = tile.count;
  }
  std::int64_t at = tile.element;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    const Loop& loop = loops[i];
    out.first.loops[i] = out.second.loops[i] = loop;
    out.first.loops[i].os = out.second.loops[i].is = at;
    out.second.loops[i].valid = loop.n;
    at *= loop.n;
  }
  normalise(out.first);
  normalise(out.second);
}

}  // namespace

void make_passes(const Nest& nest, const Job& job, Passes& out) noexcept {
  Pool pool(nest);  // with loops within an element, which no run goes on with
  Tile tile;
  cut_tile(pool, job.dst_bytes, tile);
  order(tile, job.pass_by_source, job.pass_inner, out);
}

void set_passes(const Nest& nest, int scalar, bool by_source, int inner, Job& job) noexcept {
  Pool pool(nest);
  const int element = take_element(pool, scalar);
  Tile tile;
  cut_tile(pool, element, tile);
  begin_job(nest, element, element, job);
  job.kind = Kind::passes;
  job.pass_by_source = by_source;
  job.pass_inner = inner;
  job.a.n = job.a.valid = job.a.block = tile.n;
  order_steps(job, pool);
}

void choose_passes(const Nest& nest, int scalar, double least, const Tuning& tuning,
                   Job& job) noexcept {
  constexpr double kGain = 0.75, kWorth = 2.5;  // ns of a line
  if (job.fill || job.kind == Kind::planes) return;
  const std::int64_t bytes = job.bytes();
  double best = most_of_other(cost_of(job, tuning), bytes, kWorth, kGain, least);
  if (best <= 0) return;
  Pool pool(nest);
  const int element = take_element(pool, scalar);
  Tile tile;
  if (!cut_tile(pool, element, tile)) return;
  const double tiles = static_cast<double>(bytes) / static_cast<double>(tile.n * element);
  bool by_source = false;
  int inner = 0;
  Passes passes;
  Job pass;
  for (const bool source : {false, true}) {
    for (int k = 1; k + 1 < tile.count; ++k) {
      order(tile, source, k, passes);
      double cost = 0;
      for (const Nest* const one : {&passes.first, &passes.second}) {
        make_job(*one, true, element, element, false, {}, Bypass::none, tuning, pass);
        choose_shuffle(*one, element, 0, tuning, pass);
        cost += cost_of(pass, tuning);
      }
      if (cost * tiles >= best) continue;
      best = cost * tiles;
      by_source = source;
      inner = k;
    }
  }
  if (inner > 0) set_passes(nest, scalar, by_source, inner, job);
}

}  // namespace stowage::conversion
