// SPDX-License-Identifier: Apache-2.0
#include "kernels/window/conv_device.h"

#include "base/checked.h"
#include "base/text.h"
#include "kernels/expressions.h"

namespace stowage {

void add_window(Launch& launch, const Window& w) {
  const auto add = [&](const char* name, std::int64_t h, std::int64_t v) {
    launch.scalars.push_back({text(name, "_h"), static_cast<std::int32_t>(h)});
    launch.scalars.push_back({text(name, "_w"), static_cast<std::int32_t>(v)});
  };
  add("kernel", w.kernel[1], w.kernel[2]);
  add("stride", w.stride[1], w.stride[2]);
  add("dilation", w.dilation[1], w.dilation[2]);
  add("pad", w.pad_begin[1], w.pad_begin[2]);
}

bool device_window(const Window& w) {
  constexpr std::int64_t kMost = 1 << 28;  // positions are sums of a few of these
  for (std::size_t i = 0; i < 3; ++i) {
    if (w.in[i] > kMost || w.out[i] > kMost || w.pad_begin[i] > kMost || w.pad_end[i] > kMost ||
        w.stride[i] > kMost || w.dilation[i] > kMost || w.kernel[i] > kMost / w.dilation[i]) {
      return false;
    }
  }
  return true;
}

namespace {

/// Items of a group along x, where several share a result.
constexpr int kGroup = 16;

}  // namespace

void launch_conv(const ConvDeviceParams& p, const LaunchArgs& args, Launch& launch) {
  const Shape &y = args.out[0].mapping.shape(), &k = args.in[1].mapping.shape();
  launch.source = "conv";
  launch.operands = {{"x", 0, false}, {"k", 1, false}, {"y", 0, true}};
  if (p.bias >= 0) launch.operands.push_back({"b", p.bias, false});
  add_window(launch, p.w);
  const std::int64_t columns = ceil_div(y[3], p.pixels);
  launch.scalars.push_back({"columns", static_cast<std::int32_t>(columns)});
  // Texels of a group on both sides: one that does not end with a texel is alone.
  launch.scalars.push_back(
      {"group_in", static_cast<std::int32_t>(ceil_div(k[1], std::int64_t{4}))});
  launch.scalars.push_back(
      {"group_out", static_cast<std::int32_t>(ceil_div(k[0] / p.group, std::int64_t{4}))});
  launch.defines = {{"PIXELS", text(p.pixels)},
                    {"SPLIT", text(p.split)},
                    {"GROUP", text(kGroup)},
                    {"BIAS(o)", p.bias >= 0 ? "READ_b(o)" : "((float4)(0))"}};
  // The windows of most networks are unrolled.
  if (p.w.kernel[1] == p.w.kernel[2] && (p.w.kernel[1] == 1 || p.w.kernel[1] == 3)) {
    std::erase_if(launch.scalars, [](const auto& s) { return s.first.starts_with("kernel_"); });
    for (const char* name : {"kernel_h", "kernel_w"}) {
      launch.defines.push_back({name, text(p.w.kernel[1])});
    }
  }
  add_posts(launch, args, p.posts, {y, 1, {"n", "o", "h", "w"}}, 1);
  launch.items = {columns * ceil_div(y[1], std::int64_t{4}), y[0] * y[2], p.split};
  if (p.split > 1) launch.group = {kGroup, 1, p.split};
}

}  // namespace stowage
