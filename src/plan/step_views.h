// SPDX-License-Identifier: Apache-2.0
// The operands of a device's step as a launch sees them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/launch.h"
#include "plan/plan.h"

namespace stowage {

struct StepViews {
  std::vector<LaunchView> in, out;
  std::vector<const std::byte*> constants;  ///< LaunchArgs::constants

  StepViews(const Plan& plan, std::span<const int> in_slots, std::span<const int> out_slots);

  LaunchArgs args() const { return {in, out, constants}; }

  /// Without constants: no table is computed from them.
  LaunchArgs args_without_constants() const { return {in, out}; }
};

}  // namespace stowage
