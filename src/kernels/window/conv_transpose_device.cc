// SPDX-License-Identifier: Apache-2.0
#include "kernels/window/conv_transpose_device.h"

#include "base/checked.h"
#include "base/text.h"
#include "kernels/expressions.h"
#include "kernels/window/conv_device.h"

namespace stowage {

void launch_conv_transpose(const ConvTransposeDeviceParams& p, const LaunchArgs& args,
                           Launch& launch) {
  const Shape &y = args.out[0].mapping.shape(), &k = args.in[1].mapping.shape();
  launch.source = "conv_transpose";
  launch.operands = {{"x", 0, false}, {"k", 1, false}, {"y", 0, true}};
  if (p.bias >= 0) launch.operands.push_back({"b", p.bias, false});
  add_window(launch, p.w);
  const auto scalar = [&](const char* name, std::int64_t value) {
    launch.scalars.push_back({name, static_cast<std::int32_t>(value)});
  };
  const std::int64_t stride = p.w.stride[2];
  const std::int64_t columns = p.pixels == 1 ? y[3] : stride * ceil_div(y[3], stride * p.pixels);
  scalar("columns", columns);
  launch.defines = {{"PIXELS", text(p.pixels)},
                    {"BIAS(o)", p.bias >= 0 ? "READ_b(o)" : "((float4)(0))"}};
  if (p.depthwise) {
    launch.defines.push_back({"DEPTHWISE", ""});
  } else {
    scalar("group_in", ceil_div(k[0] / p.group, std::int64_t{4}));
    scalar("group_out", ceil_div(k[1], std::int64_t{4}));
  }
  add_posts(launch, args, p.posts, {y, 1, {"n", "o", "h", "w"}}, 1);
  launch.items = {columns * ceil_div(y[1], std::int64_t{4}), y[0] * y[2], 1};
}

}  // namespace stowage
