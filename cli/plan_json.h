// SPDX-License-Identifier: Apache-2.0
// A plan for programs, and as a page.
#pragma once

#include <string>

#include "cli/cli.h"
#include "stowage/plan.h"

namespace stowage::cli {

Json plan_json(const PlanReport& plan, const std::string& model);

Json why_not_json(const WhyNot& answer);

/// One self-contained page: the graph by layout, a panel for each operator, the arena.
std::string plan_html(const PlanReport& plan, const std::string& model);

}  // namespace stowage::cli
