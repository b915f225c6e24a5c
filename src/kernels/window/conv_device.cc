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
  launch.scalar("rows", parts.rows);
  launch.defines = {{"PIXELS", text(parts.pixels)},
                    {"BIAS(o)", parts.bias >= 0 ? "READ_b(o)" : "((float4)(0))"}};
  add_posts(launch, args, parts.posts, {y, 1, {"n", "o", "h", "w"}}, 1);
  launch.items = {parts.columns * ceil_div(texels_of(y[1]), parts.outs), y[0] * parts.rows, 1};
}

std::int64_t shared_rows(const Window& w, int pixels) {
  const bool square = w.kernel[1] == w.kernel[2] && w.dilation[1] == 1;
  const bool unrolled = w.kernel[1] == 1 || w.kernel[1] == 3 || w.kernel[1] == 5;
  // Windows that lie far apart share nothing.
  return square && unrolled && w.stride[1] <= 2 ? (pixels - 1) * w.stride[1] + w.kernel[1] : 0;
}

void add_shared_rows(Launch& launch, const Window& w, int pixels) {
  const std::int64_t span = shared_rows(w, pixels);
  launch.defines.push_back({"SPAN", text(span)});
  if (span > 0) {
    const auto fixed = [&](const char* name, std::int64_t value) {
      std::erase_if(launch.scalars, [&](const auto& s) { return s.first == name; });
      launch.defines.push_back({name, text(value)});
    };
    fixed("kernel_h", w.kernel[1]);
    fixed("kernel_w", w.kernel[2]);
    fixed("stride_h", w.stride[1]);
  }
  // Where all windows lie in the input, nothing is compared.
  const auto inside = [&](std::size_t axis, std::int64_t results) {
    return w.pad_begin[axis] == 0 &&
           (results - 1) * w.stride[axis] + (w.kernel[axis] - 1) * w.dilation[axis] < w.in[axis];
  };
  launch.defines.push_back({"IN_ROW(c)", inside(2, w.out[2]) ? "1" : "(c)"});
  launch.defines.push_back({"IN_COLUMN(c)", inside(1, round_up(w.out[1], pixels)) ? "1" : "(c)"});
}

void launch_conv(const ConvDeviceParams& p, const LaunchArgs& args, Launch& launch) {
  const Shape &y = args.out[0].mapping.shape(), &k = args.in[1].mapping.shape();
  launch.source = "conv";
  add_conv(launch, args, {p.w, p.posts, p.bias, p.pixels, y[3], ceil_div(y[2], p.pixels), p.outs});
  add_shared_rows(launch, p.w, p.pixels);
  // Texels of a group on both sides: one that does not end with a texel is alone.
  launch.scalar("group_in", texels_of(k[1]));
  launch.scalar("group_out", texels_of(k[0] / p.group));
  launch.defines.push_back({"SPLIT", text(p.split)});
  launch.defines.push_back({"GROUP", text(kConvGroup)});
  launch.defines.push_back({"OUT", text(p.outs)});
  launch.items[2] = p.split;
  if (p.split > 1) {
    launch.group = {kConvGroup, 1, p.split};
    launch.fixed_group = true;
  }
}

}  // namespace stowage
