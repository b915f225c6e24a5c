// SPDX-License-Identifier: Apache-2.0
// What the planner decided, in words and numbers.
#pragma once

#include "plan/offers.h"
#include "plan/plan.h"
#include "plan/solve.h"

namespace stowage::plan {

/// Fills Plan::nodes, conversions and touched_bytes.
void report(Plan& plan, const OfferTable& table, const Solution& solution);

}  // namespace stowage::plan
