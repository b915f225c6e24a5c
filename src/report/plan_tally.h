// SPDX-License-Identifier: Apache-2.0
// What a plan comes to: its layouts and kernels, counted.
#pragma once

#include <string>
#include <vector>

#include "report/layout_look.h"
#include "stowage/plan.h"

namespace stowage {

struct LayoutTally {
  std::string layout;
  int tensors = 0;    ///< that are computed, given or wanted in it
  int constants = 0;  ///< weights that kernels read in it
  LayoutLook look;    ///< where there are tensors
};

/// The most frequent first, those of constants alone last.
std::vector<LayoutTally> tally_layouts(const PlanReport& plan);

struct KernelTally {
  std::string kernel;
  int operators = 0;
  double cost_us = 0;  ///< predicted
};

/// The one that takes most time first.
std::vector<KernelTally> tally_kernels(const PlanReport& plan);

}  // namespace stowage
