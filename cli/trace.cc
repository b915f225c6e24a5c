// SPDX-License-Identifier: Apache-2.0
#include "cli/trace.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

namespace stowage::cli {
namespace {

Json event(std::string_view phase, std::string_view name, double us) {
  return {{"ph", phase}, {"name", name}, {"pid", 1}, {"tid", 1}, {"ts", us}};
}

Json layouts_of(const std::vector<NodeReport::Operand>& operands) {
  Json out = Json::object();
  for (const NodeReport::Operand& operand : operands) out[operand.name] = operand.layout;
  return out;
}

/// What the plan says of a step, for its slice.
class Details {
 public:
  explicit Details(const PlanReport& plan) : plan_(plan) {
    for (const NodeReport& node : plan.nodes) nodes_[node.node] = &node;
  }

  Json of(const PlanReport::Step& step) const {
    Json out = Json::object();
    if (const auto node = nodes_.find(step.node); node != nodes_.end() && step.node >= 0) {
      out["operator"] = step.op;
      out["kernel"] = step.kernel;
      out["inputs"] = layouts_of(node->second->inputs);
      out["outputs"] = layouts_of(node->second->outputs);
      out["predicted_us"] = node->second->cost_us;
    } else if (step.conversion >= 0) {
      const ConversionReport& moved = plan_.conversions[static_cast<std::size_t>(step.conversion)];
      out["from"] = moved.from;
      out["to"] = moved.to;
      out["bytes"] = moved.bytes;
      out["reason"] = moved.reason;
      out["predicted_us"] = moved.cost_us;
    }
    return out;
  }

 private:
  const PlanReport& plan_;
  std::map<int, const NodeReport*> nodes_;
};

std::size_t bytes_in_use(const PlanReport& plan, int step) {
  std::size_t bytes = 0;
  for (const PlanReport::Block& block : plan.arena) {
    if (block.first <= step && step <= block.last) bytes += block.bytes;
  }
  return bytes;
}

/// `begins` has the time at which each step of the first run begins, and that of its end.
void add_arena(const PlanReport& plan, std::span<const double> begins, Json& events) {
  const auto at = [&](int step) {
    const auto last = static_cast<int>(begins.size()) - 1;
    return begins[static_cast<std::size_t>(std::clamp(step, 0, last))];
  };
  for (std::size_t i = 0; i < plan.arena.size(); ++i) {
    const PlanReport::Block& block = plan.arena[i];
    for (const bool ends : {false, true}) {
      Json one = event(ends ? "e" : "b", block.name, ends ? at(block.last + 1) : at(block.first));
      one["cat"] = "arena";
      one["id"] = i;
      if (!ends)
        one["args"] = {{"layout", block.layout}, {"offset", block.offset}, {"bytes", block.bytes}};
      events.push_back(std::move(one));
    }
  }
}

}  // namespace

Json trace(const PlanReport& plan, const std::string& model,
           std::span<const std::vector<double>> runs) {
  const Details details(plan);
  Json events = Json::array();
  events.push_back(
      {{"ph", "M"}, {"name", "process_name"}, {"pid", 1}, {"args", {{"name", model}}}});
  double now = 0;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    Json whole = event("X", "run " + std::to_string(r + 1), now);
    whole["dur"] = std::accumulate(runs[r].begin(), runs[r].end(), 0.0);
    whole["args"] = {{"threads", plan.threads}, {"planner", plan.planner}};
    events.push_back(std::move(whole));
    std::vector<double> begins;
    for (std::size_t i = 0; i < runs[r].size(); ++i) {
      const PlanReport::Step& step = plan.steps[i];
      begins.push_back(now);
      Json used = event("C", "arena in use", now);
      used["args"] = {{"bytes", bytes_in_use(plan, static_cast<int>(i))}};
      events.push_back(std::move(used));
      Json slice = event("X", step.name, now);
      slice["cat"] = step.kind == PlanReport::Step::Kind::convert ? "conversion" : "kernel";
      slice["dur"] = runs[r][i];
      slice["args"] = details.of(step);
      events.push_back(std::move(slice));
      now += runs[r][i];
    }
    begins.push_back(now);
    if (r == 0) add_arena(plan, begins, events);
  }
  Json used = event("C", "arena in use", now);
  used["args"] = {{"bytes", 0}};
  events.push_back(std::move(used));
  return {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
}

}  // namespace stowage::cli
