// SPDX-License-Identifier: Apache-2.0
// Elementwise work on a device.
#pragma once

#include "kernels/elementwise/elementwise.h"
#include "kernels/launch.h"

namespace stowage {

/// fn of one operand or two; `chain`: of any number, one after the other. Then times `scale`.
struct MapParams {
  Function function;
  int operands = 1;  ///< the first inputs
  float scale = 1;

  void fields(Archive& a) { a("function", function)("operands", operands)("scale", scale); }
};

void launch_map(const MapParams& p, const LaunchArgs& args, Launch& launch);

inline constexpr KernelDef kMap = device_kernel_def<MapParams, launch_map>("cl_map");

/// For OpDef::device_kernels.
inline constexpr const KernelDef* kMapKernels[] = {&kMap};

/// A device has this function.
bool has_map(Fn fn);

}  // namespace stowage
