// SPDX-License-Identifier: Apache-2.0
// Convolution on a device: texels are four output channels.
#pragma once

#include "kernels/launch.h"
#include "kernels/post.h"
#include "kernels/window/window.h"

namespace stowage {

struct ConvDeviceParams {
  Window w;  ///< two spatial axes
  std::int64_t group = 1;
  int bias = -1;   ///< the input
  int pixels = 1;  ///< neighbours along w of a work item
  int split = 1;   ///< items of a group that share the input channels of one result
  Posts posts;

  void fields(Archive& a) {
    a("w", w)("group", group)("bias", bias)("pixels", pixels)("split", split)("posts", posts);
  }
};

void launch_conv(const ConvDeviceParams& p, const LaunchArgs& args, Launch& launch);

inline constexpr KernelDef kConvDevice =
    device_kernel_def<ConvDeviceParams, launch_conv>("cl_conv", takes_any);

/// What all convolutions have.
struct ConvParts {
  const Window& w;
  const Posts& posts;
  int bias, pixels;      ///< as in ConvDeviceParams
  std::int64_t columns;  ///< work items along a row of y
};

/// Operands x, k, y and b, the window, the scalar columns, PIXELS and BIAS(o), the posts, and an
/// item for each column of each row of each texel of channels.
void add_conv(Launch& launch, const LaunchArgs& args, const ConvParts& parts);

/// Strides, dilations and padding before as scalars stride_h, stride_w, dilation_h, ..., pad_w, and
/// the extents of the kernel as kernel_h and kernel_w.
void add_window(Launch& launch, const Window& w);

/// Positions of taps, the padded input among them, can be counted in an int.
bool device_window(const Window& w);

}  // namespace stowage
