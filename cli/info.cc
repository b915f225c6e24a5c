// SPDX-License-Identifier: Apache-2.0
// stowage info: what a model file holds.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "cli/model.h"
#include "stowage/error.h"
#include "stowage/inspect.h"
#include "stowage/plan.h"

namespace stowage::cli {
namespace {

struct InfoOptions : ModelOptions {
  bool json = false;
};

/// What is known once free extents are bound.
struct Work {
  std::optional<double> flops;
  std::string unknown;  ///< why there are none
};

Work work_of(const InfoOptions& options, const ModelInfo& info) {
  const auto lacks = [](const ModelInfo::Operator& op) { return !op.unsupported.empty(); };
  if (std::any_of(info.operators.begin(), info.operators.end(), lacks)) {
    return {{}, "some operators are not supported"};
  }
  try {
    ModelPorts ports = model_ports(options.model);
    const Prepared prepared =
        prepare_model(options, ports, [&] { return parse_shapes(options.shapes, ports.inputs); });
    return {flops(prepared.graph), {}};
  } catch (const Error& e) {
    // What the user got wrong is for the user.
    if (e.code() == ErrorCode::usage && !options.shapes.empty()) throw;
    return {{}, e.sentence()};
  }
}

std::string text_of(const ModelDim& dim) {
  if (dim.extent >= 0) return std::to_string(dim.extent);
  return dim.symbol.empty() ? "?" : dim.symbol;
}

std::string text_of(const ModelInfo::Operand& operand) {
  std::string dims;
  for (const ModelDim& dim : operand.dims) dims += (dims.empty() ? "" : ", ") + text_of(dim);
  const std::string type = operand.dtype.has_value() ? std::string(dtype_name(*operand.dtype))
                                                     : "a type that is not supported";
  return fmt::format("{}  {}", type, operand.has_shape ? "[" + dims + "]" : "any shape");
}

/// "ONNX, IR version 8, opset 13, com.example 1"
std::string kind_of(const ModelInfo& info) {
  std::string out = info.format;
  if (info.version != 0) {
    out += fmt::format(", {} version {}", info.format == "ONNX" ? "IR" : "schema", info.version);
  }
  for (const auto& [domain, version] : info.opsets) {
    out += fmt::format(", {} {}", domain == "ai.onnx" ? "opset" : domain, version);
  }
  return out;
}

/// 1,235,496
std::string grouped(std::int64_t n) {
  std::string out = std::to_string(n);
  for (auto at = static_cast<std::ptrdiff_t>(out.size()) - 3; at > 0; at -= 3) {
    out.insert(static_cast<std::size_t>(at), ",");
  }
  return out;
}

void print_ports(std::ostream& out, const char* title,
                 const std::vector<ModelInfo::Operand>& ports) {
  out << title << "\n";
  std::size_t width = 0;
  for (const auto& port : ports) width = std::max(width, one_line(port.name).size());
  for (const auto& port : ports) {
    out << fmt::format("  {:<{}}  {}\n", one_line(port.name), width, text_of(port));
  }
}

void print(std::ostream& out, const InfoOptions& options, const ModelInfo& info, const Work& work) {
  out << fmt::format("{}  {}\n", one_line(options.model), one_line(kind_of(info)));
  if (!info.name.empty()) out << "graph '" << one_line(info.name) << "'\n";
  print_ports(out, "inputs", info.inputs);
  print_ports(out, "outputs", info.outputs);

  std::vector<ModelInfo::Operator> operators = info.operators;
  std::stable_sort(operators.begin(), operators.end(),
                   [](const auto& a, const auto& b) { return a.count > b.count; });
  std::size_t width = 0;
  std::int64_t count = 0;
  bool lacking = false;
  for (const auto& op : operators) {
    width = std::max(width, one_line(op.name).size());
    count += op.count;
    lacking |= !op.unsupported.empty();
  }
  out << fmt::format("operators: {} of {} kinds\n", count, operators.size());
  for (const auto& op : operators) {
    out << fmt::format("  {:<{}}  {:>5}{}\n", one_line(op.name), width, op.count,
                       op.unsupported.empty() ? "" : "  not supported");
  }
  if (lacking) out << "not supported\n";
  for (const auto& op : operators) {
    if (!op.unsupported.empty()) {
      out << fmt::format("  {:<{}}  {}\n", one_line(op.name), width, one_line(op.unsupported));
    }
  }
  out << fmt::format("parameters  {}, {:.1f} MB\n", grouped(info.parameters),
                     static_cast<double>(info.parameter_bytes) / 1e6);
  if (work.flops.has_value()) {
    out << fmt::format("a run       {:.3f} GFLOP\n", *work.flops / 1e9);
  } else {
    out << "a run       not known: " << one_line(work.unknown) << "\n";
  }
}

Json json_of(const std::vector<ModelInfo::Operand>& ports) {
  Json out = Json::array();
  for (const auto& port : ports) {
    Json one;
    one["name"] = port.name;
    one["type"] = port.dtype.has_value() ? Json(dtype_name(*port.dtype)) : Json(nullptr);
    one["shape"] = nullptr;
    if (port.has_shape) {
      one["shape"] = Json::array();
      for (const ModelDim& dim : port.dims) {
        one["shape"].push_back(dim.extent >= 0 ? Json(dim.extent) : Json(text_of(dim)));
      }
    }
    out.push_back(std::move(one));
  }
  return out;
}

Json json_of(const InfoOptions& options, const ModelInfo& info, const Work& work) {
  Json out;
  out["model"] = options.model;
  out["format"] = info.format;
  out["version"] = info.version;
  out["opsets"] = Json::object();
  for (const auto& [domain, version] : info.opsets) out["opsets"][domain] = version;
  out["graph"] = info.name;
  out["inputs"] = json_of(info.inputs);
  out["outputs"] = json_of(info.outputs);
  out["operators"] = Json::array();
  for (const auto& op : info.operators) {
    Json one;
    one["name"] = op.name;
    one["count"] = op.count;
    if (!op.unsupported.empty()) one["unsupported"] = op.unsupported;
    out["operators"].push_back(std::move(one));
  }
  out["parameters"] = info.parameters;
  out["parameter_bytes"] = info.parameter_bytes;
  out["flops"] = work.flops.has_value() ? Json(*work.flops) : Json(nullptr);
  if (!work.unknown.empty()) out["flops_unknown"] = work.unknown;
  return out;
}

int run(InfoOptions options, std::ostream& out) {
  options.generated_weights = is_param_file(options.model);  // none are wanted
  const ModelInfo info = inspect_model(options.model);
  const Work work = work_of(options, info);
  if (options.json) {
    out << json_text(json_of(options, info, work)) << "\n";
  } else {
    print(out, options, info, work);
  }
  return 0;
}

}  // namespace

Command add_info(CLI::App& app, const Streams& streams) {
  auto options = std::make_shared<InfoOptions>();
  CLI::App* command = app.add_subcommand(
      "info", "Tell what a model file holds: inputs, outputs, operators, parameters, work");
  command->footer(
      "A run's GFLOP count a multiplication and an addition as two, without what a plan pads;\n"
      "they need the extents of all inputs: --shape binds what the file leaves open.");
  add_model_file(command, *options);
  command->add_flag("--json", options->json, "Print JSON and nothing else");
  std::ostream& out = streams.out;
  return {command, [options, &out] { return run(*options, out); }};
}

}  // namespace stowage::cli
