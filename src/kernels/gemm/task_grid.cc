// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/task_grid.h"

#include <algorithm>

#include "base/checked.h"

namespace stowage {

TaskGrid share_pixels(std::int64_t pixels, std::int64_t panels, std::int64_t repeats, int threads,
                      std::int64_t most_pixels, bool weights_heavy) {
  TaskGrid grid;
  grid.blocks = std::max<std::int64_t>(ceil_div(pixels, most_pixels), 1);
  if (threads > 1) {
    const std::int64_t wanted = 4 * std::int64_t{threads};
    const auto missing = [&] { return ceil_div(wanted, repeats * grid.blocks * grid.shares); };
    if (weights_heavy) grid.shares = std::min(panels, missing());
    // Tiles of few pixels waste registers, so blocks of few pixels waste time.
    const std::int64_t most_blocks = std::max<std::int64_t>(pixels / 48, grid.blocks);
    grid.blocks = std::min(most_blocks, grid.blocks * missing());
    grid.shares = std::min(panels, grid.shares * missing());
  }
  grid.block = std::max<std::int64_t>(ceil_div(pixels, grid.blocks), 1);
  grid.blocks = ceil_div(pixels, grid.block);
  return grid;
}

}  // namespace stowage
