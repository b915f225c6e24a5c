// SPDX-License-Identifier: Apache-2.0
// stowage plan: which layouts and kernels the planner chose, and why.
#include "plan/plan.h"

#include <memory>
#include <ostream>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/model.h"

namespace stowage::cli {
namespace {

struct PlanCommandOptions : ModelOptions {
  bool json = false;
  std::string html;
};

Json operands_json(const std::vector<NodeReport::Operand>& operands) {
  Json list = Json::array();
  for (const NodeReport::Operand& operand : operands) {
    Json json;
    json["name"] = operand.name;
    json["shape"] = operand.shape;
    json["layout"] = operand.layout;
    list.push_back(std::move(json));
  }
  return list;
}

Json node_json(const NodeReport& node) {
  Json json;
  json["name"] = node.name;
  json["op"] = node.op;
  json["category"] = category_name(node.category);
  json["inputs"] = operands_json(node.inputs);
  json["outputs"] = operands_json(node.outputs);
  json["kernel"] = node.kernel;
  json["cost_us"] = node.cost_us;
  json["lost"] = Json::array();
  for (const NodeReport::Lost& lost : node.lost) {
    Json item;
    item["kernel"] = lost.kernel;
    item["layouts"] = lost.layouts;
    item["cost_us"] = lost.cost_us;
    json["lost"].push_back(std::move(item));
  }
  return json;
}

Json conversion_json(const ConversionReport& conversion) {
  Json json;
  json["value"] = conversion.value;
  json["from"] = conversion.from;
  json["to"] = conversion.to;
  json["bytes"] = conversion.bytes;
  json["cost_us"] = conversion.cost_us;
  json["reason"] = conversion.reason;
  return json;
}

Json plan_json(const Plan& plan) {
  Json json;
  json["nodes"] = Json::array();
  for (const NodeReport& node : plan.nodes) json["nodes"].push_back(node_json(node));
  json["conversions"] = Json::array();
  for (const ConversionReport& c : plan.conversions) {
    json["conversions"].push_back(conversion_json(c));
  }
  json["arena_bytes"] = plan.arena_bytes;
  json["weight_bytes"] = plan.weight_bytes;
  json["peak_bytes"] = plan.arena_bytes + plan.weight_bytes;
  json["touched_bytes"] = plan.touched_bytes;
  json["planner"] = plan.planner;
  json["threads"] = plan.threads;
  json["cost_us"] = plan.cost_us;
  json["lower_bound_us"] = plan.lower_bound_us;
  json["rule_cost_us"] = nullptr;
  json["source_cost_us"] = plan.source_cost_us;
  json["simplify"] = plan.history;
  return json;
}

int run(const PlanCommandOptions& options, std::ostream& out) {
  if (!options.html.empty()) {
    fail(ErrorCode::unsupported, "--html does not exist yet; use the text or --json");
  }
  check_device(options.device);
  parse_planner(options.planner);
  const std::vector<ModelInput> inputs = model_inputs(options.model);
  const Loaded loaded = load_model(options, parse_shapes(options.shapes, inputs));
  if (options.json) {
    out << json_text(plan_json(*loaded.plan)) << "\n";
  } else {
    out << explain(*loaded.plan);
  }
  return 0;
}

}  // namespace

Command add_plan(CLI::App& app, const Streams& streams) {
  auto options = std::make_shared<PlanCommandOptions>();
  CLI::App* command = app.add_subcommand(
      "plan", "Explain the plan of a model: layouts, kernels, conversions, and what lost");
  add_model_options(command, *options);
  command->add_flag("--json", options->json, "Print JSON and nothing else");
  command->add_option("--html", options->html, "Write one self-contained page")->type_name("FILE");
  std::ostream& out = streams.out;
  return {command, [options, &out] { return run(*options, out); }};
}

}  // namespace stowage::cli
