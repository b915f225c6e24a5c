// SPDX-License-Identifier: Apache-2.0
// Max and average pooling on a device: texels are four channels.
#pragma once

#include "kernels/launch.h"
#include "kernels/window/slide.h"

namespace stowage {

struct PoolDeviceParams {
  Slide::Kind kind = Slide::Kind::max;  ///< or average
  Window w;                             ///< two spatial axes
  bool count_padding = false;           ///< average: padding counts as taps

  void fields(Archive& a) { a("kind", kind)("w", w)("count_padding", count_padding); }
};

void launch_pool(const PoolDeviceParams& p, const LaunchArgs& args, Launch& launch);

inline constexpr KernelDef kPoolDevice =
    device_kernel_def<PoolDeviceParams, launch_pool>("cl_pool");

/// For OpDef::device_kernels.
inline constexpr const KernelDef* kPoolDeviceKernels[] = {&kPoolDevice};

}  // namespace stowage
