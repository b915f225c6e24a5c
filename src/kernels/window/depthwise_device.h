// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution on a device: texels are four output channels.
#pragma once

#include "kernels/launch.h"
#include "kernels/post.h"
#include "kernels/window/window.h"

namespace stowage {

struct DepthwiseDeviceParams {
  Window w;                     ///< two spatial axes
  std::int64_t multiplier = 1;  ///< output channel o reads input channel o / multiplier
  int bias = -1;                ///< the input
  int pixels = 1;               ///< of a work item, below one another
  Posts posts;

  void fields(Archive& a) {
    a("w", w)("multiplier", multiplier)("bias", bias)("pixels", pixels)("posts", posts);
  }
};

void launch_depthwise(const DepthwiseDeviceParams& p, const LaunchArgs& args, Launch& launch);

inline constexpr KernelDef kDepthwiseDevice =
    device_kernel_def<DepthwiseDeviceParams, launch_depthwise>("cl_depthwise", takes_any);

}  // namespace stowage
