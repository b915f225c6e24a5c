// SPDX-License-Identifier: Apache-2.0
#include "convert/job.h"

#include <algorithm>
#include <bit>

#include "base/checked.h"
#include "convert/blocks.h"
#include "convert/cast_move.h"
#include "convert/kernels.h"
#include "convert/pool.h"
#include "convert/runs.h"
#include "convert/walk.h"

namespace stowage::conversion {
namespace {

/// Takes the loops that continue the chain in the source until `bytes` are contiguous.
void grow_source(Chain& chain, Pool& pool, int element, std::int64_t bytes) noexcept {
  while (chain.can_grow() && chain.valid == chain.n && chain.n * element < bytes) {
    const int i = pool.find_source(chain.n * element);
    if (i < 0) return;
    append(chain, pool.take(i));
  }
}

void grow_destination(Chain& chain, Pool& pool, int element, std::int64_t bytes) noexcept {
  while (chain.can_grow() && chain.n * element < bytes) {
    const int i = pool.find_destination(chain.n * element);
    if (i < 0) return;
    append(chain, pool.take(i));
  }
}

bool dense_rows(const Job& job) noexcept {
  return job.b.loops[0].is == job.columns * job.src_bytes;
}

bool dense_columns(const Job& job) noexcept { return job.a.loops[0].os == job.b.n * job.dst_bytes; }

/// How many streams of one side are not read, or written, on where they ended when a loop takes the
/// next block: `distance` bytes further, of `across` runs of `run` bytes, `dense` or each of them a
/// stream.
std::int64_t jumps(bool dense, std::int64_t across, std::int64_t run, std::int64_t distance) {
  return distance == (dense ? across * run : run) ? 0 : dense ? 1 : across;
}

/// The same of both sides.
std::int64_t jumps(const Job& job, const Loop& loop) noexcept {
  return jumps(dense_rows(job), job.b.n, job.columns * job.src_bytes, loop.is) +
         jumps(dense_columns(job), job.a.n, job.b.n * job.dst_bytes, loop.os);
}

/// Blocks so small that finding one costs a good part of moving it: a unit is a loop of them, over
/// what lets most streams go on where they ended, or a part of that loop. Of `all` bytes.
void choose_repeats(Job& job, Pool& pool, std::int64_t all) noexcept {
  constexpr std::int64_t kSmall = 16384, kLeast = 4;
  const std::int64_t block = job.a.n * job.b.n * job.dst_bytes, most = most_of_streams(all);
  const bool even =
      job.a.count == 1 && job.b.count == 1 && job.a.valid == job.a.n && job.b.valid == job.b.n;
  if (!even || block > kSmall || job.a.block < job.a.n || job.b.block < job.b.n) return;
  int best = -1;
  std::int64_t repeats = 0;
  for (int i = 0; i < pool.count; ++i) {
    const Loop& loop = pool.loops[i];
    if (loop.dim >= 0 || loop.valid < loop.n) continue;
    const std::int64_t n = equal_part(loop.n, std::max<std::int64_t>(most / block, 1));
    if (n < std::min(kLeast, loop.n)) continue;
    if (best >= 0) {
      const std::int64_t here = jumps(job, loop), there = jumps(job, pool.loops[best]);
      if (here > there || (here == there && n <= repeats)) continue;
    }
    best = i;
    repeats = n;
  }
  if (best >= 0) job.across = pool.take_part(best, repeats);
}

/// `next`, the loop in whose iterations a chain goes on, if a kernel does not pay for each of so
/// short parts; else -1. Where elements are `cast` in scratch memory, before or after, a chain
/// takes all that this holds, and parameters do not differ along it.
int find_parts(const Job& job, const Chain& chain, const Pool& pool, int next, bool cast) noexcept {
  if (next < 0 || pool.loops[next].valid < pool.loops[next].n) return -1;
  const bool fits = cast ? pool.loops[next].ps == 0 && chain.loops[0].ps == 0
                         : chain.n * job.dst_bytes < 2 * kLine;
  return fits ? next : -1;
}

/// How many rows, or columns, of `bytes` scratch memory holds beside what it holds of a cast.
std::int64_t most_of_parts(std::int64_t bytes, bool cast) noexcept {
  return cast ? std::min(kCastBytes / bytes, kMaxBlock) : kPartsBytes / bytes;
}

/// Takes blocks beside the first, the nearest on the side that is not in scratch memory, until that
/// holds what is worth a unit.
void choose_parts_across(Job& job, Pool& pool) noexcept {
  const std::int64_t block = job.a.n * job.b.n * std::max(job.src_bytes, job.dst_bytes);
  if (job.a.block < job.a.n || job.b.block < job.b.n || 2 * block > kPartsBytes) return;
  const int nearest = pool.find_nearest_whole(job.parts == Parts::rows ? &Loop::is : &Loop::os);
  if (nearest >= 0)
    job.across = pool.take_part(nearest, equal_part(pool.loops[nearest].n, kPartsBytes / block));
}

/// Columns that follow each other without a gap in short parts are made in scratch memory.
bool choose_parts_of_columns(Job& job, Pool& pool, bool cast) noexcept {
  const std::int64_t most =
      most_of_parts(job.b.n * std::max(job.src_bytes, job.dst_bytes), cast) / job.a.n;
  if (!dense_columns(job) || job.a.valid < job.a.n || most == 0 ||
      job.b.n > longest_block(job, job.b))
    return false;
  const int parts = find_parts(job, job.a, pool, pool.find_source(job.a.n * job.src_bytes), cast);
  if (parts < 0) return false;
  job.parts = Parts::columns;
  job.a.block = job.a.n * std::min(most, pool.loops[parts].n);
  job.b.block = job.b.n;
  append(job.a, pool.take(parts));
  if (!cast && job.b.valid == job.b.n) choose_parts_across(job, pool);
  return true;
}

/// How many columns are made of rows with gaps behind them, where those that nobody reads cost less
/// than a kernel without them; 0: not so.
std::int64_t columns_with_gaps(int element, std::int64_t valid, const Loop& rows,
                               const Tuning& tuning) noexcept {
  constexpr std::int64_t kMostColumns = 8, kPiece = 16;  // bytes that a tile takes of a row
  const std::int64_t columns = rows.is / element;
  if (rows.is % element != 0 || columns <= valid || columns > kMostColumns ||
      valid * element % kPiece == 0 || !std::has_single_bit(static_cast<std::uint64_t>(columns)))
    return 0;
  const bool separate =
      kernel_for(element, columns, kPartsBytes / rows.is, rows.is, 0, tuning).number !=
      TransposeKernel::Number::element;
  return separate ? columns : 0;
}

/// Short rows that follow each other without a gap in short parts are gathered in scratch memory;
/// those with gaps stay where they are. `all` bytes are moved.
bool choose_parts_of_rows(Job& job, Pool& pool, std::int64_t all, bool cast,
                          const Tuning& tuning) noexcept {
  if (job.a.valid < job.a.n || job.b.valid < job.b.n) return false;
  const std::int64_t columns =
      cast || job.move != UnitMove::none
          ? 0
          : columns_with_gaps(job.src_bytes, job.a.n, job.b.loops[0], tuning);
  if (columns > 0) job.columns = columns;
  const std::int64_t rows =
      most_of_parts(job.columns * std::max(job.src_bytes, job.dst_bytes), cast);
  const int next = dense_rows(job) ? pool.find_destination(job.b.n * job.dst_bytes) : -1;
  const int parts = find_parts(job, job.b, pool, next, cast);
  if (columns == 0 && (parts < 0 || job.b.n > rows)) return false;
  job.a.block = job.a.n;
  job.b.block = std::min(job.b.n, rows);
  if (parts < 0) {
    choose_repeats(job, pool, all);
    return true;
  }
  job.parts = Parts::rows;
  // A table has room for all rows, should the last one end where the source does.
  const std::int64_t most = columns > 0 ? std::min(rows, kMaxBlock) : rows;
  job.b.block = job.b.n * std::clamp<std::int64_t>(most / job.b.n, 1, pool.loops[parts].n);
  append(job.b, pool.take(parts));
  if (!cast && columns == 0) choose_parts_across(job, pool);
  return true;
}

/// How many pixels of so many elements a unit takes of a job that moves `all` bytes. Planes are cut
/// between lines.
std::int64_t most_of_pixels(const Job& job, std::int64_t elements, std::int64_t all) noexcept {
  return most_of_streams(all) / (elements * std::max(job.src_bytes, job.dst_bytes)) / kLine * kLine;
}

/// What moves rows and pixels that are not cast; four of them do others where lines are better
/// loaded in pieces. Of results that bypass the caches others have such stores: into rows, and into
/// pixels of four wide elements or of two narrow ones.
JoinKernelsByRows uncast_joins(int element, Bypass bypass, const Tuning& tuning) noexcept {
  JoinKernelsByRows joins = kernels().joins_of(element);
  if (tuning.loads_pieces()) joins.four = {};
  if (bypass < Bypass::lines) return joins;
  joins.two.part = joins.four.part = nullptr;
  if (element < 16) joins.two = {};
  if (element > 4) joins.four = {};
  return joins;
}

/// Rows and pixels. So few pixels that a step of the kernel moves hardly more go by way of scratch
/// memory, unless a block is one piece of memory on both sides.
void choose_join(Job& job, Pool& pool, std::int64_t all, const Tuning& tuning) noexcept {
  constexpr std::int64_t kPiece = 16;  // of a row, where vectors are short
  const bool join = job.move == UnitMove::join, dense = dense_rows(job) && dense_columns(job),
             few = join ? job.b.n * job.a.n * job.dst_bytes < 3 * kLine ||
                              job.a.n * job.src_bytes < kPiece
                        : job.b.n * std::min(job.src_bytes, job.dst_bytes) < kLine;
  if (few && !dense &&
      (choose_parts_of_rows(job, pool, all, false, tuning) ||
       choose_parts_of_columns(job, pool, false)))
    return;
  if (join) {
    const std::int64_t most = most_of_pixels(job, job.b.n, all),
                       zeros =
                           static_cast<std::int64_t>(kZeroBytes) / job.src_bytes / kLine * kLine;
    job.a.block = std::min({job.a.n, most, job.b.valid < job.b.n ? zeros : most});
    job.b.block = job.b.n;
  } else {
    job.a.block = job.a.n;
    job.b.block = std::min(job.b.n, most_of_pixels(job, job.a.n, all));
  }
  choose_repeats(job, pool, all);
}

/// Rows and columns, both out of the pool, and what moves them if there are kernels for so few.
void begin_transpose(Job& job, Pool& pool, int ia, int ib,
                     const JoinKernelsByRows& joins) noexcept {
  job.kind = Kind::transpose;
  append(job.a, ia >= 0 ? pool.loops[ia] : kOneIteration);
  append(job.b, pool.loops[ib]);
  pool.take(std::max(ia, ib));
  if (ia >= 0) pool.take(std::min(ia, ib));
  job.columns = job.a.n;
  choose_join_move(joins, job);
}

/// Four or eight elements next to each other on both sides, cast alike, as one, if kernels move
/// rows and pixels of such. False, and nothing is different, if not.
bool choose_join_of_several(Job& job, Pool& pool, const CastMoves& moves,
                            const Tuning& tuning) noexcept {
  Pool rest = pool;
  const int i = rest.find_destination(job.dst_bytes);
  if (i < 0) return false;
  const Loop run = rest.take(i);
  const JoinKernelsByRows joins = run.n == 4   ? moves.joins_of_four
                                  : run.n == 8 ? moves.joins_of_eight
                                               : JoinKernelsByRows{};
  if (joins.two.join == nullptr || run.valid != run.n || run.is != job.src_bytes || run.ps != 0)
    return false;
  const int n = static_cast<int>(run.n), ia = rest.find_source(n * job.src_bytes),
            ib = rest.find_destination(n * job.dst_bytes);
  if (ia < 0 || ib < 0 || ia == ib) return false;
  const Job before = job;
  const std::int64_t all = pool.bytes(job.dst_bytes);
  job.src_bytes *= n;
  job.dst_bytes *= n;
  begin_transpose(job, rest, ia, ib, joins);
  if (job.move == UnitMove::none) {
    job = before;
    return false;
  }
  pool = rest;
  choose_join(job, pool, all, tuning);
  return true;
}

void choose_transpose(Job& job, Pool& pool, int ia, int ib, bool cast,
                      const JoinKernelsByRows& joins, Bypass bypass,
                      const Tuning& tuning) noexcept {
  const std::int64_t all = pool.bytes(job.dst_bytes);
  begin_transpose(job, pool, ia, ib, joins);
  if (job.move != UnitMove::none) return choose_join(job, pool, all, tuning);
  if (choose_parts_of_rows(job, pool, all, cast, tuning) ||
      choose_parts_of_columns(job, pool, cast))
    return;
  grow_destination(job.b, pool, job.dst_bytes, kLine);
  // No kernel is fast where columns, or rows, follow each other in parts only: blocks of those that
  // do are repeated instead.
  if (!dense_columns(job)) grow_source(job.a, pool, job.src_bytes, 4 * kLine);
  if (!dense_rows(job)) grow_destination(job.b, pool, job.dst_bytes, 4 * kLine);
  if (choose_transpose_blocks(job, all, cast, bypass, tuning)) choose_repeats(job, pool, all);
}

/// The last block has no fewer rows or columns than a tile, of which each would be moved by itself.
void leave_no_sliver(const Job& job, Chain& chain, std::int64_t tile) noexcept {
  const auto leaves_sliver = [&](std::int64_t block) {
    const std::int64_t rest = chain.n % block;
    return rest > 0 && rest < tile;
  };
  if (!leaves_sliver(chain.block)) return;
  const std::int64_t most = std::min(2 * chain.block, longest_block(job, chain));
  std::int64_t block =
      std::min(round_up(ceil_div(chain.n, chain.n / chain.block + 1), 2 * tile), most);
  if (leaves_sliver(block)) block = chain.block;
  while (leaves_sliver(block) && block < most) block = std::min(block + tile, most);
  chain.block = block;
}

/// A kernel that casts and moves at once, if there is one for this job.
void choose_cast_move(Job& job, Pool& pool, const CastMoves& moves) noexcept {
  const std::int64_t all = pool.bytes(job.dst_bytes) * job.a.n * job.b.n;
  job.move = find_cast_move(job, moves);
  if (job.move == UnitMove::none) return;
  if (job.move == UnitMove::transpose) {
    choose_blocks(job, 0, most_of_panels(all));
    leave_no_sliver(job, job.a, tile_of_cast(job));
    leave_no_sliver(job, job.b, tile_of_cast(job));
    return choose_repeats(job, pool, all);
  }
  if (job.move == UnitMove::runs || job.move == UnitMove::transpose_runs) {
    const std::int64_t row = job.a.n * job.dst_bytes * job.across.n;
    job.b.block = std::clamp<std::int64_t>(most_of_streams(all) / row, 1, job.b.n);
    return;
  }
  job.a.block = job.a.n;
  job.b.block = std::min(job.b.n, most_of_pixels(job, job.a.n, all));
}

void choose_strided(Job& job, Pool& pool, int ia, int ib) noexcept {
  job.kind = Kind::strided;
  const auto better = [&](auto key, int not_this) {
    int best = -1;
    for (int i = 0; i < pool.count; ++i) {
      if (pool.loops[i].dim >= 0 || i == not_this) continue;
      if (best < 0 || key(pool.loops[i]) < key(pool.loops[best])) best = i;
    }
    return best;
  };
  if (ib < 0) ib = better([](const Loop& l) { return l.os; }, ia);
  if (ia < 0) ia = better([](const Loop& l) { return l.is; }, ib);
  if (ia >= 0) append(job.a, pool.loops[ia]);
  if (ib >= 0) append(job.b, pool.loops[ib]);
  if (std::max(ia, ib) >= 0) pool.take(std::max(ia, ib));
  if (std::min(ia, ib) >= 0) pool.take(std::min(ia, ib));
  choose_blocks(job, 0, kMostBytes);
}

/// By which loops are contiguous: a copy, a transposition, or neither.
void choose_kind(Job& job, Pool& pool, bool alone, bool cast, const CastMoves& moves, Bypass bypass,
                 const Tuning& tuning) noexcept {
  const JoinKernelsByRows joins = cast ? moves.joins : uncast_joins(job.dst_bytes, bypass, tuning);
  const int ib = pool.find_destination(job.dst_bytes);
  const int ia = job.fill ? ib : pool.find_source(job.src_bytes);
  bool linear = false;
  for (int i = 0; i < pool.count; ++i) linear |= pool.loops[i].dim < 0;
  // One element with a source and zeros behind it are a run too, wherever the element is.
  const bool lone =
      ib >= 0 && !cast && pool.loops[ib].valid == 1 && pool.loops[ib].n * job.dst_bytes >= 16;
  if (job.fill || !linear || lone || (ia >= 0 && ia == ib)) {
    choose_copy(job, pool, ib, cast && !job.fill, moves.runs != nullptr, alone, tuning);
  } else if (ib >= 0 &&
             (ia >= 0 || (!cast && pool.loops[ib].valid == pool.loops[ib].n &&
                          columns_with_gaps(job.src_bytes, 1, pool.loops[ib], tuning) > 0))) {
    choose_transpose(job, pool, ia, ib, cast, joins, bypass, tuning);
  } else {
    choose_strided(job, pool, ia, ib);
  }
}

/// The kernel of a whole unit that copies, whose rows all have a source; none that transposes.
void choose_copy_kernel(Job& job) noexcept {
  job.copy_run = job.kind == Kind::strided ? job.dst_bytes : job.a.block * job.dst_bytes;
  const bool padded = job.kind == Kind::copy && job.a.block == job.a.n;
  job.copy_valid = padded ? job.a.valid * job.dst_bytes : job.copy_run;
  job.copy_across = job.kind == Kind::copy ? job.across.valid : 1;
  CopyBlock copy{};
  copy.run = job.copy_run;
  copy.valid = job.copy_valid;
  copy.across = job.copy_across;
  copy.last_run = job.last_run;
  copy.last_valid = job.last_valid;
  job.copy = &choose(kernels(), copy);
  job.transpose = nullptr;
  job.row_stride = job.col_stride = 0;
}

/// The kernels of a whole unit.
void choose_kernels(Job& job, bool cast, const Tuning& tuning) noexcept {
  choose_copy_kernel(job);
  if (job.kind != Kind::transpose) return;
  job.one_piece = job.a.block == job.a.n && is_one_piece(job.a, job.b.block * job.dst_bytes);
  const bool first = cast && job.src_bytes <= job.dst_bytes;  // into scratch, then cast
  const bool gaps = job.columns > job.a.n;
  if (!gaps) job.columns = job.a.block;
  // Rows without a source among the others make a table of all.
  const bool some_zero = job.b.valid < job.b.n && job.b.block == job.b.n;
  job.row_stride = cast && !first             ? job.a.block * job.dst_bytes
                   : job.parts == Parts::rows ? job.columns * job.src_bytes
                   : some_zero                ? 0
                                              : even_stride(job.b, &Loop::is);
  job.col_stride = first                         ? job.b.block * job.src_bytes
                   : job.parts == Parts::columns ? job.b.n * job.dst_bytes
                   : gaps                        ? 0
                                                 : even_stride(job.a, &Loop::os);
  job.transpose = &kernel_for(first ? job.src_bytes : job.dst_bytes, job.columns, job.b.block,
                              job.row_stride, job.col_stride, tuning, job.walk);
}

}  // namespace

void widen_element(Pool& pool, bool fill, int& src_bytes, int& dst_bytes) noexcept {
  for (;;) {
    const int i = pool.find_destination(dst_bytes);
    if (i < 0) return;
    const Loop& run = pool.loops[i];
    const std::int64_t bytes = run.n * dst_bytes;
    if ((!fill && run.is != src_bytes) || run.valid != run.n || bytes > 16 ||
        (bytes & (bytes - 1)) != 0)
      return;
    src_bytes = dst_bytes = static_cast<int>(bytes);
    pool.take(i);
  }
}

void append(Chain& chain, const Loop& loop) noexcept {
  chain.valid = chain.n * loop.valid;
  chain.n *= loop.n;
  chain.loops[chain.count++] = loop;
}

int take_element(Pool& pool, int scalar) noexcept {
  int src = scalar, dst = scalar;
  widen_element(pool, false, src, dst);
  return dst;
}

std::int64_t equal_part(std::int64_t n, std::int64_t most) noexcept {
  constexpr std::int64_t kTries = 32;  // each some nanoseconds of describing the conversion
  const std::int64_t fewest = ceil_div(n, most);
  for (std::int64_t parts = fewest; parts <= std::min(n, fewest + kTries); ++parts) {
    if (n % parts == 0) return n / parts;
  }
  return 1;
}

void order_steps(Job& job, const Pool& pool) noexcept {
  job.step_count = 0;
  const auto insert = [&](const Step& step) {
    int i = job.step_count++;
    const auto before = [](const Loop& x, const Loop& y) {
      if ((x.dim >= 0) != (y.dim >= 0)) return x.dim >= 0;
      return x.os < y.os;
    };
    for (; i > 0 && before(step.loop, job.steps[i - 1].loop); --i) job.steps[i] = job.steps[i - 1];
    job.steps[i] = step;
    job.units *= step.n;
  };
  job.units = 1;
  for (int i = 0; i < pool.count; ++i) insert({Step::What::outer, pool.loops[i].n, pool.loops[i]});
  const auto insert_blocks = [&](const Chain& chain, Step::What what) {
    if (chain.block < chain.n) insert({what, ceil_div(chain.n, chain.block), chain.loops[0]});
  };
  insert_blocks(job.a, Step::What::blocks_a);
  insert_blocks(job.b, Step::What::blocks_b);
}

std::int64_t Job::bytes() const noexcept {
  std::int64_t n = (a.n * chunk.n * dst_bytes - back_os) * b.n * across.n;
  for (int i = 0; i < step_count; ++i) {
    if (steps[i].what == Step::What::outer) n *= steps[i].n;
  }
  return n;
}

void begin_job(const Nest& nest, int src_bytes, int dst_bytes, Job& out) noexcept {
  out.fill = nest.fill;
  out.src_bytes = nest.fill ? dst_bytes : src_bytes;
  out.dst_bytes = dst_bytes;
  out.parts = Parts::none;
  out.columns = 0;
  out.move = UnitMove::none;
  out.joins = {};
  out.walk = Walk::free;
  out.non_temporal = out.whole_lines = out.one_piece = false;
  out.last_run = out.last_valid = 0;
  out.between = {};
  out.windows = 0;
  out.back_is = out.back_os = 0;
  out.shuffle = nullptr;
  out.stage_move = Kind::copy;
  out.src = nest.src;
  out.dst = nest.dst;
  out.param = nest.param;
  out.a = Chain{};
  out.b = Chain{};
  out.chunk = Chain{};
  out.across = kOneIteration;
}

void choose_runs(Job& job, const Loop& run, const Loop& rows, const Pool& pool) noexcept {
  job.kind = Kind::copy;
  append(job.a, run);
  append(job.b, rows);
  job.a.block = job.a.n;
  const std::int64_t row = run.n * job.dst_bytes * job.across.n;
  job.b.block = std::clamp<std::int64_t>(
      most_of_streams(pool.bytes(job.dst_bytes) * rows.n * run.n) / row, 1, rows.n);
  choose_copy_kernel(job);
  order_steps(job, pool);
}

void make_job(const Nest& nest, bool alone, int src_bytes, int dst_bytes, bool cast,
              const CastMoves& moves, Bypass bypass, const Tuning& tuning, Job& out) noexcept {
  begin_job(nest, src_bytes, dst_bytes, out);
  Pool pool(nest);
  const bool casts = cast && !nest.fill;
  if (!casts) widen_element(pool, out.fill, out.src_bytes, out.dst_bytes);
  if (!casts || !choose_join_of_several(out, pool, moves, tuning))
    choose_kind(out, pool, alone, cast, moves, bypass, tuning);
  if (casts && out.parts == Parts::none && out.move == UnitMove::none)
    choose_cast_move(out, pool, moves);
  // Pixels, and columns made in scratch memory, have no such stores.
  out.non_temporal = bypass >= Bypass::lines && out.kind == Kind::transpose &&
                     out.parts != Parts::columns && !moves_pixels(out.move);
  choose_kernels(out, casts, tuning);
  order_steps(out, pool);
}

}  // namespace stowage::conversion
