// SPDX-License-Identifier: Apache-2.0
// Convolutions of 3 x 3 taps and stride 1 by Winograd's F(m x m, 3 x 3): for strips of tiles, the
// transform of the input, a pixel_gemm for each place of a tile, and the transform of the products
// with bias and posts. (m + 2)^2 products make m x m results instead of 9 m^2. Where taps are d
// pixels apart, so are the pixels of a tile, and d x d of them lie inside one another.
// The filters are computed when the kernel is bound.
#pragma once

#include <cstddef>

#include "kernels/kernel.h"
#include "kernels/window/conv.h"

namespace stowage {

/// Weights, input 1, are a constant in winograd_weights_layout.
struct WinogradParams {
  ConvFacts facts;  ///< for which winograd_fits
  ConvEnds variant;
  int bias = -1;  ///< the input
  Posts posts;
  int threads = 1;

  void fields(Archive& a) {
    a("facts", facts)("variant", variant)("bias", bias)("posts", posts)("threads", threads);
  }
};

inline constexpr int kWinogradSizes[] = {2, 4, 6};  ///< m

/// How far a result is off at most, relative to the largest of its layer, for data without a
/// direction. Three times what was measured (docs/performance.md), for as many input channels as
/// winograd_fits takes.
inline constexpr double kWinogradError = 1e-4;

/// The row of F(m x m, 3 x 3): conv_winograd2, 4 or 6.
const KernelDef& winograd_kernel(int m) noexcept;
extern const KernelDef kConvWinograd2, kConvWinograd4, kConvWinograd6;

/// Two spatial axes, 3 x 3 taps that touch or are not so far apart that a tile has one result, one
/// group, and no more input channels than the error
/// allows, which grows with m and with the square root of their number.
bool winograd_fits(const ConvFacts& facts, int m) noexcept;

Layout winograd_weights_layout(const Shape& shape);

/// What an offer says of it, see Offer.
struct WinogradWork {
  double flops = 0, efficiency = 1, extra_bytes = 0;
  std::size_t scratch_bytes = 0;
};

WinogradWork winograd_work(const WinogradParams& params, int m);

}  // namespace stowage
