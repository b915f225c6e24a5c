// SPDX-License-Identifier: Apache-2.0
// A plan in ten lines.
#pragma once

#include <span>
#include <string>

#include "stowage/plan.h"

namespace stowage::cli {

/// `step_us` are measured times of PlanReport::steps, which add a line, or nothing.
std::string plan_summary(const PlanReport& plan, const std::string& model,
                         std::span<const double> step_us = {});

}  // namespace stowage::cli
