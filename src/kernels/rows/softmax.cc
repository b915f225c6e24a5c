// SPDX-License-Identifier: Apache-2.0
#include "kernels/rows/softmax.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/checked.h"
#include "base/numbers.h"
#include "base/thread_pool.h"
#include "kernels/copy/digit_loops.h"
#include "kernels/rows/axis_loops.h"
#include "kernels/rows/rows.h"

namespace stowage {

std::int64_t softmax_row_elements(const SoftmaxParams& p) {
  std::int64_t count = 1;
  for (int i = 0; i < p.mapping.shape().rank(); ++i) {
    count *= p.along(i) ? p.mapping.shape()[i] : 1;
  }
  return count;
}

std::int64_t softmax_row_floats(const SoftmaxParams& p) {
  return round_up(softmax_row_elements(p), 16);
}

namespace {

/// Softmax along one loop, for every index of the others. Order does not matter to a softmax, so
/// any layout will do in which the axes fuse into one loop without tails.
struct StridedSoftmax {
  bool log = false;
  std::int64_t count = 1, stride = 1;
  std::vector<StridedLoop<1>> over;
  std::int64_t columns = 1;  ///< contiguous, beside the outer ones; 1 when the rows are

  void run(const float* x, float* y, ThreadPool* pool) const noexcept {
    if (stride == 1) return run_rows(x, y, pool);
    constexpr std::int64_t kColumns = 256;
    const std::int64_t chunks = (columns + kColumns - 1) / kColumns;
    parallel(pool, at(loop_count(over) * chunks), [&](std::size_t task) {
      const auto i = static_cast<std::int64_t>(task);
      const std::int64_t first = i % chunks * kColumns;
      const std::int64_t offset = loop_offset(over, i / chunks)[0] + first;
      softmax_columns(x + offset, y + offset, count, stride, std::min(kColumns, columns - first),
                      log);
    });
  }

  void run_rows(const float* x, float* y, ThreadPool* pool) const noexcept {
    constexpr std::int64_t kTaskElements = 8192;
    const std::int64_t rows = loop_count(over);
    const std::int64_t group = std::max<std::int64_t>(kTaskElements / count, 1);
    const bool dense = over.empty() || (over.size() == 1 && over[0].stride[0] == count);
    parallel(pool, at(ceil_div(rows, group)), [&](std::size_t task) {
      const std::int64_t first = static_cast<std::int64_t>(task) * group;
      const std::int64_t last = std::min(first + group, rows), together = dense ? last - first : 1;
      for (std::int64_t r = first; r < last; r += together) {
        const std::int64_t offset = loop_offset(over, r)[0];
        softmax_rows(x + offset, y + offset, together, count, log);
      }
    });
  }
};

/// Softmax along elements that lie anywhere: a row is collected, computed and put back.
struct GatheredSoftmax {
  bool log = false;
  std::vector<CellRun> runs;
  std::vector<StridedLoop<1>> over;
  std::int64_t row_floats = 0;  ///< scratch of one worker
  int workers = 1;

  void run(const KernelArgs& args) const noexcept {
    const std::int64_t rows = loop_count(over), share = ceil_div(rows, workers);
    parallel(args.pool, at(workers), [&](std::size_t worker) {
      const auto w = static_cast<std::int64_t>(worker);
      float* row = reinterpret_cast<float*>(args.scratch) + w * row_floats;
      for (std::int64_t r = w * share; r < std::min((w + 1) * share, rows); ++r) {
        const std::int64_t offset = loop_offset(over, r)[0];
        const float* x = args.input<float>(0) + offset;
        float *y = args.output<float>(0) + offset, *end = row;
        for (const CellRun& c : runs) end = std::copy_n(x + c.first, c.count, end);
        softmax_rows(row, row, 1, end - row, log);
        const float* from = row;
        for (const CellRun& c : runs) {
          std::copy_n(from, c.count, y + c.first);
          from += c.count;
        }
      }
    });
  }
};

/// Nothing unless the axes fuse into one loop that can be walked in rows or in columns.
std::optional<StridedSoftmax> strided_softmax(const SoftmaxParams& p) {
  const auto along = [&](int i) { return p.along(i); };
  const auto loops = loops_along(p.mapping, along);
  if (loops.size() != 1 || !no_tails(p.mapping, along)) return std::nullopt;
  StridedSoftmax s;
  s.count = loops[0].extent;
  s.stride = loops[0].stride[0];
  s.over = loops_along(p.mapping, [&](int i) { return !p.along(i); });
  if (s.stride != 1) {
    s.columns = take_run(s.over);
    if (s.columns == 1 && !s.over.empty()) return std::nullopt;
  }
  return s;
}

struct BoundStrided {
  StridedSoftmax softmax;
  TailZero tails;
};

template <bool Log>
BoundStrided bind_strided(const SoftmaxParams& p) {
  BoundStrided b{*strided_softmax(p), TailZero(p.mapping)};
  b.softmax.log = Log;
  return b;
}

void run_strided(const BoundStrided& b, const KernelArgs& args) noexcept {
  b.softmax.run(args.input<float>(0), args.output<float>(0), args.pool);
  b.tails.run(args.out[0]);
}

struct BoundGathered {
  GatheredSoftmax softmax;
  TailZero tails;
};

template <bool Log>
BoundGathered bind_gathered(const SoftmaxParams& p) {
  GatheredSoftmax s;
  s.log = Log;
  s.runs = runs_along(p.mapping, [&](int i) { return p.along(i); });
  s.over = loops_along(p.mapping, [&](int i) { return !p.along(i); });
  s.row_floats = softmax_row_floats(p);
  s.workers = p.workers;
  return {std::move(s), TailZero(p.mapping)};
}

void run_gathered(const BoundGathered& b, const KernelArgs& args) noexcept {
  b.softmax.run(args);
  b.tails.run(args.out[0]);
}

}  // namespace

constexpr KernelDef kSoftmaxStrided[] = {
    kernel_def<SoftmaxParams, bind_strided<false>, run_strided>("softmax"),
    kernel_def<SoftmaxParams, bind_strided<true>, run_strided>("log_softmax")};
constexpr KernelDef kSoftmaxGathered[] = {
    kernel_def<SoftmaxParams, bind_gathered<false>, run_gathered>("softmax_gathered"),
    kernel_def<SoftmaxParams, bind_gathered<true>, run_gathered>("log_softmax_gathered")};

bool softmax_in_strides(const SoftmaxParams& p) { return strided_softmax(p).has_value(); }

double softmax_gathered_run(const SoftmaxParams& p) {
  std::int64_t run = 1;
  for (bool grew = true; grew;) {
    grew = false;
    for (const Digit& d : p.mapping.linear_digits()) {
      if (d.e == 1 || d.stride != run || !p.along(d.dim)) continue;
      run *= d.e;
      grew = true;
    }
  }
  return static_cast<double>(run);
}

}  // namespace stowage
