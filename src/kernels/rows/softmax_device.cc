// SPDX-License-Identifier: Apache-2.0
#include "kernels/rows/softmax_device.h"

#include "base/text.h"

namespace stowage {

void launch_softmax(const SoftmaxDeviceParams& p, const LaunchArgs& args, Launch& launch) {
  launch.source = "softmax";
  const RowNames names = add_rows(launch, args, p.rows);
  launch.operands.push_back({"y", 0, true});
  std::string y = "WRITE_y(v";
  for (const std::string& at : names.at) y += text(", ", at);
  launch.defines.push_back({"Y(v)", y + ")"});
  launch.defines.push_back(
      {"RESULT(v)", p.log ? "((v) - most - log(total))" : "(exp((v) - most) / total)"});
}

}  // namespace stowage
