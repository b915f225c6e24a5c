// SPDX-License-Identifier: Apache-2.0
#include "kernels/window/conv_transpose_device.h"

#include "base/checked.h"
#include "kernels/window/conv_device.h"

namespace stowage {

void launch_conv_transpose(const ConvTransposeDeviceParams& p, const LaunchArgs& args,
                           Launch& launch) {
  const Shape &y = args.out[0].mapping.shape(), &k = args.in[1].mapping.shape();
  launch.source = "conv_transpose";
  const std::int64_t stride = p.w.stride[2];
  const std::int64_t columns = p.pixels == 1 ? y[3] : stride * ceil_div(y[3], stride * p.pixels);
  add_conv(launch, args, {p.w, p.posts, p.bias, p.pixels, columns, y[2]});
  if (p.depthwise) {
    launch.defines.push_back({"DEPTHWISE", ""});
  } else {
    launch.scalar("group_in", texels_of(k[0] / p.group));
    launch.scalar("group_out", texels_of(k[1]));
  }
}

}  // namespace stowage
