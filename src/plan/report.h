// SPDX-License-Identifier: Apache-2.0
// What the planner decided, in words and numbers.
#pragma once

#include "plan/build.h"
#include "plan/plan.h"

namespace stowage::plan {

/// Fills Plan::nodes, conversions and touched_bytes. Categories are those that Plan::planner goes
/// by; `solution` is one of the decision's, or of its table.
void report(Plan& plan, const Graph& graph, const Decision& decision, const Solution& solution);

}  // namespace stowage::plan
