// SPDX-License-Identifier: Apache-2.0
// Convolutions of 3 x 3 taps, stride and dilation 1, on a device, by Winograd's F(2 x 2, 3 x 3):
// a tile of 4 x 4 elements d and the filter g make 2 x 2 results
//   Y = At ((G g Gt) . (Bt d B)) A
// with 16 multiplications instead of 36 (Lavin and Gray, "Fast Algorithms for Convolutional Neural
// Networks", 2016, section 4.1). The filters U = G g Gt are computed from the constant weights when
// a launch is made and are f32 in a table, whatever tensors are stored in.
#pragma once

#include <cstdint>

#include "kernels/launch.h"
#include "kernels/post.h"
#include "kernels/window/window.h"

namespace stowage {

/// Weights, input 1, are a constant in host memory, f32 in row-major order o c 3 3.
struct WinogradDeviceParams {
  Window w;       ///< two spatial axes, 3 x 3 taps, strides and dilations of 1
  int bias = -1;  ///< the input
  int split = 1;  ///< items of a group that share the input channels of one tile
  Posts posts;

  void fields(Archive& a) { a("w", w)("bias", bias)("split", split)("posts", posts); }
};

/// Items of a group beside those that share the input channels of one tile: each has four texels in
/// local memory.
inline constexpr int kWinogradGroup = 32;

/// Bytes of the table of filters.
double winograd_filter_bytes(std::int64_t out_channels, std::int64_t in_channels);

void launch_winograd(const WinogradDeviceParams& p, const LaunchArgs& args, Launch& launch);

inline constexpr KernelDef kWinogradDevice =
    device_kernel_def<WinogradDeviceParams, launch_winograd>("cl_winograd", takes_any);

}  // namespace stowage
