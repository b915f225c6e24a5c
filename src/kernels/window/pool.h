// SPDX-License-Identifier: Apache-2.0
// Max and average pooling in layouts with blocks of channels, or with the channels last.
#pragma once

#include <cstdint>

#include "kernels/kernel.h"
#include "kernels/window/slide.h"

namespace stowage {

struct PoolParams {
  Slide::Kind kind = Slide::Kind::max;
  Window w;
  std::int64_t images = 1, channels = 1;
  bool in_blocked = true, out_blocked = true;
  bool whole = false;          ///< the window is the whole input
  bool count_padding = false;  ///< average: padding counts as taps
  int threads = 1;

  void fields(Archive& a) {
    a("kind", kind)("w", w)("images", images)("channels", channels);
    a("in_blocked", in_blocked)("out_blocked", out_blocked);
    a("whole", whole)("count_padding", count_padding)("threads", threads);
  }
};

/// Windows, and windows that are the whole input.
extern const KernelDef kMaxPool[2], kAveragePool[2];

/// What the kernel walks, without the scales of an average.
Slide pool_slide(const PoolParams& p);

}  // namespace stowage
