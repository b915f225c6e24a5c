// SPDX-License-Identifier: Apache-2.0
// From choices to a plan.
#pragma once

#include "plan/offers.h"
#include "plan/plan.h"
#include "plan/solve.h"

namespace stowage::plan {

/// The offers as a problem for solve: nodes in the order of the table, values by id.
Problem make_problem(const Graph& graph, const OfferTable& table, const Target& target,
                     const Rates& rates);

/// For each node its cheapest option that keeps every activation row-major.
std::vector<int> source_choice(const Graph& graph, const OfferTable& table);

/// Fills slots, steps, doors, weights and arena. With `release_constants`, the graph's constants
/// go away as they are converted.
void build(Plan& plan, const OfferTable& table, const Solution& solution, bool release_constants);

}  // namespace stowage::plan
