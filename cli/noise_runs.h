// SPDX-License-Identifier: Apache-2.0
// Runs of a model on noise, to measure them.
#pragma once

#include <limits>
#include <vector>

#include "stowage/model.h"
#include "stowage/plan.h"

namespace stowage::cli {

/// Every input of a session holds noise, the same in every program: f32 between -1 and 1, other
/// types 0 or 1, which every index allows.
class NoiseRuns {
 public:
  /// Both must outlive it.
  NoiseRuns(const PlanReport& plan, Session& session);

  /// Milliseconds of one run (set_input, run, read_output), and of what of it is not `run`.
  struct Times {
    double whole = 0, ports = 0;
  };

  Times once();

  /// Microseconds of each of PlanReport::steps in each of `most` runs, or as many as begin within
  /// the milliseconds, at least one. They are runs of their own, for the clock between steps takes
  /// time itself.
  std::vector<std::vector<double>> profile(int most,
                                           double ms = std::numeric_limits<double>::infinity());

 private:
  Session& session_;
  std::vector<Tensor> inputs_, outputs_;
};

double median(std::vector<double> values);

/// Of each step over all runs.
std::vector<double> step_medians(const std::vector<std::vector<double>>& runs);

}  // namespace stowage::cli
