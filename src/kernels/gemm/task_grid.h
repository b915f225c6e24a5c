// SPDX-License-Identifier: Apache-2.0
// How the pixels of an image and the panels of its weights are shared among tasks.
#pragma once

#include <cstdint>

namespace stowage {

/// Work of an image that tasks share.
struct TaskGrid {
  std::int64_t block = 1;   ///< pixels a task
  std::int64_t blocks = 1;  ///< tasks along pixels
  std::int64_t shares = 1;  ///< tasks along panels of output channels
};

/// `repeats`: images and groups, each with its own tasks. `weights_heavy`: weights are more bytes
/// than activations, so that threads should rather divide weights.
TaskGrid share_pixels(std::int64_t pixels, std::int64_t panels, std::int64_t repeats, int threads,
                      std::int64_t most_pixels, bool weights_heavy);

}  // namespace stowage
