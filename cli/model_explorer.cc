// SPDX-License-Identifier: Apache-2.0
#include "cli/model_explorer.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "cli/io/file.h"
#include "report/kernel_meaning.h"
#include "report/layout_look.h"
#include "report/plan_tally.h"

namespace stowage::cli {
namespace {

std::string input_id(std::size_t i) { return fmt::format("input {}", i + 1); }

std::string output_id(std::size_t i) { return fmt::format("output {}", i + 1); }

std::string conversion_id(std::size_t i) { return fmt::format("conversion {}", i + 1); }

/// The number of the plan, as `plan` prints it and --why-not takes it.
std::string node_id(std::size_t i) { return fmt::format("#{}", i + 1); }

/// The layers that a name such as "/layer1/0/conv1/Conv" lies in: "layer1/0/conv1".
std::string namespace_of(std::string_view name) {
  while (name.starts_with('/')) name.remove_prefix(1);
  const std::size_t last = name.rfind('/');
  return last == std::string_view::npos ? "" : std::string(name.substr(0, last));
}

Json attribute(std::string_view key, std::string_view value) {
  return {{"key", key}, {"value", value}};
}

std::string time_text(double us) { return fmt::format("{:.2f} us", us); }

/// "f32[1,3,224,224]", the form in which Model Explorer shows shapes on edges.
std::string tensor_shape(const Shape& shape, DType dtype) {
  return fmt::format("{}[{}]", dtype_name(dtype), fmt::join(shape.extents(), ","));
}

Json tensor(std::size_t index, std::string_view name, const std::string& layout,
            const std::string& shape) {
  Json attributes = Json::array({attribute("__tensor_tag", name), attribute("layout", layout)});
  if (!shape.empty()) attributes.push_back(attribute("tensor_shape", shape));
  return {{"id", std::to_string(index)}, {"attrs", std::move(attributes)}};
}

Json new_node(std::string id, std::string_view label, std::string space) {
  Json node;
  node["id"] = std::move(id);
  node["label"] = label;
  node["namespace"] = std::move(space);
  for (const char* list : {"attrs", "incomingEdges", "inputsMetadata", "outputsMetadata"}) {
    node[list] = Json::array();
  }
  return node;
}

/// Who has a value in a layout: a node and which of its outputs.
class Sources {
 public:
  explicit Sources(const PlanReport& plan) {
    for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
      add(plan.inputs[i].id, plan.inputs[i].layout.spelling(), input_id(i), 0);
    }
    for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
      const auto& outputs = plan.nodes[i].outputs;
      for (std::size_t k = 0; k < outputs.size(); ++k) {
        add(outputs[k].id, outputs[k].layout, node_id(i), k);
      }
    }
    for (std::size_t i = 0; i < plan.conversions.size(); ++i) {
      const ConversionReport& c = plan.conversions[i];
      add(c.id, c.to, conversion_id(i), 0);
    }
  }

  /// Nothing where nobody has it: a constant.
  void connect(Json& node, int id, const std::string& layout, std::size_t input) const {
    auto at = sources_.find({id, layout});
    // A value that lies as a relabel leaves it may be spelled otherwise where it is read.
    if (at == sources_.end()) at = sources_.lower_bound({id, ""});
    if (at == sources_.end() || at->first.first != id || at->second.first == node["id"]) return;
    node["incomingEdges"].push_back({{"sourceNodeId", at->second.first},
                                     {"sourceNodeOutputId", std::to_string(at->second.second)},
                                     {"targetNodeInputId", std::to_string(input)}});
  }

 private:
  void add(int id, std::string layout, std::string node, std::size_t output) {
    sources_.emplace(std::pair(id, std::move(layout)), std::pair(std::move(node), output));
  }

  std::map<std::pair<int, std::string>, std::pair<std::string, std::size_t>> sources_;
};

Json operator_node(const NodeReport& report, std::size_t i, const Sources& sources) {
  Json node = new_node(node_id(i), report.op, namespace_of(report.name));
  Json& attributes = node["attrs"];
  attributes.push_back(attribute("name", report.name));
  attributes.push_back(attribute("kernel", report.kernel));
  if (const std::string_view meaning = kernel_meaning(report.kernel); !meaning.empty()) {
    attributes.push_back(attribute("kernel means", meaning));
  }
  attributes.push_back(attribute("category", category_name(report.category)));
  attributes.push_back(attribute("predicted", time_text(report.cost_us)));
  for (const NodeReport::Detail& detail : report.details) {
    attributes.push_back(attribute(detail.name, detail.value));
  }
  for (const NodeReport::Lost& lost : report.lost) {
    attributes.push_back(attribute(
        "lost", fmt::format("{}  {}  {}", lost.layouts, lost.kernel, time_text(lost.cost_us))));
  }
  for (std::size_t k = 0; k < report.inputs.size(); ++k) {
    const NodeReport::Operand& o = report.inputs[k];
    if (!o.constant) sources.connect(node, o.id, o.layout, k);
    node["inputsMetadata"].push_back(tensor(k, o.name, o.layout, tensor_shape(o.shape, o.dtype)));
  }
  for (std::size_t k = 0; k < report.outputs.size(); ++k) {
    const NodeReport::Operand& o = report.outputs[k];
    node["outputsMetadata"].push_back(tensor(k, o.name, o.layout, tensor_shape(o.shape, o.dtype)));
  }
  return node;
}

