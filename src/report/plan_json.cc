// SPDX-License-Identifier: Apache-2.0
#include "report/plan_json.h"

#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>
#include <vector>

#include "report/kernel_meaning.h"
#include "report/layout_look.h"
#include "report/plan_tally.h"

namespace stowage {
namespace {

void put_shape(Json& json, const Shape& shape) {
  json["shape"] = std::vector<std::int64_t>(shape.extents().begin(), shape.extents().end());
  json["axes"] = Json::array();
  for (const Axis axis : shape.axes()) json["axes"].push_back(axis.name());
}

Json operands_json(const std::vector<NodeReport::Operand>& operands) {
  Json list = Json::array();
  for (const NodeReport::Operand& operand : operands) {
    Json json;
    json["name"] = operand.name;
    json["layout"] = operand.layout;
    put_shape(json, operand.shape);
    json["type"] = dtype_name(operand.dtype);
    json["data_format"] = data_format_name(operand.data_format);
    json["id"] = operand.id;
    if (operand.constant) json["constant"] = true;
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

/// `measured` is empty, or has a time for each.
Json conversions_json(const std::vector<ConversionReport>& conversions,
                      std::span<const double> measured = {}) {
  Json list = Json::array();
  for (std::size_t i = 0; i < conversions.size(); ++i) {
    list.push_back(conversion_json(conversions[i]));
    if (i < measured.size() && measured[i] >= 0) list.back()["measured_us"] = measured[i];
  }
  return list;
}

Json details_json(const std::vector<NodeReport::Detail>& details) {
  Json json = Json::object();
  for (const NodeReport::Detail& detail : details) json[detail.name] = detail.value;
  return json;
}

Json layouts_json(const PlanReport& plan) {
  Json list = Json::array();
  for (const LayoutTally& tally : tally_layouts(plan)) {
    Json json;
    json["layout"] = tally.layout;
    json["tensors"] = tally.tensors;
    json["constants"] = tally.constants;
    json["meaning"] = layout_meaning(tally.layout);
    if (tally.tensors > 0) {
      json["colour"] = tally.look.colour;
      json["ink"] = tally.look.ink;
      json["pattern"] = tally.look.pattern;
    }
    list.push_back(std::move(json));
  }
  return list;
}

Json kernels_json(const PlanReport& plan) {
  Json list = Json::array();
  for (const KernelTally& tally : tally_kernels(plan)) {
    Json json;
    json["kernel"] = tally.kernel;
    json["operators"] = tally.operators;
    json["cost_us"] = tally.cost_us;
    json["meaning"] = kernel_meaning(tally.kernel);
    list.push_back(std::move(json));
  }
  return list;
}

Json ports_json(const std::vector<PlanReport::Boundary>& ports) {
  Json list = Json::array();
  for (const PlanReport::Boundary& port : ports) {
    Json json;
    json["name"] = port.port.name;
    put_shape(json, port.port.shape);
    json["type"] = dtype_name(port.port.dtype);
    json["layout"] = port.layout.spelling();
    json["data_format"] = data_format_name(port.port.data_format);
    json["id"] = port.id;
    list.push_back(std::move(json));
  }
  return list;
}

Json blocks_json(const std::vector<PlanReport::Block>& blocks) {
  Json list = Json::array();
  for (const PlanReport::Block& block : blocks) {
    Json json;
    json["id"] = block.id;
    json["name"] = block.name;
    json["layout"] = block.layout;
    json["offset"] = block.offset;
    json["bytes"] = block.bytes;
    json["first"] = block.first;
    json["last"] = block.last;
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace

Json plan_object(const PlanReport& plan, const std::string& model,
                 std::span<const double> step_us) {
  const MeasuredTimes measured = measured_times(plan, step_us);
  Json json;
  json["model"] = model;
  json["nodes"] = Json::array();
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    const NodeReport& node = plan.nodes[i];
    Json item;
    item["name"] = node.name;
    item["op"] = node.op;
    item["category"] = category_name(node.category);
    item["inputs"] = operands_json(node.inputs);
    item["outputs"] = operands_json(node.outputs);
    item["rule_category"] = category_name(node.rule_category);
    item["rule_format"] = rule_format(node, plan.source_format);
    item["details"] = details_json(node.details);
    item["kernel"] = node.kernel;
    item["cost_us"] = node.cost_us;
    item["flops"] = node.flops;
    item["bytes"] = node.bytes;
    if (measured.nodes[i] >= 0) item["measured_us"] = measured.nodes[i];
    item["lost"] = lost_json(node.lost);
    item["number"] = i + 1;
    json["nodes"].push_back(std::move(item));
  }
  json["conversions"] = conversions_json(plan.conversions, measured.conversions);
  json["layouts"] = layouts_json(plan);
  json["kernels"] = kernels_json(plan);
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
  if (!step_us.empty()) {
    json["measured_us"] = std::accumulate(step_us.begin(), step_us.end(), 0.0);
  }
  json["source_format"] = data_format_name(plan.source_format);
  json["inputs"] = ports_json(plan.inputs);
  json["outputs"] = ports_json(plan.outputs);
  json["arena"]["steps"] = plan.steps.size();
  json["arena"]["blocks"] = blocks_json(plan.arena);
  json["simplify"] = plan.history;
  json["avoided"] = Json::array();
  for (const PlanReport::Avoided& avoided : plan.avoided) {
    Json item;
    item["kernel"] = avoided.kernel;
    item["device"] = avoided.device;
    json["avoided"].push_back(std::move(item));
  }
  return json;
}

std::string json_lines(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string plan_json(const PlanReport& plan, const std::string& model,
                      std::span<const double> step_us) {
  return json_lines(plan_object(plan, model, step_us));
}

std::string why_not_json(const WhyNot& answer) {
  Json json;
  json["node"] = answer.node;
  json["op"] = answer.op;
  json["layout"] = answer.layout;
  json["offered"] = answer.offered;
  json["chosen"] = answer.is_chosen;
  json["kernel"] = answer.chosen.kernel;
  json["cost_us"] = answer.cost_us;
  json["lost"] = lost_json(answer.chosen.lost);
  if (!answer.offered || answer.is_chosen) return json_lines(json);
  json["forced_kernel"] = answer.forced.kernel;
  json["forced_cost_us"] = answer.forced_us;
  json["added"] = conversions_json(answer.added);
  json["saved"] = conversions_json(answer.saved);
  json["followers"] = answer.followers;
  return json_lines(json);
}

}  // namespace stowage
