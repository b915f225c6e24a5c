// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution, and convolution of groups of a few channels, in layouts with blocks of
// channels, or with the channels last.
#pragma once

#include <cstdint>

#include "kernels/kernel.h"
#include "kernels/post.h"
#include "kernels/window/slide.h"

namespace stowage {

struct DepthwiseParams {
  Window w;
  std::int64_t images = 1, channels = 1, multiplier = 1;
  std::int64_t width = 1;  ///< channels of a group, as many in as out
  bool in_blocked = true, out_blocked = true;
  int bias = -1;  ///< the input
  Posts posts;
  int threads = 1;

  void fields(Archive& a) {
    a("w", w)("images", images)("channels", channels)("multiplier", multiplier)("width", width);
    a("in_blocked", in_blocked)("out_blocked", out_blocked)("bias", bias);
    a("posts", posts)("threads", threads);
  }
};

/// conv_depthwise where groups have one channel, conv_grouped where they have several.
extern const KernelDef kConvDepthwise, kConvGrouped;

/// What the kernel walks; `slide_fits` says whether it can.
Slide depthwise_slide(const DepthwiseParams& p);

}  // namespace stowage
