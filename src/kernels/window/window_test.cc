// SPDX-License-Identifier: Apache-2.0
// The cut of a row into border and inside, against the taps of each pixel.
#include "kernels/window/window.h"

#include <gtest/gtest.h>

namespace stowage {
namespace {

TEST(Window, OutputsInside) {
  for (const std::int64_t in : {1, 2, 5, 9}) {
    for (std::int64_t code = 0; code < 4 * 3 * 3 * 4 * 4; ++code) {
      Window w;
      w.in[2] = in;
      w.kernel[2] = 1 + code % 4;
      w.stride[2] = 1 + code / 4 % 3;
      w.dilation[2] = 1 + code / 12 % 3;
      w.pad_begin[2] = code / 36 % 4;
      w.pad_end[2] = code / 144 % 4;
      const std::int64_t reach = (w.kernel[2] - 1) * w.dilation[2];
      const std::int64_t room = in + w.pad_begin[2] + w.pad_end[2] - 1 - reach;
      if (room < 0) continue;
      w.out[2] = room / w.stride[2] + 1;
      const OutRange inside = outputs_inside(w, 2);
      for (std::int64_t o = 0; o < w.out[2]; ++o) {
        EXPECT_EQ(o >= inside.begin && o < inside.end, taps_inside(w, 2, o).count() == w.kernel[2])
            << in << ' ' << code << ' ' << o;
      }
      EXPECT_TRUE(0 <= inside.begin && inside.begin <= inside.end && inside.end <= w.out[2])
          << in << ' ' << code;
    }
  }
}

}  // namespace
}  // namespace stowage