Json conversion_node(const ConversionReport& c, std::size_t i, const Sources& sources) {
  Json node = new_node(conversion_id(i), "conversion", namespace_of(c.value));
  node["attrs"] =
      Json::array({attribute("from", c.from), attribute("to", c.to),
                   attribute("bytes", std::to_string(c.bytes)),
                   attribute("predicted", time_text(c.cost_us)), attribute("reason", c.reason)});
  sources.connect(node, c.id, c.from, 0);
  node["inputsMetadata"].push_back(tensor(0, c.value, c.from, ""));
  node["outputsMetadata"].push_back(tensor(0, c.value, c.to, ""));
  return node;
}

Json overlay(const std::string& model, std::string_view name, Json results, Json more) {
  Json data;
  data["name"] = name;
  data["results"] = std::move(results);
  data.update(more);
  Json json;
  json[model] = std::move(data);
  return json;
}

}  // namespace

Json explorer_graph(const PlanReport& plan, const std::string& model) {
  const Sources sources(plan);
  Json nodes = Json::array();
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
    const PlanReport::Boundary& port = plan.inputs[i];
    Json node = new_node(input_id(i), "model input", "");
    node["attrs"].push_back(attribute("name", port.port.name));
    node["outputsMetadata"].push_back(tensor(0, port.port.name, port.layout.spelling(),
                                             tensor_shape(port.port.shape, port.port.dtype)));
    nodes.push_back(std::move(node));
  }
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    nodes.push_back(operator_node(plan.nodes[i], i, sources));
  }
  for (std::size_t i = 0; i < plan.conversions.size(); ++i) {
    nodes.push_back(conversion_node(plan.conversions[i], i, sources));
  }
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    const PlanReport::Boundary& port = plan.outputs[i];
    Json node = new_node(output_id(i), "model output", "");
    node["attrs"].push_back(attribute("name", port.port.name));
    sources.connect(node, port.id, port.layout.spelling(), 0);
    node["inputsMetadata"].push_back(tensor(0, port.port.name, port.layout.spelling(),
                                            tensor_shape(port.port.shape, port.port.dtype)));
    nodes.push_back(std::move(node));
  }
  Json graph;
  graph["id"] = model;
  graph["nodes"] = std::move(nodes);
  graph["groupNodeAttributes"][""] = {{"planner", plan.planner},
                                      {"threads", std::to_string(plan.threads)},
                                      {"predicted", time_text(plan.cost_us)},
                                      {"MACE's rule", time_text(plan.rule_cost_us)},
                                      {"source order", time_text(plan.source_cost_us)},
                                      {"weights", fmt::format("{} B", plan.weight_bytes)},
                                      {"arena", fmt::format("{} B", plan.arena_bytes)}};
  Json json;
  json["label"] = model;
  json["graphs"] = Json::array({std::move(graph)});
  return json;
}

Json explorer_layouts(const PlanReport& plan, const std::string& model) {
  std::map<std::string, LayoutLook> looks;
  for (const LayoutTally& tally : tally_layouts(plan)) looks[tally.layout] = tally.look;
  Json results = Json::object();
  const auto put = [&](std::string id, const std::string& layout) {
    const LayoutLook& look = looks[layout];
    results[std::move(id)] = {{"value", layout}, {"bgColor", look.colour}, {"textColor", look.ink}};
  };
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
    put(input_id(i), plan.inputs[i].layout.spelling());
  }
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    if (!plan.nodes[i].outputs.empty()) put(node_id(i), plan.nodes[i].outputs[0].layout);
  }
  for (std::size_t i = 0; i < plan.conversions.size(); ++i) {
    put(conversion_id(i), plan.conversions[i].to);
  }
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    put(output_id(i), plan.outputs[i].layout.spelling());
  }
  return overlay(model, "layout", std::move(results), {{"showExpandedSummaryOnGroupNode", true}});
}

Json explorer_times(const PlanReport& plan, const std::string& model,
                    std::span<const double> step_us) {
  const MeasuredTimes measured = measured_times(plan, step_us);
  const bool measures = !step_us.empty();
  Json results = Json::object();
  const auto put = [&](std::string id, double predicted, double us) {
    if (measures && us < 0) return;
    results[std::move(id)] = {{"value", measures ? us : predicted}};
  };
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
    put(node_id(i), plan.nodes[i].cost_us, measured.nodes[i]);
  }
  for (std::size_t i = 0; i < plan.conversions.size(); ++i) {
    put(conversion_id(i), plan.conversions[i].cost_us, measured.conversions[i]);
  }
  const Json gradient =
      Json::array({{{"stop", 0}, {"bgColor", "#fff7ec"}, {"textColor", "#000000"}},
                   {{"stop", 0.5}, {"bgColor", "#fc8d59"}, {"textColor", "#000000"}},
                   {{"stop", 1}, {"bgColor", "#7f0000"}, {"textColor", "#ffffff"}}});
  return overlay(model, measures ? "measured (us)" : "predicted (us)", std::move(results),
                 {{"gradient", gradient}});
}

std::vector<std::string> write_model_explorer(const std::string& path, const PlanReport& plan,
                                              const std::string& model,
                                              std::span<const double> step_us) {
  const std::string stem =
      path.ends_with(".json") ? path.substr(0, path.size() - 5) : path;  // without the extension
  std::vector<std::pair<std::string, Json>> files;
  files.emplace_back(path, explorer_graph(plan, model));
  files.emplace_back(stem + ".layout.json", explorer_layouts(plan, model));
  files.emplace_back(stem + ".predicted.json", explorer_times(plan, model));
  if (!step_us.empty()) {
    files.emplace_back(stem + ".measured.json", explorer_times(plan, model, step_us));
  }
  std::vector<OutputFile> open;
  std::vector<std::string> paths;
  for (const auto& [name, json] : files) {
    open.emplace_back(name).write(json_text(json, 1));
    paths.push_back(name);
  }
  for (OutputFile& file : open) file.commit();
  return paths;
}

}  // namespace stowage::cli
