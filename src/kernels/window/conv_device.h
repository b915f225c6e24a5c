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
  int pixels = 1;  ///< of a work item, below one another
  int outs = 1;  ///< of a work item, texels of output channels; in groups of conv they divide these
  int split = 1;  ///< items of a group that share the input channels of one result
  Posts posts;

  void fields(Archive& a) {
    a("w", w)("group", group)("bias", bias)("pixels", pixels)("outs", outs)("split", split);
    a("posts", posts);
  }
};

/// Items of a group along x, where several share a result: each has its PIXELS in local memory.
inline constexpr int kConvGroup = 16;

void launch_conv(const ConvDeviceParams& p, const LaunchArgs& args, Launch& launch);

inline constexpr KernelDef kConvDevice =
    device_kernel_def<ConvDeviceParams, launch_conv>("cl_conv", takes_any);

/// What all convolutions have.
struct ConvParts {
  const Window& w;
  const Posts& posts;
  int bias, pixels;            ///< as in ConvDeviceParams
  std::int64_t columns, rows;  ///< work items along the rows and the columns of y
  int outs = 1;
};

/// Operands x, k, y and b, the window, the scalars columns and rows, PIXELS and BIAS(o), the posts,
/// and an item for each column of each row of each `outs` texels of channels.
void add_conv(Launch& launch, const LaunchArgs& args, const ConvParts& parts);

/// The rows of x that the windows of `pixels` results below one another see, where the window and
/// its stride are part of the program; else 0.
std::int64_t shared_rows(const Window& w, int pixels);

/// SPAN, the rows above, with which kernel_h, kernel_w and stride_h are no scalars; IN_ROW(c) and
/// IN_COLUMN(c): c, or true where no window sticks out of a row, of a column.
void add_shared_rows(Launch& launch, const Window& w, int pixels);

/// Strides, dilations and padding before as scalars stride_h, stride_w, dilation_h, ..., pad_w, and
/// the extents of the kernel as kernel_h and kernel_w.
void add_window(Launch& launch, const Window& w);

/// Positions of taps, the padded input among them, can be counted in an int.
bool device_window(const Window& w);

}  // namespace stowage
