// SPDX-License-Identifier: Apache-2.0
// Reductions and searches along some loops of a layout, for every cell of the output.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "base/checked.h"
#include "base/numbers.h"
#include "base/thread_pool.h"
#include "kernels/rows/axis_loops.h"
#include "kernels/rows/rows.h"

namespace stowage {

/// The index of the best element along an axis, for every cell of the output.
template <bool Max>
struct ArgKernel {
  static constexpr std::int64_t kColumns = 64;

  std::vector<StridedLoop<2>> over;  ///< strides of output and input
  std::vector<CellRun> runs;         ///< along the axis
  std::int64_t columns = 1;          ///< contiguous cells, which are taken together
  bool last = false;

  void operator()(const float* x, std::int64_t* y, ThreadPool* pool) const noexcept {
    const std::int64_t chunks = ceil_div(columns, kColumns);
    parallel(pool, at(loop_count(over) * chunks), [&](std::size_t task) {
      const auto i = static_cast<std::int64_t>(task);
      const std::int64_t first = i % chunks * kColumns;
      const auto offset = loop_offset(over, i / chunks);
      const float* from = x + offset[1] + first;
      std::int64_t* to = y + offset[0] + first;
      const std::int64_t n = std::min(kColumns, columns - first);
      if (n > 1 || !in_vectors(from, to)) one_by_one(from, to, n);
    });
  }

  /// The best element first, then where it is. False when a NaN is among them.
  bool in_vectors(const float* x, std::int64_t* y) const noexcept {
    float best = x[runs[0].first];
    for (const CellRun& r : runs) {
      best = reduce_row(Max ? Reduction::max : Reduction::min, x + r.first, r.count, best);
    }
    if (best != best) return false;
    std::int64_t k = 0;
    for (const CellRun& r : runs) {
      for (std::int64_t i = 0; i < r.count; ++i, ++k) {
        if (x[r.first + i] != best) continue;
        *y = k;
        if (!last) return true;
      }
    }
    return true;
  }

  void one_by_one(const float* x, std::int64_t* y, std::int64_t n) const noexcept {
    float best[kColumns];
    std::copy_n(x + runs[0].first, n, best);
    std::fill_n(y, n, 0);
    std::int64_t k = 0;
    for (const CellRun& r : runs) {
      for (std::int64_t i = 0; i < r.count; ++i, ++k) {
        const float* row = x + r.first + i;
        for (std::int64_t v = 0; v < n; ++v) {
          const bool better = Max ? row[v] > best[v] : row[v] < best[v];
          if (!better && !(last && row[v] == best[v])) continue;
          best[v] = row[v];
          y[v] = k;
        }
      }
    }
  }
};

/// A reduction along some loops for every cell of the output.
struct StridedReduction {
  Reduction kind = Reduction::sum;
  float start = 0, scale = 1;
  bool root = false;
  std::vector<StridedLoop<2>> over;  ///< strides of output and input
  std::vector<StridedLoop<1>> along;
  std::vector<CellRun> runs;                       ///< instead of `along`, where that has tails
  std::int64_t columns = 1;                        ///< contiguous on both sides
  std::int64_t run = 1, row_stride = 0, rows = 1;  ///< the innermost loops along

  float finish(float v) const noexcept { return root ? std::sqrt(v) : v * scale; }

  void reduce(const float* x, float* y, std::int64_t n) const noexcept {
    std::fill_n(y, n, start);
    for (const CellRun& r : runs) {
      if (columns == 1) {
        *y = reduce_row(kind, x + r.first, r.count, *y);
      } else {
        reduce_columns(kind, x + r.first, 1, r.count, n, y);
      }
    }
    if (runs.empty()) reduce_loops(x, y, n);
    for (std::int64_t i = 0; i < n; ++i) y[i] = finish(y[i]);
  }

  void reduce_loops(const float* x, float* y, std::int64_t n) const noexcept {
    for_each_offset(along.data(), along.size(), [&](const auto& offset) {
      if (run == 1) {
        reduce_columns(kind, x + offset[0], row_stride, rows, n, y);
      } else {
        *y = reduce_row(kind, x + offset[0], run, *y);
      }
    });
  }

  void operator()(const float* x, float* y, ThreadPool* pool) const noexcept {
    constexpr std::int64_t kColumns = 64;
    const std::int64_t chunks = ceil_div(columns, kColumns);
    parallel(pool, at(loop_count(over) * chunks), [&](std::size_t task) {
      const auto i = static_cast<std::int64_t>(task);
      const std::int64_t first = i % chunks * kColumns;
      const auto offset = loop_offset(over, i / chunks);
      reduce(x + offset[1] + first, y + offset[0] + first, std::min(kColumns, columns - first));
    });
  }
};

/// Nothing when neither the cells of the output nor those along the axes are contiguous.
inline std::optional<StridedReduction> strided_reduction(const Mapping& to, const Follower& from,
                                                         const Ints& axes) {
  const auto picked = [&](int i) { return std::ranges::binary_search(axes, i); };
  StridedReduction r;
  r.over = digit_loops<2>(to, {from});
  r.along = loops_along(from.mapping, picked);
  r.columns = take_run(r.over);
  if (r.columns == 1) {
    r.run = take_run(r.along);
    if (r.run == 1 && !(r.along.empty() && r.over.empty())) return std::nullopt;
  } else if (!r.along.empty()) {
    r.rows = r.along.back().extent;
    r.row_stride = r.along.back().stride[0];
    r.along.pop_back();
  }
  return r;
}

}  // namespace stowage
