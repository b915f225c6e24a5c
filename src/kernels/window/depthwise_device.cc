// SPDX-License-Identifier: Apache-2.0
#include "kernels/window/depthwise_device.h"

#include "base/checked.h"
#include "base/text.h"
#include "kernels/expressions.h"
#include "kernels/window/conv_device.h"

namespace stowage {

namespace {

/// The channels that the lanes of texel o read. Those behind the last output channel read the last
/// input channel; their weights are zero, and so is what is stored there.
std::string gathered() {
  std::string out = "((c) ? (float4)(";
  for (int lane = 0; lane < 4; ++lane) {
    out += text(lane == 0 ? "" : ", ", "AT_x(n, min((4 * (o) + ", lane,
                ") / multiplier, x_e.s1 - 1), h, w)");
  }
  return out + ") : (float4)(0))";
}

}  // namespace

void launch_depthwise(const DepthwiseDeviceParams& p, const LaunchArgs& args, Launch& launch) {
  const Shape& y = args.out[0].mapping.shape();
  launch.source = "depthwise";
  launch.operands = {{"x", 0, false}, {"k", 1, false}, {"y", 0, true}};
  if (p.bias >= 0) launch.operands.push_back({"b", p.bias, false});
  add_window(launch, p.w);
  const std::int64_t columns = ceil_div(y[3], p.pixels);
  launch.scalars.push_back({"columns", static_cast<std::int32_t>(columns)});
  launch.scalars.push_back({"multiplier", static_cast<std::int32_t>(p.multiplier)});
  launch.defines = {
      {"PIXELS", text(p.pixels)},
      {"BIAS(o)", p.bias >= 0 ? "READ_b(o)" : "((float4)(0))"},
      {"SOURCE(c, n, o, h, w)", p.multiplier == 1 ? "READ_IF_x(c, n, o, h, w)" : gathered()}};
  add_posts(launch, args, p.posts, {y, 1, {"n", "o", "h", "w"}}, 1);
  launch.items = {columns * ceil_div(y[1], std::int64_t{4}), y[0] * y[2], 1};
}

}  // namespace stowage
