// SPDX-License-Identifier: Apache-2.0
#include "kernels/rows/reduce_device.h"

#include <algorithm>

#include "base/text.h"
#include "kernels/accessors.h"

namespace stowage {

void launch_reduce(const ReduceDeviceParams& p, const LaunchArgs& args, Launch& launch) {
  using Kind = ReduceDeviceParams::Kind;
  launch.source = "reduce";
  const int texel = texel_axis(args.in[0].mapping);
  const Shape &x = args.in[0].mapping.shape(), &y = args.out[0].mapping.shape();
  const int y_texel = y.rank() == 0 ? -1 : texel_axis(args.out[0].mapping);
  // The axis of x that each axis of y is.
  std::vector<int> from;
  for (int i = 0; i < x.rank(); ++i) {
    if (p.keep || !std::ranges::binary_search(p.rows.axes, i)) from.push_back(i);
  }
  int lane_axis = y_texel < 0 ? -1 : from[static_cast<std::size_t>(y_texel)];
  if (lane_axis == texel || std::ranges::binary_search(p.rows.axes, lane_axis)) lane_axis = -1;
  const RowNames names = add_rows(launch, args, p.rows, lane_axis);
  launch.operands.push_back({"y", 0, true});
  std::string result = y.rank() == 0 ? "WRITE_y((v).x" : "WRITE_y(v";
  for (const int i : from) {
    const bool joins = std::ranges::binary_search(p.rows.axes, i);
    result += text(", ", joins ? "0" : names.at[static_cast<std::size_t>(i)]);
  }
  const auto define = [&](const char* name, std::string value) {
    launch.defines.push_back({name, std::move(value)});
  };
  define("RESULT(v)", result + ")");
  define("LANES", lane_axis >= 0 ? text(kTexel) : "1");
  const bool most = p.kind == Kind::max, least = p.kind == Kind::min;
  define("START", most ? "-INFINITY" : least ? "INFINITY" : "0.0f");
  // Comparisons keep NaN, where fmin and fmax drop it.
  define("JOIN(a, b)", most    ? "choose_((a) > (b) || isnan(a), a, b)"
                       : least ? "choose_((a) < (b) || isnan(a), a, b)"
                               : "((a) + (b))");
  define("TERM(v)", p.kind == Kind::l1                                 ? "fabs(v)"
                    : p.kind == Kind::l2 || p.kind == Kind::sum_square ? "((v) * (v))"
                                                                       : "(v)");
  define("END(v)", p.kind == Kind::mean ? "((v) / (float)count)"
                   : p.kind == Kind::l2 ? "sqrt(v)"
                                        : "(v)");
}

}  // namespace stowage
