// SPDX-License-Identifier: Apache-2.0
#include "kernels/window/pool_device.h"

#include "kernels/window/conv_device.h"

namespace stowage {

void launch_pool(const PoolDeviceParams& p, const LaunchArgs& args, Launch& launch) {
  const Shape& y = args.out[0].mapping.shape();
  const bool max = p.kind == Slide::Kind::max;
  launch.source = "pool";
  launch.operands = {{"x", 0, false}, {"y", 0, true}};
  add_window(launch, p.w);
  launch.scalar("padded_h", p.w.in[1] + p.w.pad_end[1]);
  launch.scalar("padded_w", p.w.in[2] + p.w.pad_end[2]);
  launch.scalar("count_padding", p.count_padding ? 1 : 0);
  // As numpy: a NaN is the maximum.
  launch.defines = {{"INITIAL", max ? "-INFINITY" : "0"},
                    {"TAKE(v, a)", max ? "choose_((a) > (v) || isnan(a), a, v)" : "((v) + (a))"},
                    {"FINISH(v, count)", max ? "((void)(count), v)" : "((v) / (count))"}};
  launch.items = {y[3] * texels_of(y[1]), y[0] * y[2], 1};
}

}  // namespace stowage
