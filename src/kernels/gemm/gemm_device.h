// SPDX-License-Identifier: Apache-2.0
// Matrix products on a device: texels of a lie along k, those of b and of the result along n.
#pragma once

#include "kernels/launch.h"
#include "kernels/post.h"

namespace stowage {

/// y = alpha a' b' + beta c over the last two axes, which trans_a and trans_b swap; those before
/// them broadcast. c broadcasts to y.
struct GemmDeviceParams {
  bool trans_a = false, trans_b = false;
  float alpha = 1, beta = 1;
  int c = -1;       ///< the input
  int rows = 1;     ///< of y that a work item makes
  int split = 1;    ///< items of a group that share k, a power of two
  int columns = 1;  ///< where they do: texels of a row that a group makes
  Posts posts;

  void fields(Archive& a) {
    a("trans_a", trans_a)("trans_b", trans_b)("alpha", alpha)("beta", beta)("c", c);
    a("rows", rows)("split", split)("columns", columns)("posts", posts);
  }
};

void launch_gemm(const GemmDeviceParams& p, const LaunchArgs& args, Launch& launch);

inline constexpr KernelDef kGemmDevice =
    device_kernel_def<GemmDeviceParams, launch_gemm>("cl_gemm", takes_any);

/// For OpDef::device_kernels.
inline constexpr const KernelDef* kGemmDeviceKernels[] = {&kGemmDevice};

}  // namespace stowage
