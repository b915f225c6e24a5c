// SPDX-License-Identifier: Apache-2.0
// The planner and its two baselines, over one table of offers.
#include <algorithm>

#include "plan/build.h"
#include "plan/formats.h"
#include "plan/rule.h"
#include "plan/source_order.h"

namespace stowage::plan {

std::string_view planner_name(PlanOptions::Planner planner) {
  switch (planner) {
    case PlanOptions::Planner::optimal:
      return "optimal";
    case PlanOptions::Planner::rule:
      return "rule";
    case PlanOptions::Planner::source:
      return "source";
  }
  return "";
}

Decision decide(Graph& graph, const PlanOptions& options) {
  Decision d;
  d.target = host_target(options.threads);
  d.target.exact = options.exact;
  if (options.device) {
    const DType store = options.device->half ? DType::f16 : DType::f32;
    d.target.device =
        DeviceTarget{options.device->facts, options.device->memory, store, options.device->avoid};
  }
  d.table = collect_offers(graph, d.target, options.rates, caller_layouts(graph, options));
  d.problem = make_problem(graph, d.table, d.target, options.rates);
  const auto evaluated = [&](const std::vector<int>& choice, const std::vector<bool>& isolated) {
    return evaluate_isolated(graph, d.table, d.problem, d.target, options.rates, choice, isolated);
  };
  const std::vector<int> source = source_choice(graph, d.table, d.target, options.rates);
  d.source = evaluated(source, std::vector<bool>(source.size(), true));
  d.rule_auto = rule_formats(graph, d.table.order, said_none(graph, options));
  std::vector<bool> isolated = d.rule_auto;
  isolated.flip();
  d.rule = evaluated(rule_choice(graph, d.table, d.target, d.rule_auto, source), isolated);
  for (Solution* baseline : {&d.source, &d.rule}) baseline->lower_bound = baseline->cost;
  if (options.planner != PlanOptions::Planner::optimal) {
    d.chosen = options.planner == PlanOptions::Planner::rule ? d.rule : d.source;
    return d;
  }
  d.chosen = solve(d.problem);
  const auto take = [&](const Solution& baseline) {
    const double bound = d.chosen.lower_bound;
    d.chosen = baseline;
    d.chosen.lower_bound = std::min(bound, baseline.cost);
  };
  // A search that proves nothing may end above a baseline; a tie goes to the order of the file,
  // where no value has padding.
  if (d.rule.cost < d.chosen.cost) take(d.rule);
  if (d.source.cost <= d.chosen.cost * (1 + 1e-12)) take(d.source);
  return d;
}

}  // namespace stowage::plan
