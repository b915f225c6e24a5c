// SPDX-License-Identifier: Apache-2.0
// Convolution as pixel_gemm: every stride, dilation and padding is in the table of pointers to
// pixels; layouts differ in how far apart pixels and blocks of channels are.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/gemm/tiles.h"
#include "kernels/kernel.h"
#include "kernels/post.h"
#include "kernels/window/window.h"

namespace stowage {

/// What is the same in all layouts.
struct ConvFacts {
  Window w;
  std::int64_t batch = 1, group = 1, in_channels = 1, out_channels = 1;  ///< of one group

  void fields(Archive& a) {
    a("w", w)("batch", batch)("group", group);
    a("in_channels", in_channels)("out_channels", out_channels);
  }
};

/// Blocks of channels on either end, or the channels last.
struct ConvEnds {
  bool in_blocked = true, out_blocked = true;

  void fields(Archive& a) { a("in_blocked", in_blocked)("out_blocked", out_blocked); }
};

struct ConvParams {
  ConvFacts facts;
  ConvEnds variant;
  int bias = -1;  ///< the input
  Posts posts;
  bool weights_heavy = false;  ///< weights are more bytes than activations
  int threads = 1;

  void fields(Archive& a) {
    a("facts", facts)("variant", variant)("bias", bias)("posts", posts);
    a("weights_heavy", weights_heavy)("threads", threads);
  }
};

extern const KernelDef kConvBlocked, kConvChannelsLast;

/// The inner product of the convolution; nothing when the window is too large for the tables of a
/// task.
std::optional<PixelGemm> conv_gemm(const ConvParams& p);

/// How the weights o i (d) (h) w lie for it.
Layout conv_weights_layout(const Shape& shape, const ConvParams& p, const PixelGemm& gemm);

}  // namespace stowage
