// SPDX-License-Identifier: Apache-2.0
// Transposed convolution as pixel_gemm: the outputs that see the same taps are a phase.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/gemm/tiles.h"
#include "kernels/kernel.h"
#include "kernels/post.h"
#include "kernels/window/window.h"

namespace stowage {

struct ConvTransposeParams {
  Window w;
  std::int64_t batch = 1, group = 1;
  std::int64_t in_channels = 1, out_channels = 1;  ///< of one group
  bool blocked = true;
  int bias = -1;  ///< the input
  Posts posts;
  int threads = 1;

  void fields(Archive& a) {
    a("w", w)("batch", batch)("group", group);
    a("in_channels", in_channels)("out_channels", out_channels)("blocked", blocked);
    a("bias", bias)("posts", posts)("threads", threads);
  }
};

extern const KernelDef kConvTransposeBlocked, kConvTransposeChannelsLast;

/// The work of all phases; nothing when there are too many phases or taps.
std::optional<TileWork> conv_transpose_work(const ConvTransposeParams& p);

/// How the weights i o (d) (h) w lie.
Layout conv_transpose_weights_layout(const Shape& shape, const ConvTransposeParams& p);

}  // namespace stowage
