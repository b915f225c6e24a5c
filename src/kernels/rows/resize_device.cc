// SPDX-License-Identifier: Apache-2.0
#include "kernels/rows/resize_device.h"

#include "base/index.h"
#include "base/text.h"
#include "kernels/accessors.h"

namespace stowage {

/// Each resized axis k has a table indexK of the elements that it reads and, but for nearest, one
/// weightK; tapsK of both for each index of the result.
void launch_resize(const ResizeDeviceParams& p, const LaunchArgs& args, Launch& launch) {
  const LaunchView& y = args.out[0];
  const bool nearest = p.rule.mode == "nearest";
  launch.source = "resize";
  launch.operands = {{"x", 0, false}, {"y", 0, true}};
  std::string loops, weight, coordinates;
  for (int k = 0; k < y.mapping.shape().rank(); ++k) {
    coordinates += k == 0 ? "" : ", ";
    if (keeps_axis(p.rule, idx(k))) {
      coordinates += text("y_", k);
      continue;
    }
    AxisTaps taps = axis_taps(p.rule, idx(k));
    std::vector<std::int32_t> index(taps.index.begin(), taps.index.end());
    launch.table(text("index", k), std::move(index));
    if (nearest) {
      coordinates += text("index", k, "[y_", k, "]");
      continue;
    }
    launch.table(text("weight", k), std::move(taps.weight));
    launch.scalar(text("taps", k), taps.count);
    loops += text("for (int t", k, " = y_", k, " * taps", k, "; t", k, " < (y_", k, " + 1) * taps",
                  k, "; ++t", k, ") ");
    weight += text("weight", k, "[t", k, "] * ");
    coordinates += text("index", k, "[t", k, "]");
  }
  const std::string element = text("READ_x(", coordinates, ")");
  launch.defines = {
      {"BLEND(v)", nearest ? text("v = ", element) : text(loops, "v += ", weight, element)}};
  launch.items = items_of(y);
}

}  // namespace stowage
