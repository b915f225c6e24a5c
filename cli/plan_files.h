// SPDX-License-Identifier: Apache-2.0
// What plan and bench write about a plan on request: a page, and files for Model Explorer.
#pragma once

#include <span>
#include <string>

#include "cli/cli.h"
#include "stowage/plan.h"

namespace stowage::cli {

struct PlanFiles {
  std::string html, model_explorer;  ///< empty where not wanted

  bool any() const { return !html.empty() || !model_explorer.empty(); }
};

/// --html, --model-explorer. `and_times` is what of a run they tell besides the plan, or nothing.
void add_plan_files(CLI::App* command, PlanFiles& files, std::string_view and_times);

/// Writes what is wanted; returns a line "wrote FILE" for each file. `step_us` are measured times
/// of PlanReport::steps, or nothing.
std::string write_plan_files(const PlanFiles& files, const PlanReport& plan,
                             const std::string& model, std::span<const double> step_us = {});

}  // namespace stowage::cli
