// SPDX-License-Identifier: Apache-2.0
#include "kernels/window/depthwise_device.h"

#include "base/checked.h"
#include "base/text.h"
#include "kernels/window/conv_device.h"

namespace stowage {

namespace {

/// The channels that the lanes of texel o read. Those behind the last output channel read the last
/// input channel; their weights are zero, and so is what is stored there.
std::string gathered() {
  std::string out = "((c) ? (float4)(";
  for (int lane = 0; lane < kTexel; ++lane) {
    out += text(lane == 0 ? "" : ", ", "AT_x(n, min((", kTexel, " * (o) + ", lane,
                ") / multiplier, x_e.s1 - 1), h, w)");
  }
  return out + ") : (float4)(0))";
}

}  // namespace

void launch_depthwise(const DepthwiseDeviceParams& p, const LaunchArgs& args, Launch& launch) {
  const Shape& y = args.out[0].mapping.shape();
  launch.source = "depthwise";
  add_conv(launch, args, {p.w, p.posts, p.bias, p.pixels, y[3], ceil_div(y[2], p.pixels)});
  add_shared_rows(launch, p.w, p.pixels);
  launch.scalar("multiplier", p.multiplier);
  launch.defines.push_back(
      {"SOURCE(c, n, o, h, w)", p.multiplier == 1 ? "READ_IF_x(c, n, o, h, w)" : gathered()});
}

}  // namespace stowage
