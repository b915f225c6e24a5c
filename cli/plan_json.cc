// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_json.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "graph/graph.h"
#include "graph/op_def.h"
#include "plan/words.h"

namespace stowage::cli {
namespace {

std::size_t idx(int i) { return static_cast<std::size_t>(i); }

Json operands_json(const std::vector<NodeReport::Operand>& operands,
                   const std::set<ValueId>& constants) {
  Json list = Json::array();
  for (const NodeReport::Operand& operand : operands) {
    Json json;
    json["name"] = operand.name;
    json["layout"] = operand.layout;
    json["shape"] = operand.shape;
    json["data_format"] = data_format_name(operand.data_format);
    json["id"] = operand.id;
    if (constants.contains(operand.id)) json["constant"] = true;
    list.push_back(std::move(json));
  }
  return list;
}

Json lost_json(const std::vector<NodeReport::Lost>& list) {
  Json out = Json::array();
  for (const NodeReport::Lost& lost : list) {
    Json item;
    item["kernel"] = lost.kernel;
    item["layouts"] = lost.layouts;
    item["cost_us"] = lost.cost_us;
    out.push_back(std::move(item));
  }
  return out;
}

Json conversion_json(const ConversionReport& conversion) {
  Json json;
  json["value"] = conversion.value;
  json["from"] = conversion.from;
  json["to"] = conversion.to;
  json["bytes"] = conversion.bytes;
  json["cost_us"] = conversion.cost_us;
  json["reason"] = conversion.reason;
  json["id"] = conversion.id;
  return json;
}

Json conversions_json(const std::vector<ConversionReport>& conversions) {
  Json list = Json::array();
  for (const ConversionReport& c : conversions) list.push_back(conversion_json(c));
  return list;
}

Json ports_json(const std::vector<PlanPort>& ports) {
  Json list = Json::array();
  for (const PlanPort& port : ports) {
    Json json;
    json["name"] = port.port.name;
    json["shape"] = text(port.port.shape.extents());
    json["layout"] = port.layout.spelling();
    json["data_format"] = data_format_name(port.port.data_format);
    json["id"] = port.value;
    list.push_back(std::move(json));
  }
  return list;
}

int root(const Plan& plan, int slot) {
  while (plan.slots[idx(slot)].alias_of >= 0) slot = plan.slots[idx(slot)].alias_of;
  return slot;
}

/// Every tensor of the arena with the steps in which it lives.
Json blocks_json(const Plan& plan) {
  const int steps = static_cast<int>(plan.steps.size());
  std::vector<std::pair<int, int>> life(plan.slots.size(), {steps, -1});
  const auto live = [&](int slot, int step) {
    if (slot < 0) return;
    auto& [first, last] = life[idx(root(plan, slot))];
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
  const int end = std::max(steps - 1, 0);
  for (const PlanPort& input : plan.inputs) {
    for (const int s : input.slots) live(s, 0), live(s, end);
  }
  for (const PlanPort& output : plan.outputs) {
    for (const int s : output.slots) live(s, end);
  }
  Json list = Json::array();
  for (std::size_t s = 0; s < plan.slots.size(); ++s) {
    const Slot& slot = plan.slots[s];
    if (slot.constant != nullptr || slot.alias_of >= 0 || life[s].second < 0) continue;
    Json json;
    json["id"] = slot.value;
    json["name"] = slot.name;
    json["layout"] = slot.mapping.layout().spelling();
    json["offset"] = slot.offset;
    json["bytes"] = slot.mapping.bytes();
    json["first"] = life[s].first;
    json["last"] = life[s].second;
    list.push_back(std::move(json));
  }
  for (int i = 0; i < steps; ++i) {
    const Step& step = plan.steps[idx(i)];
    if (step.scratch_bytes == 0) continue;
    list.push_back({{"id", kNoValue},
                    {"name", "scratch"},
                    {"layout", ""},
                    {"offset", step.scratch_offset},
                    {"bytes", step.scratch_bytes},
                    {"first", i},
                    {"last", i}});
  }
  return list;
}

/// Values that are known before run.
std::set<ValueId> constants_of(const Plan& plan) {
  std::set<ValueId> out;
  for (const Slot& slot : plan.slots) {
    if (slot.constant != nullptr) out.insert(slot.value);
  }
  return out;
}

}  // namespace

Json plan_json(const Plan& plan, const std::string& model) {
  const std::set<ValueId> constants = constants_of(plan);
  Json json;
  json["model"] = model;
  json["nodes"] = Json::array();
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    const NodeReport& report = plan.nodes[i];
    Json node;
    node["name"] = report.name;
    node["op"] = report.op;
    node["category"] = category_name(report.category);
    node["inputs"] = operands_json(report.inputs, constants);
    node["outputs"] = operands_json(report.outputs, constants);
    node["rule_category"] = category_name(report.rule_category);
    node["rule_format"] = plan::rule_format(report, plan.source_format);
    node["kernel"] = report.kernel;
    node["cost_us"] = report.cost_us;
    node["lost"] = lost_json(report.lost);
    node["number"] = i + 1;
    json["nodes"].push_back(std::move(node));
  }
  json["conversions"] = conversions_json(plan.conversions);
  json["arena_bytes"] = plan.arena_bytes;
  json["weight_bytes"] = plan.weight_bytes;
  json["peak_bytes"] = plan.arena_bytes + plan.weight_bytes;
  json["touched_bytes"] = plan.touched_bytes;
  json["planner"] = plan.planner;
  json["threads"] = plan.threads;
  json["cost_us"] = plan.cost_us;
  json["rule_cost_us"] = plan.rule_cost_us;
  json["source_cost_us"] = plan.source_cost_us;
  json["lower_bound_us"] = plan.lower_bound_us;
  json["source_format"] = data_format_name(plan.source_format);
  json["inputs"] = ports_json(plan.inputs);
  json["outputs"] = ports_json(plan.outputs);
  json["arena"]["steps"] = plan.steps.size();
  json["arena"]["blocks"] = blocks_json(plan);
  json["simplify"] = plan.history;
  return json;
}

Json why_not_json(const plan::WhyNot& answer) {
  Json json;
  json["node"] = answer.node;
  json["op"] = answer.op;
  json["layout"] = answer.layout;
  json["offered"] = answer.offered;
  json["chosen"] = answer.is_chosen;
  json["kernel"] = answer.chosen.kernel;
  json["cost_us"] = answer.cost_us;
  json["lost"] = lost_json(answer.chosen.lost);
  if (!answer.offered || answer.is_chosen) return json;
  json["forced_kernel"] = answer.forced.kernel;
  json["forced_cost_us"] = answer.forced_us;
  json["added"] = conversions_json(answer.added);
  json["saved"] = conversions_json(answer.saved);
  json["followers"] = answer.followers;
  return json;
}

/// Written by cmake/cli.cmake from cli/plan.html.
extern const char* const kPlanPage;

std::string plan_html(const Plan& plan, const std::string& model) {
  // ASCII, and no character that could end the script element: names come from the model file.
  const std::string json =
      plan_json(plan, model).dump(-1, ' ', true, Json::error_handler_t::replace);
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      safe += "\\u003c";
    } else if (c == '>') {
      safe += "\\u003e";
    } else if (c == '&') {
      safe += "\\u0026";
    } else {
      safe += c;
    }
  }
  const std::string_view page = kPlanPage, mark = "@PLAN_JSON@";
  const std::size_t at = page.find(mark);
  return text(page.substr(0, at), safe, page.substr(at + mark.size()));
}

}  // namespace stowage::cli
