// SPDX-License-Identifier: Apache-2.0
// Transposed convolution to a few channels, with the channels last. For each row of the output, a
// pixel_gemm makes all products of each input pixel under it, those of one tap of the w axis behind
// those of another, and they are added where they belong. Vectors along the output channels alone,
// as in conv_transpose_channels_last, would be mostly empty. Weights are packed when the kernel is
// bound.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernel.h"
#include "kernels/window/conv_transpose.h"

namespace stowage {

extern const KernelDef kConvTransposeOverlap;

/// Of one group, whose output channels fill less than a vector. Weights, input 1, are a constant in
/// the order of their axes.
bool overlap_fits(const ConvTransposeParams& params);

/// What an offer says of it, see Offer.
struct OverlapWork {
  double efficiency = 1, extra_bytes = 0;
  std::size_t scratch_bytes = 0;
};

OverlapWork overlap_work(const ConvTransposeParams& params);

}  // namespace stowage
