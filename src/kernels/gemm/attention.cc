// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/attention.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/caches.h"
#include "base/checked.h"
#include "base/numbers.h"
#include "base/thread_pool.h"
#include "kernels/rows/axis_loops.h"
#include "kernels/rows/rows.h"

namespace stowage {

namespace {

/// Rows of a task at most: whole tiles of pixel_gemm, and few enough for tables on the stack.
constexpr std::int64_t kMostRows = 96;
constexpr std::int64_t kTileRows = 6;

MatrixProduct product(std::int64_t m, std::int64_t n, std::int64_t k) {
  MatrixProduct p;
  p.m = m;
  p.n = n;
  p.k = k;
  p.prepare(1, false);
  return p;
}

/// Floats between one axis element and the next; 0 where there is one.
std::int64_t stride_along(const Mapping& mapping, int axis) {
  const auto loops = loops_along(mapping, [axis](int i) { return i == axis; });
  return loops.empty() ? 0 : loops[0].stride[0];
}

}  // namespace

void AttentionParams::share(int threads) {
  // The scores of a task and what the products read beside them are in the L2 together.
  const std::int64_t fit = host_caches().l2 / 4 / static_cast<std::int64_t>(sizeof(float)) / n();
  const std::int64_t most = std::clamp(fit / kTileRows * kTileRows, kTileRows, kMostRows);
  const TaskGrid grid = share_pixels(m(), 1, batches(), threads, most, false);
  rows = round_up(grid.block, kTileRows);
  const std::int64_t tasks = ceil_div(m(), rows) * batches();
  workers = threads == 1 ? 1 : std::min<std::int64_t>(tasks, 4 * std::int64_t{threads});
}

MatrixProduct AttentionParams::scores() const { return product(rows, n(), d()); }

MatrixProduct AttentionParams::sums() const { return product(rows, e(), n()); }

bool attention_rows_fit(const Mapping& mapping) {
  const int rank = mapping.shape().rank();
  if (!no_tails(mapping, [](int) { return true; })) return false;
  for (int axis = 0; axis < rank; ++axis) {
    if (loops_along(mapping, [axis](int i) { return i == axis; }).size() > 1) return false;
  }
  return mapping.shape()[rank - 1] == 1 || stride_along(mapping, rank - 1) == 1;
}

namespace {

/// What batches step through, the strides of StridedLoop: in floats, those of k and v in matrices.
enum Operand { kQ, kK, kV, kMask, kY, kOperands };

struct Attention {
  MatrixProduct scores, sums;
  std::vector<StridedLoop<kOperands>> over;  ///< batches
  std::int64_t m = 0, rows = 1, blocks = 1, batches = 1, workers = 1;
  std::int64_t q_row = 0, y_row = 0, mask_row = 0;
  bool masked = false;
  float scale = 1;

  std::int64_t scaled_floats() const { return scale == 1 ? 0 : round_up(rows * scores.k, 16); }

