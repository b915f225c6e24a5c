// SPDX-License-Identifier: Apache-2.0
// Transposed convolution on a device: texels are four output channels.
#pragma once

#include "kernels/launch.h"
#include "kernels/post.h"
#include "kernels/window/window.h"

namespace stowage {

struct ConvTransposeDeviceParams {
  Window w;                ///< two spatial axes
  std::int64_t group = 1;  ///< of whole texels of channels, unless depthwise
  bool depthwise = false;  ///< each channel is a group
  int bias = -1;           ///< the input
  int pixels =
      1;  ///< of a work item, a stride apart; several only along a width of so many strides
  Posts posts;

  void fields(Archive& a) {
    a("w", w)("group", group)("depthwise", depthwise)("bias", bias);
    a("pixels", pixels)("posts", posts);
  }
};

void launch_conv_transpose(const ConvTransposeDeviceParams& p, const LaunchArgs& args,
                           Launch& launch);

inline constexpr KernelDef kConvTransposeDevice =
    device_kernel_def<ConvTransposeDeviceParams, launch_conv_transpose>("cl_conv_transpose",
                                                                        takes_any);

/// For OpDef::device_kernels.
inline constexpr const KernelDef* kConvTransposeDeviceKernels[] = {&kConvTransposeDevice};

}  // namespace stowage
