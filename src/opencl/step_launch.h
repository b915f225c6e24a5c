// SPDX-License-Identifier: Apache-2.0
// A step of a plan as a device runs it: the whole text of its program, and the arguments.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/launch.h"
#include "plan/plan.h"

namespace stowage {

struct StepLaunch {
  struct Operand {
    int slot = -1;  ///< -1: absent
    std::array<std::int32_t, 8> extents{}, strides{};
  };

  Launch launch;
  std::string text;
  std::vector<Operand> operands;  ///< of launch.operands
  bool check_bounds = false;      ///< the kernel counts accesses outside of its operands
};

/// Of a call or a conversion whose operands all lie on the device.
StepLaunch step_launch(const Plan& plan, int step, bool check_bounds = false);

/// The program of a launch with the source, which must be there, of its stem.
std::string program_text(const Launch& launch, const LaunchArgs& args, bool check_bounds);

}  // namespace stowage
