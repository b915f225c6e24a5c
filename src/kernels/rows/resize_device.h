// SPDX-License-Identifier: Apache-2.0
// Resizing on a device: axes other than that of texels.
#pragma once

#include "kernels/launch.h"
#include "kernels/rows/resize_taps.h"

namespace stowage {

struct ResizeDeviceParams {
  ResizeRule rule;

  void fields(Archive& a) { a("rule", rule); }
};

void launch_resize(const ResizeDeviceParams& p, const LaunchArgs& args, Launch& launch);

inline constexpr KernelDef kResizeDevice =
    device_kernel_def<ResizeDeviceParams, launch_resize>("cl_resize");

/// For OpDef::device_kernels.
inline constexpr const KernelDef* kResizeDeviceKernels[] = {&kResizeDevice};

}  // namespace stowage
