// SPDX-License-Identifier: Apache-2.0
// Normalisation over axes of the input itself: instance, layer, local response.
#pragma once

#include <cstdint>

#include "kernels/kernel.h"

namespace stowage {

struct InstanceNormParams {
  Mapping mapping;    ///< of x and y
  Mapping parameter;  ///< of scale and bias
  float epsilon = 0;

  void fields(Archive& a) { a("mapping", mapping)("parameter", parameter)("epsilon", epsilon); }
};

extern const KernelDef kInstanceNorm;

/// How the kernel finds its elements: not at all, one by one, or as runs of pixels or channels.
enum class InstanceNormFit { none, single, runs };

InstanceNormFit instance_norm_fit(const InstanceNormParams& p);

struct LayerNormParams {
  Mapping mapping;  ///< of x and y
  int axis = 0;     ///< the first that is normalised
  float epsilon = 0;

  void fields(Archive& a) { a("mapping", mapping)("axis", axis)("epsilon", epsilon); }
};

extern const KernelDef kLayerNorm;

/// The normalised axes are one run.
bool layer_norm_fits(const LayerNormParams& p);

struct LrnParams {
  Mapping mapping;  ///< of x and y
  std::int64_t before = 0, after = 0;
  float alpha = 0, beta = 0, bias = 0;  ///< alpha is divided by the size already

  void fields(Archive& a) {
    a("mapping", mapping)("before", before)("after", after);
    a("alpha", alpha)("beta", beta)("bias", bias);
  }
};

extern const KernelDef kLrn;

/// The channels are one loop, and pixels are contiguous.
bool lrn_fits(const LrnParams& p);

}  // namespace stowage