  std::int64_t worker_floats() const { return scaled_floats() + round_up(rows * scores.n, 16); }
};

Attention bind(const AttentionParams& p) {
  Attention a;
  a.scores = p.scores();
  a.sums = p.sums();
  a.sums.gemm.posts = BoundPosts(p.posts);
  a.m = p.m();
  a.rows = p.rows;
  a.blocks = ceil_div(a.m, a.rows);
  a.batches = p.batches();
  a.workers = p.workers;
  a.scale = p.scale;
  const int rank = p.q.shape().rank();
  a.q_row = stride_along(p.q, rank - 2);
  a.y_row = stride_along(p.y, rank - 2);
  // Axes of the mask stand under those of the scores, aligned on the right.
  std::array<std::int64_t, kMaxRank> mask_steps{};
  if (p.mask) {
    a.masked = true;
    std::int64_t step = 1;
    for (int i = p.mask->rank(); i-- > 0;) {
      const std::int64_t extent = (*p.mask)[i];
      mask_steps[static_cast<std::size_t>(i + rank - p.mask->rank())] = extent == 1 ? 0 : step;
      step *= extent;
    }
    a.mask_row = mask_steps[static_cast<std::size_t>(rank - 2)];
  }
  std::int64_t k_step = 1, v_step = 1;
  for (int i = rank - 2; i-- > 0;) {
    a.over.insert(a.over.begin(),
                  {p.q.shape()[i],
                   {stride_along(p.q, i), p.k[i] == 1 ? 0 : k_step, p.v[i] == 1 ? 0 : v_step,
                    mask_steps[static_cast<std::size_t>(i)], stride_along(p.y, i)}});
    k_step *= p.k[i];
    v_step *= p.v[i];
  }
  return a;
}

/// The operands of one batch.
struct Batch {
  const float *q, *k, *mask;
  PixelGemmCall sums;  ///< its weights, operands and out
};

Batch batch_of(const Attention& a, const KernelArgs& args, std::int64_t batch) noexcept {
  const auto at = loop_offset(a.over, batch);
  Batch b;
  b.q = args.input<float>(0) + at[kQ];
  b.k = args.input<float>(1) + at[kK] * a.scores.packed_floats();
  b.mask = a.masked ? args.input<float>(3) + at[kMask] : nullptr;
  b.sums.weights = args.input<float>(2) + at[kV] * a.sums.packed_floats();
  b.sums.out = args.output<float>(0) + at[kY];
  a.sums.gemm.posts.resolve(args, at[kY], 0, b.sums.operands);
  return b;
}

/// Rows [first, first + count) of a batch.
void attend(const Attention& a, const Batch& b, std::int64_t first, std::int64_t count,
            float* scratch) noexcept {
  const std::int64_t n = a.scores.n, d = a.scores.k;
  float* const scores = scratch + a.scaled_floats();
  const float* pixels[kMostRows];
  std::int64_t at[kMostRows];
  for (std::int64_t r = 0; r < count; ++r) {
    const float* row = b.q + (first + r) * a.q_row;
    if (a.scale != 1) {
      float* const scaled = scratch + r * d;
      for (std::int64_t i = 0; i < d; ++i) scaled[i] = a.scale * row[i];
      row = scaled;
    }
    pixels[r] = row;
    at[r] = r * n;
  }
  PixelGemmCall call;
  call.pixels = pixels;
  call.pixel_stride = count;
  call.count = static_cast<int>(count);
  call.out_at = at;
  call.weights = b.k;
  call.out = scores;
  call.panel_end = a.scores.gemm.panels(tile_lanes());
  pixel_gemm(a.scores.gemm, call);

  if (a.masked) {
    constexpr float kOnce[] = {1, 1};
    for (std::int64_t r = 0; r < count; ++r) {
      float* const row = scores + r * n;
      const float* const both[] = {row, b.mask + (first + r) * a.mask_row};
      blend_rows(both, kOnce, 2, row, n);
    }
  }
  softmax_rows(scores, scores, count, n, false);

  for (std::int64_t r = 0; r < count; ++r) {
    pixels[r] = scores + r * n;
    at[r] = (first + r) * a.y_row;
  }
  PixelGemmCall sums = b.sums;
  sums.pixels = pixels;
  sums.pixel_stride = count;
  sums.count = static_cast<int>(count);
  sums.out_at = at;
  sums.panel_end = a.sums.gemm.panels(tile_lanes());
  pixel_gemm(a.sums.gemm, sums);
}

void run(const Attention& a, const KernelArgs& args) noexcept {
  const std::int64_t tasks = a.batches * a.blocks;
  parallel(args.pool, at(a.workers), [&](std::size_t i) {
    const auto worker = static_cast<std::int64_t>(i);
    float* const scratch = reinterpret_cast<float*>(args.scratch) + worker * a.worker_floats();
    for (std::int64_t task = tasks * worker / a.workers; task < tasks * (worker + 1) / a.workers;
         ++task) {
      const std::int64_t first = task % a.blocks * a.rows;
      attend(a, batch_of(a, args, task / a.blocks), first, std::min(a.rows, a.m - first), scratch);
    }
  });
}

}  // namespace

constexpr KernelDef kAttention = kernel_def<AttentionParams, bind, run>("attention", takes_any);

std::size_t attention_scratch_bytes(const AttentionParams& p) {
  return at(bind(p).worker_floats() * p.workers) * sizeof(float);
}

}  // namespace stowage
