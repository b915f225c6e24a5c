// SPDX-License-Identifier: Apache-2.0
#include "convert/planes.h"

#include <algorithm>
#include <initializer_list>

#include "base/checked.h"

namespace stowage::conversion {
namespace {

/// The fewest lines of a plane that are worth two calls of a kernel.
constexpr std::int64_t kLeastLines = 3;

/// Whole lines, of an odd number, so that planes do not crowd one set of the L1, which few of them
/// fit into.
std::int64_t pitch_of(std::int64_t planes) noexcept {
  constexpr std::int64_t kFit = 32 * 1024;
  const std::int64_t lines = kFit / (planes * kLine);
  return std::max(lines - (lines % 2 == 0 ? 1 : 0), kLeastLines) * kLine;
}

Loop loop_of(std::int64_t n, std::int64_t is, std::int64_t os) noexcept {
  return {.n = n, .valid = n, .is = is, .os = os, .ps = 0, .step = 0, .dim = -1};
}

Nest nest_of(std::initializer_list<Loop> loops) noexcept {
  Nest out{};
  for (const Loop& loop : loops) {
    if (loop.n > 1) out.loops[out.count++] = loop;
  }
  std::sort(out.loops.begin(), out.loops.begin() + out.count,
            [](const Loop& x, const Loop& y) { return x.os < y.os; });
  return out;
}

}  // namespace

void choose_planes(const Nest& nest, int scalar, std::int64_t least, Job& job) noexcept {
  constexpr std::int64_t kLeastBetween = 64, kMostPlanes = kPlanesBytes / (kLeastLines * kLine);
  if (job.fill || job.kind != Kind::transpose || job.move != UnitMove::none ||
      job.parts != Parts::none || job.columns > job.a.n ||
      job.transpose->number != TransposeKernel::Number::element)
    return;
  Pool pool(nest);
  const int element = take_element(pool, scalar);
  const auto take = [&](int i, Loop& out) {
    if (i < 0 || pool.loops[i].valid < pool.loops[i].n) return false;
    out = pool.take(i);
    return true;
  };
  Loop columns, rows, between;
  if (!take(pool.find_source(element), columns) || !take(pool.find_destination(element), rows) ||
      !take(pool.find_source(columns.n * element), between) || between.os != rows.n * element)
    return;
  const std::int64_t planes = columns.n * rows.n;
  // Tiles take whole lines of one side as they are.
  if (std::max(columns.n, rows.n) * element >= kLine || planes > kMostPlanes ||
      between.n < kLeastBetween || planes * between.n < least * element)
    return;
  job.kind = Kind::planes;
  job.a = job.b = Chain{};
  job.across = kOneIteration;
  job.a.count = 1;
  job.a.loops[0] = between;
  job.a.n = job.a.valid = between.n;
  const std::int64_t most = pitch_of(planes) / element, parts = ceil_div(between.n, most);
  job.a.block = std::min(most, round_up(ceil_div(between.n, parts), kLine));
  job.b.count = 2;
  job.b.loops[0] = rows;
  job.b.loops[1] = columns;
  job.b.n = job.b.valid = job.b.block = planes;
  order_steps(job, pool);
}

Planes planes_of(const Job& job) noexcept {
  return {job.b.loops[1], job.b.loops[0], job.a.loops[0], job.dst_bytes, pitch_of(job.b.n)};
}

Nest into_planes(const Planes& planes, std::int64_t n) noexcept {
  const auto& [columns, rows, between, element, pitch] = planes;
  return nest_of({loop_of(columns.n, columns.is, rows.n * pitch), loop_of(rows.n, rows.is, pitch),
                  loop_of(n, between.is, element)});
}

Nest from_planes(const Planes& planes, std::int64_t n) noexcept {
  const auto& [columns, rows, between, element, pitch] = planes;
  return nest_of({loop_of(columns.n, rows.n * pitch, columns.os), loop_of(rows.n, pitch, rows.os),
                  loop_of(n, element, between.os)});
}

}  // namespace stowage::conversion
