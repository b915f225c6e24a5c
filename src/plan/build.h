// SPDX-License-Identifier: Apache-2.0
// From choices to a plan.
#pragma once

#include <string_view>
#include <vector>

#include "plan/offers.h"
#include "plan/plan.h"
#include "plan/solve.h"

namespace stowage::plan {

/// The offers as a problem for solve: nodes in the order of the table, values by id.
Problem make_problem(const Graph& graph, const OfferTable& table, const Target& target,
                     const Rates& rates);

/// A conversion of `value` into `to` that set_input or read_output does: it is no step.
bool at_port(const Graph& graph, const OfferTable& table, ValueId value, int to);

/// What a conversion of `value` costs where it is done.
double move_us(const Graph& graph, const OfferTable& table, const Target& target,
               const Rates& rates, ValueId value, int from, int to);

/// "optimal", "rule", "source"
std::string_view planner_name(PlanOptions::Planner planner);

/// Everything that make_plan decides, and what it decided against.
struct Decision {
  Target target;
  OfferTable table;
  Problem problem;
  Solution source, rule;        ///< the two baselines
  std::vector<bool> rule_auto;  ///< of each node of the table: AUTO under MACE's rule
  Solution chosen;              ///< of the planner that was asked for
};

/// The graph is not changed. The optimal plan costs at most what either baseline costs.
Decision decide(Graph& graph, const PlanOptions& options);

/// Fills slots, steps, inputs, outputs, weights and arena. With `release_constants`, the graph's
/// constants go away as they are converted.
void build(Plan& plan, Graph& graph, const OfferTable& table, const Solution& solution,
           bool release_constants);

}  // namespace stowage::plan
