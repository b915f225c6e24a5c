// SPDX-License-Identifier: Apache-2.0
#include "kernels/window/conv_device.h"

#include "base/checked.h"
#include "base/text.h"
#include "kernels/expressions.h"

namespace stowage {

void add_window(Launch& launch, const Window& w) {
  const auto add = [&](const char* name, std::int64_t h, std::int64_t v) {
    launch.scalar(text(name, "_h"), h);
    launch.scalar(text(name, "_w"), v);
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

void add_conv(Launch& launch, const LaunchArgs& args, const ConvParts& parts) {
  const Shape& y = args.out[0].mapping.shape();
  launch.operands = {{"x", 0, false}, {"k", 1, false}, {"y", 0, true}};
  if (parts.bias >= 0) launch.operands.push_back({"b", parts.bias, false});
  add_window(launch, parts.w);
  launch.scalar("columns", parts.columns);
  launch.defines = {{"PIXELS", text(parts.pixels)},
                    {"BIAS(o)", parts.bias >= 0 ? "READ_b(o)" : "((float4)(0))"}};
  add_posts(launch, args, parts.posts, {y, 1, {"n", "o", "h", "w"}}, 1);
  launch.items = {parts.columns * texels_of(y[1]), y[0] * y[2], 1};
}

namespace {

/// Items of a group along x, where several share a result.
constexpr int kGroup = 16;

}  // namespace

void launch_conv(const ConvDeviceParams& p, const LaunchArgs& args, Launch& launch) {
  const Shape &y = args.out[0].mapping.shape(), &k = args.in[1].mapping.shape();
  launch.source = "conv";
  add_conv(launch, args, {p.w, p.posts, p.bias, p.pixels, ceil_div(y[3], p.pixels)});
  // Texels of a group on both sides: one that does not end with a texel is alone.
  launch.scalar("group_in", texels_of(k[1]));
  launch.scalar("group_out", texels_of(k[0] / p.group));
  launch.defines.push_back({"SPLIT", text(p.split)});
  launch.defines.push_back({"GROUP", text(kGroup)});
  // The windows of most networks are unrolled.
  if (p.w.kernel[1] == p.w.kernel[2] && (p.w.kernel[1] == 1 || p.w.kernel[1] == 3)) {
    std::erase_if(launch.scalars, [](const auto& s) { return s.first.starts_with("kernel_"); });
    for (const char* name : {"kernel_h", "kernel_w"}) {
      launch.defines.push_back({name, text(p.w.kernel[1])});
    }
  }
  launch.items[2] = p.split;
  if (p.split > 1) {
    launch.group = {kGroup, 1, p.split};
    launch.fixed_group = true;
  }
}

}  // namespace stowage
