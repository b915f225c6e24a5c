// SPDX-License-Identifier: Apache-2.0
#include "convert/passes.h"

#include <algorithm>
#include <span>

#include "base/checked.h"
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
  int element;             ///< bytes
  int uneven = -1;         ///< the loop that was cut into parts of different lengths, if any
  std::int64_t whole = 1;  ///< its iterations before it was cut

  std::span<Loop> span() noexcept { return {loops.data(), static_cast<std::size_t>(count)}; }

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

/// How many iterations of the loop a tile has room for: a divisor, or, where that is small, as many
/// of all tiles but the last.
std::int64_t iterations_in_tile(const Loop& loop, std::int64_t room) noexcept {
  if (loop.n <= room) return loop.n;
  if (loop.valid < loop.n || room < 2) return 1;
  const std::int64_t even = equal_part(loop.n, room);
  return 2 * even > room ? even : ceil_div(loop.n, ceil_div(loop.n, room));
}

/// Takes the loops that go on where the runs of either side end, the shorter one first, until both
/// are long or there is no room for more.
bool cut_tile(Pool& pool, int element, Tile& out) noexcept {
  constexpr std::int64_t kLong = 8 * kLine, kLeast = kLine;
  out.element = element;
  bool done[2] = {};
  while (!(done[0] && done[1]) && out.count < kMostLoops) {
    const std::int64_t runs[] = {out.run(&Loop::is), out.run(&Loop::os)};
    const int side = done[0] ? 1 : done[1] ? 0 : runs[1] <= runs[0] ? 1 : 0;
    const int i = side == 0 ? pool.find_source(runs[0]) : pool.find_destination(runs[1]);
    done[side] = true;
    if (i < 0 || runs[side] >= kLong) continue;
    const std::int64_t whole = pool.loops[i].n,
                       n = iterations_in_tile(pool.loops[i], kTileBytes / element / out.n);
    const bool even = whole % n == 0;
    if (n < 2 || (!even && out.uneven >= 0)) continue;
    done[side] = n < whole;
    Loop& loop = out.loops[static_cast<std::size_t>(out.count)];
    if (even) {
      loop = pool.take_part(i, n);
    } else {
      out.uneven = out.count;
      out.whole = whole;
      loop = pool.take(i);
      loop.n = loop.valid = n;
    }
    ++out.count;
    out.n *= n;
  }
  return out.count > 2 && std::min(out.run(&Loop::is), out.run(&Loop::os)) >= kLeast;
}

/// The passes by way of such a layout.
void order(Tile tile, const Between& between, Passes& out) noexcept {
  const bool by_source = between.by_source;
  const auto near = by_source ? &Loop::is : &Loop::os, far = by_source ? &Loop::os : &Loop::is;
  const auto sort = [](auto begin, auto end, auto stride) {
    std::sort(begin, end, [&](const Loop& x, const Loop& y) { return x.*stride < y.*stride; });
  };
  const std::span<Loop> loops = tile.span();
  sort(loops.begin(), loops.end(), near);
  std::rotate(loops.begin(), loops.begin() + between.first, loops.end());
  sort(loops.begin() + between.count, loops.end(), far);
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

void make_passes(const Nest& nest, const Job& job, std::int64_t part, Passes& out) noexcept {
  Pool pool(nest);  // with loops within an element, which no run goes on with
  Tile tile;
  cut_tile(pool, job.dst_bytes, tile);
  if (tile.uneven >= 0) {
    Loop& loop = tile.loops[static_cast<std::size_t>(tile.uneven)];
    loop.n = loop.valid = part;
  }
  order(tile, job.between, out);
}

void set_passes(const Nest& nest, int scalar, const Between& between, Job& job) noexcept {
  Pool pool(nest);
  const int element = take_element(pool, scalar);
  Tile tile;
  cut_tile(pool, element, tile);
  begin_job(nest, element, element, job);
  job.kind = Kind::passes;
  job.between = between;
  if (tile.uneven >= 0) {
    Loop loop = tile.loops[static_cast<std::size_t>(tile.uneven)];
    job.a.block = loop.n;
    loop.n = loop.valid = tile.whole;
    append(job.a, loop);
  }
  job.b.n = job.b.valid = job.b.block = tile.n / job.a.block;
  order_steps(job, pool);
}

void choose_passes(const Nest& nest, int scalar, double least, const Tuning& tuning,
                   Job& job) noexcept {
  constexpr double kGain = 0.85, kWorth = 2.5;  // ns of a line
  if (job.fill) return;
  const std::int64_t bytes = job.bytes();
  double best = most_of_other(cost_of(job, tuning), bytes, kWorth, kGain, least);
  if (best <= 0) return;
  Pool pool(nest);
  const int element = take_element(pool, scalar);
  Tile tile;
  if (!cut_tile(pool, element, tile)) return;
  const double tiles = static_cast<double>(bytes) / static_cast<double>(tile.n * element);
  Between chosen{};
  Passes passes;
  const auto cost_of_pass = [&](const Nest& pass) {
    Job move;
    make_job(pass, true, element, element, false, {}, Bypass::none, tuning, move);
    choose_shuffle(pass, element, 0, tuning, move);
    return tiles * cost_of(move, tuning);
  };
  const auto try_out = [&](const Between& between) {
    order(tile, between, passes);
    double cost = cost_of_pass(passes.first);
    if (cost < best) cost += cost_of_pass(passes.second);
    if (cost >= best) return;
    best = cost;
    chosen = between;
  };
  for (const bool by_source : {false, true}) {
    for (int k = 1; k + 1 < tile.count; ++k) {
      try_out({by_source, 0, k});
      try_out({by_source, k, tile.count - k});
    }
  }
  if (chosen.count > 0) set_passes(nest, scalar, chosen, job);
}

}  // namespace stowage::conversion
