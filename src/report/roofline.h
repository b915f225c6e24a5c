// SPDX-License-Identifier: Apache-2.0
// Measured steps beside what the machine could do: the roofline model (Williams, Waterman and
// Patterson, "Roofline: an insightful visual performance model", 2009), with the bandwidth of the
// cache in which the operands fit.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "stowage/machine.h"
#include "stowage/plan.h"

namespace stowage {

/// What a step of a plan does, and the least time in which this machine's CPU can do that.
struct StepLimit {
  double flops = 0, bytes = 0;
  double predicted_us = 0;  ///< by the planner
  double us = 0;            ///< the limit
  std::string bound;        ///< "arithmetic", or the name of a Peaks::Level
};

/// Of each of PlanReport::steps. Tensors are thought to be in the nearest cache into which all of
/// one step fit, weights in the nearest into which the whole model fits, since a run reads each
/// once.
std::vector<StepLimit> step_limits(const PlanReport& plan, const Peaks& peaks);

/// A step that takes longer than it need.
struct FarStep {
  std::size_t step = 0;  ///< of PlanReport::steps
  double us = 0;         ///< measured
  StepLimit limit;
  std::string why;
};

/// The `count` steps with most time above their limits, that with most first.
std::vector<FarStep> furthest_steps(const PlanReport& plan, const Peaks& peaks,
                                    std::span<const double> step_us, std::size_t count);

}  // namespace stowage
