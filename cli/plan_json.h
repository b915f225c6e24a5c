// SPDX-License-Identifier: Apache-2.0
// A plan for programs.
#pragma once

#include <span>
#include <string>

#include "cli/cli.h"
#include "stowage/plan.h"

namespace stowage::cli {

/// `step_us` are measured times of PlanReport::steps, or nothing.
Json plan_json(const PlanReport& plan, const std::string& model,
               std::span<const double> step_us = {});

Json why_not_json(const WhyNot& answer);

}  // namespace stowage::cli
