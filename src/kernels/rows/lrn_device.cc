// SPDX-License-Identifier: Apache-2.0
#include "kernels/rows/lrn_device.h"

#include "base/text.h"
#include "kernels/accessors.h"

namespace stowage {

void launch_lrn(const LrnDeviceParams& p, const LaunchArgs& args, Launch& launch) {
  const LaunchView& y = args.out[0];
  launch.source = "lrn";
  launch.operands = {{"x", 0, false}, {"y", 0, true}};
  launch.scalar("before", p.before);
  launch.scalar("after", p.after);
  launch.scalars.insert(launch.scalars.end(),
                        {{"alpha", p.alpha}, {"beta", p.beta}, {"bias", p.bias}});
  std::string coordinates;
  for (int i = 0; i < y.mapping.shape().rank(); ++i) {
    coordinates += text(i == 0 ? "" : ", ", i == 1 ? "c" : text("y_", i));
  }
  launch.defines = {{"TEXEL(c)", text("READ_x(", coordinates, ")")}};
  launch.items = items_of(y);
}

}  // namespace stowage
