// SPDX-License-Identifier: Apache-2.0
// Normalisation over axes of the input itself on a device: instance, layer.
#pragma once

#include "kernels/rows/rows_device.h"

namespace stowage {

/// (x - mean) / sqrt(variance + epsilon) along rows, times input 1, plus input 2 where there is
/// one.
struct NormDeviceParams {
  DeviceRows rows;
  float epsilon = 0;
  bool bias = true;
  int channel = -1;  ///< the axis along which inputs 1 and 2 go; -1: they broadcast to x

  void fields(Archive& a) { a("rows", rows)("epsilon", epsilon)("bias", bias)("channel", channel); }
};

void launch_norm(const NormDeviceParams& p, const LaunchArgs& args, Launch& launch);

inline constexpr KernelDef kNormDevice =
    device_kernel_def<NormDeviceParams, launch_norm>("cl_norm");

/// For OpDef::device_kernels.
inline constexpr const KernelDef* kNormDeviceKernels[] = {&kNormDevice};

}  // namespace stowage
