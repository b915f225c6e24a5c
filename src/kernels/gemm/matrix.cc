// SPDX-License-Identifier: Apache-2.0
// Matrix products over pixel_gemm.
#include "kernels/gemm/matrix.h"

#include <algorithm>

#include "base/checked.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "kernels/layouts.h"

namespace stowage {

namespace {

constexpr std::int64_t kMostRows = 512;

}  // namespace

MatrixBatches::Pair MatrixBatches::at(std::int64_t i) const noexcept {
  Pair p{0, 0};
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    p.a += i % axis->extent * axis->a;
    p.b += i % axis->extent * axis->b;
    i /= axis->extent;
  }
  return p;
}

void MatrixProduct::prepare(int threads, bool weights_heavy) {
  const std::int64_t lanes = tile_lanes();
  gemm.channels = n;
  gemm.panel = tile_panel(ceil_div(n, lanes));
  gemm.run = gemm.last_run = k;
  gemm.w_tap = {0};
  gemm.w_row = gemm.panel * lanes;
  gemm.w_panel = k * gemm.w_row;
  gemm.out_block = lanes;
  gemm.out_padded = false;
  grid = share_pixels(m, gemm.panels(static_cast<int>(lanes)), batches.count, threads, kMostRows,
                      weights_heavy);
}

std::int64_t MatrixProduct::packed_floats() const {
  return gemm.panels(tile_lanes()) * gemm.w_panel;
}

Layout panel_layout(const Shape& shape, int k_axis, int n_axis, const PixelGemm& gemm) {
  std::string pattern;
  for (int i = 0; i < shape.rank() - 2; ++i) pattern += text("$", i, " ");
  return layout_by_position(shape, pattern + text("$", n_axis, "/", gemm.w_row, " $", k_axis, " $",
                                                  n_axis, "%", gemm.w_row));
}

void multiply(const MatrixProduct& product, const float* a, const PixelGemmCall& call,
              ThreadPool* pool) noexcept {
  const TaskGrid& grid = product.grid;
  const std::int64_t panels = product.gemm.panels(tile_lanes());
  const std::int64_t packed = product.packed_floats();
  const std::int64_t tasks = product.batches.count * grid.blocks * grid.shares;
  parallel(pool, static_cast<std::size_t>(tasks), [&](std::size_t i) {
    const std::int64_t task = static_cast<std::int64_t>(i);
    const std::int64_t share = task % grid.shares;
    const std::int64_t block = task / grid.shares % grid.blocks;
    const std::int64_t batch = task / grid.shares / grid.blocks;
    const MatrixBatches::Pair matrices = product.batches.at(batch);
    const float* rows_of_a = a + matrices.a * product.m * product.k;
    const std::int64_t first = block * grid.block;
    const std::int64_t rows = std::min(grid.block, product.m - first);
    const float* table[kMostRows];
    std::int64_t at[kMostRows];
    for (std::int64_t r = 0; r < rows; ++r) {
      table[r] = rows_of_a + (first + r) * product.k;
      at[r] = (first + r) * product.n;
    }
    PixelGemmCall c = call;
    c.pixels = table;
    c.pixel_stride = rows;
    c.count = static_cast<int>(rows);
    c.out_at = at;
    c.weights += matrices.b * packed;
    c.out += batch * product.m * product.n;
    product.gemm.posts.advance(call.operands, batch * product.m * product.n, 0, c.operands);
    c.panel_begin = panels * share / grid.shares;
    c.panel_end = panels * (share + 1) / grid.shares;
    pixel_gemm(product.gemm, c);
  });
}

}  // namespace stowage
