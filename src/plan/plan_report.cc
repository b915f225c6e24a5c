// SPDX-License-Identifier: Apache-2.0
// The public face of a plan: a copy of what it keeps, in terms that need nothing of the library.
#include <algorithm>
#include <unordered_map>
#include <vector>

#include "base/index.h"
#include "plan/plan.h"
#include "plan/words.h"
#include "stowage/plan.h"

namespace stowage {

namespace {

std::vector<Port> ports_of(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<Port> ports;
  for (const ValueId v : values) {
    const Value& value = graph.value(v);
    ports.push_back({value.name, value.dtype, value.shape, data_format(value.shape)});
  }
  return ports;
}

std::vector<PlanReport::Boundary> boundary(const std::vector<PlanPort>& ports) {
  std::vector<PlanReport::Boundary> out;
  for (const PlanPort& p : ports) out.push_back({p.port, p.layout, p.value});
  return out;
}

/// By value: places in Plan::conversions.
using ConversionsOf = std::unordered_map<int, std::vector<int>>;

/// The place of what a step converts in Plan::conversions, or -1.
int conversion_of(const Plan& plan, const Step& step, const ConversionsOf& conversions) {
  const Slot &src = plan.slot(step.src), &dst = plan.slot(step.dst);
  const auto lies = [](const Slot& slot, const std::string& layout) {
    const std::string plain = plan::placed_layout(slot.mapping.layout(), slot.place);
    return layout == plain || layout == plan::stored_as(plain, slot.dtype);
  };
  const auto found = conversions.find(src.value);
  if (found == conversions.end()) return -1;
  for (const int i : found->second) {
    const ConversionReport& c = plan.conversions[idx(i)];
    if (lies(src, c.from) && lies(dst, c.to)) return i;
  }
  return -1;
}

PlanReport::Step step_report(const Plan& plan, const Step& step, const ConversionsOf& conversions) {
  PlanReport::Step out;
  if (step.kind == Step::Kind::convert) {
    out.kind = PlanReport::Step::Kind::convert;
    out.name = plan.slot(step.src).name;
    out.conversion = conversion_of(plan, step, conversions);
    return out;
  }
  out.name = step.name;
  out.op = step.op;
  out.kernel = std::string(step.call.name());
  out.node = step.node;
  return out;
}

/// Every tensor that has memory of its own in the arena, then scratch, each with the steps in which
/// it is in use. Inputs and outputs live from the first and to the last: they may be set and read
/// between runs.
std::vector<PlanReport::Block> blocks(const Plan& plan) {
  const int steps = static_cast<int>(plan.steps.size());
  const int end = std::max(steps - 1, 0);
  std::vector<std::pair<int, int>> life(plan.slots.size(), {steps, -1});
  const auto live = [&](int slot, int step) {
    if (slot < 0) return;
    auto& [first, last] = life[idx(memory_of(plan, slot).slot)];
    first = std::min(first, step);
    last = std::max(last, step);
  };
  for (int i = 0; i < steps; ++i) {
    const Step& step = plan.steps[idx(i)];
    live(step.src, i);
    live(step.dst, i);
    for (const int s : step.in) live(s, i);
    for (const int s : step.out) live(s, i);
  }
  for (const PlanPort& input : plan.inputs) {
    for (const int s : input.slots) live(s, 0), live(s, end);
  }
  for (const PlanPort& output : plan.outputs) {
    for (const int s : output.slots) live(s, end);
  }
  std::vector<PlanReport::Block> out;
  for (std::size_t s = 0; s < plan.slots.size(); ++s) {
    const Slot& slot = plan.slots[s];
    if (slot.constant != nullptr || slot.alias_of >= 0 || life[s].second < 0) continue;
    out.push_back({slot.value, slot.name, slot.mapping.layout().spelling(), slot.offset,
                   slot.mapping.bytes(), life[s].first, life[s].second});
  }
  for (int i = 0; i < steps; ++i) {
    const Step& step = plan.steps[idx(i)];
    if (step.scratch_bytes == 0) continue;
    out.push_back({kNoValue, "scratch", "", step.scratch_offset, step.scratch_bytes, i, i});
  }
  return out;
}

}  // namespace

std::string_view rule_format(const NodeReport& node, DataFormat source) noexcept {
  return node.rule_auto ? "AUTO" : data_format_name(source);
}

PlanReport report(const Plan& plan) {
  PlanReport out;
  out.model = plan.model;
  out.planner = plan.planner;
  out.threads = plan.threads;
  out.lanes = plan.lanes;
  out.source_format = plan.source_format;
  out.inputs = boundary(plan.inputs);
  out.outputs = boundary(plan.outputs);
  out.nodes = plan.nodes;
  out.conversions = plan.conversions;
  ConversionsOf conversions;
  for (std::size_t i = 0; i < plan.conversions.size(); ++i) {
    conversions[plan.conversions[i].id].push_back(static_cast<int>(i));
  }
  for (const Step& step : plan.steps) out.steps.push_back(step_report(plan, step, conversions));
  out.arena = blocks(plan);
  out.arena_bytes = plan.arena_bytes;
  out.weight_bytes = plan.weight_bytes;
  out.touched_bytes = plan.touched_bytes;
  out.cost_us = plan.cost_us;
  out.rule_cost_us = plan.rule_cost_us;
  out.source_cost_us = plan.source_cost_us;
  out.lower_bound_us = plan.lower_bound_us;
  out.history = plan.history;
  for (const std::string& kernel : plan.avoided) {
    out.avoided.push_back({kernel, plan.device ? plan.device->name : ""});
  }
  return out;
}

MeasuredTimes measured_times(const PlanReport& plan, std::span<const double> step_us) {
  MeasuredTimes out;
  out.nodes.assign(plan.nodes.size(), -1);
  out.conversions.assign(plan.conversions.size(), -1);
  std::unordered_map<int, std::size_t> place;
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) place[plan.nodes[i].node] = i;
  for (std::size_t s = 0; s < std::min(step_us.size(), plan.steps.size()); ++s) {
    const PlanReport::Step& step = plan.steps[s];
    double* sum = nullptr;
    if (step.conversion >= 0) sum = &out.conversions[idx(step.conversion)];
    if (const auto at = place.find(step.node); step.node >= 0 && at != place.end()) {
      sum = &out.nodes[at->second];
    }
    if (sum != nullptr) *sum = std::max(*sum, 0.0) + step_us[s];
  }
  const auto add = [&](const auto& parts, const std::vector<double>& us) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (us[i] < 0) continue;
      out.us += us[i];
      out.predicted_us += parts[i].cost_us;
    }
  };
  add(plan.nodes, out.nodes);
  add(plan.conversions, out.conversions);
  return out;
}

std::vector<Port> input_ports(const Graph& graph) { return ports_of(graph, graph.inputs); }

std::vector<Port> output_ports(const Graph& graph) { return ports_of(graph, graph.outputs); }

}  // namespace stowage
