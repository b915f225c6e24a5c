// SPDX-License-Identifier: Apache-2.0
#include "convert/cast_move.h"

#include <algorithm>

#include "base/checked.h"
#include "convert/walk.h"

namespace stowage::conversion {
namespace {

/// Pixels of a few interleaved bytes into planes; each channel has one mean and norm.
bool fits_split(const Job& job) noexcept {
  const Loop &channels = job.a.loops[0], &pixels = job.b.loops[0];
  return job.a.valid == job.a.n && job.b.valid == job.b.n && job.a.n >= PixelRun::kLeast &&
         job.a.n <= PixelRun::kMost && channels.is == 1 && pixels.is == job.a.n &&
         pixels.os == job.dst_bytes && pixels.ps == 0;
}

/// Pixels of interleaved bytes into four floats each.
bool fits_spread(const Job& job) noexcept {
  const Loop& pixels = job.b.loops[0];
  return job.a.n == 4 && pixels.is == job.a.valid && pixels.os == 4 * job.dst_bytes &&
         pixels.ps == 0;
}

/// And back.
bool fits_press(const Job& job) noexcept {
  const Loop& pixels = job.b.loops[0];
  return job.a.n <= 4 && job.a.valid == job.a.n && pixels.is == 4 * job.src_bytes &&
         pixels.os == job.a.n;
}

/// Rows into one element of each for every column.
bool fits_join(const Job& job) noexcept { return job.a.loops[0].os == job.b.n * job.dst_bytes; }

/// And back.
bool fits_part(const Job& job) noexcept {
  return job.a.valid == job.a.n && job.b.valid == job.b.n &&
         job.b.loops[0].is == job.a.n * job.src_bytes;
}

/// Rows and columns, neither of them few, or such that they fill the tiles of a cast.
bool fits_transpose(const Job& job) noexcept {
  constexpr std::int64_t kLeast = 32;
  const std::int64_t fewer = std::min(job.a.valid, job.b.n);
  const bool to_bytes = job.dst_bytes == 1, fills = fewer % tile_of_cast(job) == 0;
  return job.b.valid == job.b.n && (fewer >= kLeast || (fills && !to_bytes));
}

/// Whether n iterations are steps of so many, or nearly: the last step does little again.
bool makes_steps(std::int64_t n, std::int64_t step) noexcept {
  return n >= step && 3 * round_up(n, step) < 4 * n;
}

/// Runs of 4 or 8 that follow each other along rows on one side and across on the other.
bool fits_transpose_runs(const Job& job) noexcept {
  constexpr std::int64_t kRows = 4;  // that become bytes together
  const std::int64_t n = job.a.n, src = n * job.src_bytes, dst = n * job.dst_bytes;
  const Loop &rows = job.b.loops[0], &across = job.across;
  if ((n != 4 && n != 8) || job.a.valid != n) return false;
  const auto fits = [&](const Loop& written, const Loop& read) {
    if (written.os != dst || read.is != src) return false;
    if (job.dst_bytes == 1)
      return makes_steps(written.valid, kRows) && makes_steps(read.valid, 16 / n);
    const std::int64_t fewer = std::min(written.valid, read.valid),
                       more = std::max(written.valid, read.valid);
    return fewer >= 16 / n && more >= 32 / n;
  };
  return fits(rows, across) || fits(across, rows);
}

}  // namespace

std::int64_t tile_of_cast(const Job& job) noexcept { return job.src_bytes == 1 ? 16 : 8; }

bool has_short_runs(const Job& job) noexcept {
  return job.a.valid == job.a.n && job.a.n >= CastRuns::kLeast && job.a.n <= kShortRun;
}

void choose_join_move(const JoinKernelsByRows& joins, Job& job) noexcept {
  const JoinKernels to_pixels = joins.of(job.b.n), to_rows = joins.of(job.a.n);
  if (to_pixels.join != nullptr && fits_join(job)) {
    job.move = UnitMove::join;
    job.joins = to_pixels;
  } else if (to_rows.part != nullptr && fits_part(job)) {
    job.move = UnitMove::part;
    job.joins = to_rows;
  }
}

UnitMove find_cast_move(const Job& job, const CastMoves& moves) noexcept {
  if (job.b.count != 1) return UnitMove::none;
  if (job.kind == Kind::copy) {
    if (moves.transpose_runs != nullptr && fits_transpose_runs(job))
      return UnitMove::transpose_runs;
    if (moves.runs != nullptr && has_short_runs(job)) return UnitMove::runs;
  }
  if (job.a.count != 1) return UnitMove::none;
  if (job.kind == Kind::transpose) {
    if (moves.split != nullptr && fits_split(job)) return UnitMove::split;
    if (moves.transpose != nullptr && fits_transpose(job)) return UnitMove::transpose;
  }
  if (job.kind == Kind::copy) {
    if (moves.spread != nullptr && fits_spread(job)) return UnitMove::spread;
    if (moves.press != nullptr && fits_press(job)) return UnitMove::press;
  }
  return UnitMove::none;
}

}  // namespace stowage::conversion
