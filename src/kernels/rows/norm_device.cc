// SPDX-License-Identifier: Apache-2.0
#include "kernels/rows/norm_device.h"

#include "base/index.h"
#include "base/text.h"
#include "kernels/expressions.h"

namespace stowage {

void launch_norm(const NormDeviceParams& p, const LaunchArgs& args, Launch& launch) {
  launch.source = "norm";
  const RowNames names = add_rows(launch, args, p.rows);
  const ResultPlace place{args.in[0].mapping.shape(), names.texel, names.at};
  const auto parameter = [&](const char* name, int input) {
    launch.operands.push_back({name, input, false});
    if (p.channel < 0) return broadcast_text(name, args.in[idx(input)], place);
    // A vector: the axes behind the channels are none of its own.
    const std::size_t axes = idx(p.channel) + 1;
    const Shape front(place.shape.axes().first(axes), place.shape.extents().first(axes));
    const ResultPlace channels{front, place.texel, place.at};
    return broadcast_text(name, args.in[idx(input)], channels);
  };
  launch.defines.push_back({"SCALE", parameter("scale", 1)});
  launch.defines.push_back({"BIAS", p.bias ? parameter("bias", 2) : "((float4)(0))"});
  launch.operands.push_back({"y", 0, true});
  std::string y = "WRITE_y(v";
  for (const std::string& at : names.at) y += text(", ", at);
  launch.defines.push_back({"Y(v)", y + ")"});
  launch.scalars.push_back({"epsilon", p.epsilon});
}

}  // namespace stowage
