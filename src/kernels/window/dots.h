// SPDX-License-Identifier: Apache-2.0
// Convolution to a few channels, with the channels last: each result is a dot product of all that
// is under its taps, in vectors along the input channels. Vectors along the output channels, as in
// conv_channels_last, would be mostly empty.
#pragma once

#include <cstdint>

#include "kernels/kernel.h"
#include "kernels/post.h"
#include "kernels/window/conv.h"

namespace stowage {

/// Weights, input 1, are (d) (h) o w i.
struct DotsParams {
  ConvFacts facts;
  int bias = -1;  ///< the input
  Posts posts;
  int threads = 1;

  void fields(Archive& a) { a("facts", facts)("bias", bias)("posts", posts)("threads", threads); }
};

extern const KernelDef kConvDots;

/// One group of at most eight channels out, and not too many rows of taps.
bool dots_fit(const ConvFacts& facts) noexcept;

/// The fraction of a processor's multiply-adds that it gets done.
double dots_efficiency(const DotsParams& params) noexcept;

}  // namespace stowage
