// SPDX-License-Identifier: Apache-2.0
// Reductions on a device.
#pragma once

#include "kernels/rows/rows_device.h"

namespace stowage {

struct ReduceDeviceParams {
  enum class Kind { sum, mean, l1, l2, sum_square, max, min } kind = Kind::sum;
  DeviceRows rows;
  bool keep = true;  ///< axes that join stay, as 1

  void fields(Archive& a) { a("kind", kind)("rows", rows)("keep", keep); }
};

void launch_reduce(const ReduceDeviceParams& p, const LaunchArgs& args, Launch& launch);

inline constexpr KernelDef kReduceDevice =
    device_kernel_def<ReduceDeviceParams, launch_reduce>("cl_reduce");

/// For OpDef::device_kernels.
inline constexpr const KernelDef* kReduceDeviceKernels[] = {&kReduceDevice};

}  // namespace stowage
