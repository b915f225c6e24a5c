// SPDX-License-Identifier: Apache-2.0
// Softmax and its logarithm on a device.
#pragma once

#include "kernels/rows/rows_device.h"

namespace stowage {

struct SoftmaxDeviceParams {
  DeviceRows rows;
  bool log = false;

  void fields(Archive& a) { a("rows", rows)("log", log); }
};

void launch_softmax(const SoftmaxDeviceParams& p, const LaunchArgs& args, Launch& launch);

inline constexpr KernelDef kSoftmaxDevice =
    device_kernel_def<SoftmaxDeviceParams, launch_softmax>("cl_softmax");

/// For OpDef::device_kernels.
inline constexpr const KernelDef* kSoftmaxDeviceKernels[] = {&kSoftmaxDevice};

}  // namespace stowage
