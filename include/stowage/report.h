// SPDX-License-Identifier: Apache-2.0
// What a plan decided, as text for programs and as a page for people. In the library
// stowage::report.
#pragma once

#include <span>
#include <string>

#include "stowage/plan.h"

namespace stowage {

/// One JSON object over several lines, indented by 2, without an end of line behind it; it is what
/// `stowage plan --json` prints, and docs/cli.md lists its keys. `model` is the name that it has
/// there. `step_us` are measured times of PlanReport::steps, as Session::step_us has them, or
/// nothing. Bytes of names that are no UTF-8 are replaced.
std::string plan_json(const PlanReport& plan, const std::string& model,
                      std::span<const double> step_us = {});

/// Likewise what `stowage plan --why-not NODE=LAYOUT --json` prints.
std::string why_not_json(const WhyNot& answer);

/// One self-contained page: the graph by layout and by time, a panel for each operator, what the
/// names mean, the arena. `model` and `step_us` are as in plan_json.
std::string plan_html(const PlanReport& plan, const std::string& model,
                      std::span<const double> step_us = {});

}  // namespace stowage
