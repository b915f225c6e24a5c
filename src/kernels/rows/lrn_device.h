// SPDX-License-Identifier: Apache-2.0
// Local response normalisation on a device: texels are four channels.
#pragma once

#include "kernels/launch.h"

namespace stowage {

struct LrnDeviceParams {
  std::int64_t before = 0, after = 0;   ///< channels of the window
  float alpha = 0, beta = 0, bias = 0;  ///< alpha is divided by the size already

  void fields(Archive& a) {
    a("before", before)("after", after)("alpha", alpha)("beta", beta)("bias", bias);
  }
};

void launch_lrn(const LrnDeviceParams& p, const LaunchArgs& args, Launch& launch);

inline constexpr KernelDef kLrnDevice = device_kernel_def<LrnDeviceParams, launch_lrn>("cl_lrn");

/// For OpDef::device_kernels.
inline constexpr const KernelDef* kLrnDeviceKernels[] = {&kLrnDevice};

}  // namespace stowage
