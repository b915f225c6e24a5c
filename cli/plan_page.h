// SPDX-License-Identifier: Apache-2.0
// A plan as a page.
#pragma once

#include <span>
#include <string>

#include "stowage/plan.h"

namespace stowage::cli {

/// One self-contained page: the graph by layout and by time, a panel for each operator, what the
/// names mean, the arena. `step_us` are measured times of PlanReport::steps, or nothing.
std::string plan_html(const PlanReport& plan, const std::string& model,
                      std::span<const double> step_us = {});

}  // namespace stowage::cli
