// SPDX-License-Identifier: Apache-2.0
#include "convert/cost.h"

#include <algorithm>

#include "base/checked.h"
#include "convert/walk.h"

namespace stowage::conversion {
namespace {

/// Nanoseconds of a line that is loaded and stored, of finding a unit and describing it to kernels,
/// of one of runs, of a call for a run of any length or for one of several blocks, of a run among
/// others, of an element that is moved by itself.
constexpr double kLineCost = 0.5, kUnitCost = 12, kUnitOfRunsCost = 20, kCallCost = 4,
                 kRunCost = 0.2, kElementCost = 0.6;

/// Of a line of a transposition in tiles, 16 bytes of as many rows as have 16 bytes of a column,
/// and of each time that it is interleaved.
constexpr double kTileCost = 0.9, kInterleaveCost = 0.15;

/// Of a call of another kernel, but for those of pixels and runs.
constexpr double kRowsCost = 12;

/// Of a unit whose rows are gathered in scratch memory first.
constexpr double kGatherCost = 30;

double lines(std::int64_t bytes) noexcept {
  return static_cast<double>(bytes) / static_cast<double>(kLine);
}

/// Parts of lines, n at this distance: where a few sets of the L1 do not hold so many of their
/// lines, each comes again for its next part.
double cost_of_crowd(std::int64_t bytes, std::int64_t distance, std::int64_t n, double again,
                     const Caches& caches) noexcept {
  constexpr std::int64_t kFar = 8 * kLine;
  const bool crowd =
      bytes < kLine && distance >= kFar && crowds(caches.l1_span(), caches.l1_ways, distance, n);
  return crowd ? again * static_cast<double>(n) : 0;
}

/// The same of what is read and of what is written.
constexpr double kReadAgain = 0.4, kWrittenAgain = 3;

/// Bytes from the first that a job reads to the last.
std::int64_t source_span(const Job& job) noexcept {
  std::int64_t out = 0;
  for (const Chain* const chain : {&job.a, &job.b, &job.chunk}) {
    for (int i = 0; i < chain->count; ++i) {
      const Loop& loop = chain->loops[static_cast<std::size_t>(i)];
      out += (loop.n - 1) * loop.is;
    }
  }
  for (int i = 0; i < job.step_count; ++i) {
    const Step& step = job.steps[static_cast<std::size_t>(i)];
    if (step.what == Step::What::outer) out += (step.n - 1) * step.loop.is;
  }
  return out;
}

/// Of a window of a shuffle, and of a line that windows have more than there are to fill, where the
/// L1 does not keep the rest of what they read.
constexpr double kWindowCost = 0.4, kWindowAgain = 0.15;

/// Registers do not hold the tables of so many windows of whole lines.
constexpr std::int64_t kManyWindows = 24;

/// Of na columns of nb rows.
double cost_of_block(const Job& job, std::int64_t na, std::int64_t nb) noexcept {
  constexpr double kPartly = 3;  // of a tile that is not whole
  const bool pixels = moves_pixels(job.move), tiles = !pixels && job.transpose->name == "transpose";
  if (!tiles) {
    const bool runs = !pixels && job.transpose->name == "runs";
    const double line = runs && job.dst_bytes < 16 ? 4 : 2;
    return (pixels || runs ? 0 : kRowsCost) + line * kLineCost * lines(na * nb * job.dst_bytes);
  }
  const std::int64_t side = 16 / job.dst_bytes, whole = (na / side) * (nb / side),
                     all = ceil_div(na, side) * ceil_div(nb, side);
  const double of_line =
      kTileCost + kInterleaveCost * static_cast<int>(log2_of(static_cast<int>(side)));
  return of_line * lines(side * side * job.dst_bytes) *
         (static_cast<double>(whole) + kPartly * static_cast<double>(all - whole));
}

}  // namespace

double most_of_other(double before, std::int64_t bytes, double worth, double gain,
                     double least) noexcept {
  if (before < least || before < worth * lines(bytes)) return 0;
  return std::min(gain * before, before - least);
}

double cost_of(const Job& job, const Tuning& tuning) noexcept {
  const std::int64_t bytes = job.bytes();
  const double elements = static_cast<double>(bytes) / job.dst_bytes,
               number = static_cast<double>(job.units), units = kUnitCost * number;
  switch (job.kind) {
    case Kind::strided:
      return units + kElementCost * elements;
    case Kind::copy: {
      const bool calls = job.copy == &kernels().copy.back(), padded = job.a.valid < job.a.n;
      const bool ragged = job.last_run > 0;  // in registers that hold a few rows
      const std::int64_t of_run = job.a.block * job.dst_bytes;
      const bool pieces = of_run <= 8 || of_run % 16 == 0;  // else the last of them is cut
      const double run = calls    ? kCallCost
                         : ragged ? kRunCost / 3
                         : padded ? (pieces ? kRunCost / 4 : 5 * kRunCost)
                                  : kRunCost;
      const auto crowd = [&](std::int64_t Loop::*stride, double again) {
        return cost_of_crowd(of_run, job.across.*stride, job.across.n, again, tuning.caches) /
               static_cast<double>(job.across.n);
      };
      return (padded ? 2 : 1) * kUnitOfRunsCost * number + kLineCost * lines(bytes) +
             (run + crowd(&Loop::is, kReadAgain) + crowd(&Loop::os, kWrittenAgain)) * elements /
                 static_cast<double>(job.a.block);
    }
    case Kind::shuffle: {
      const std::int64_t chunk = job.chunk.n * job.dst_bytes,
                         window = kernels().shuffles_of(job.dst_bytes).vector;
      const bool held = window < kLine || job.windows < kManyWindows;
      const double of_window = held ? kWindowCost : 1.5 * kWindowCost,
                   again = source_span(job) > tuning.caches.l1 ? kWindowAgain : 0;
      return units + elements / static_cast<double>(job.chunk.n) *
                         (kRunCost + kLineCost / 2 * lines(chunk) + of_window * job.windows +
                          again * lines(std::max<std::int64_t>(window * job.windows - chunk, 0)));
    }
    case Kind::transpose: {
      const double calls = kCallCost * number * static_cast<double>(job.across.n - 1),
                   parts = job.parts == Parts::rows
                               ? kGatherCost * number + 3 * kLineCost * lines(bytes)
                           : job.parts == Parts::columns ? kLineCost * lines(bytes)
                                                         : 0,
                   blocks = elements / static_cast<double>(job.a.block * job.b.block);
      return units + calls + parts +
             blocks * (cost_of_block(job, std::max(job.columns, job.a.block), job.b.block) +
                       cost_of_crowd(job.b.block * job.dst_bytes, stride_of(job.a, &Loop::os),
                                     job.a.block, kWrittenAgain, tuning.caches) +
                       cost_of_crowd(job.a.block * job.dst_bytes, stride_of(job.b, &Loop::is),
                                     job.b.block, kReadAgain, tuning.caches));
    }
    default:
      return units + 4 * kLineCost * lines(bytes);
  }
}

}  // namespace stowage::conversion
