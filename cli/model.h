// SPDX-License-Identifier: Apache-2.0
// What run, plan, bench and check share: the options that name and bind a model, and the way from
// its file to a session.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/cli.h"
#include "cli/device.h"
#include "cli/formats.h"
#include "cli/io/model_ports.h"
#include "stowage/model.h"

namespace stowage::cli {

using Shapes = std::map<std::string, std::vector<std::int64_t>>;

struct ModelOptions : DeviceArguments {
  std::string model, planner = "optimal", rates;
  std::string weights;             ///< of an ncnn model, where they do not lie beside it
  bool generated_weights = false;  ///< likewise, none are read
  bool exact = false;              ///< PlanOptions::exact
  std::vector<std::string> shapes, input_formats, output_formats;
  std::optional<int> threads;
  /// Of a deployment file; what the command line says wins.
  Formats deployed_inputs, deployed_outputs;
  bool deployed = false;    ///< there is one
  std::string shapes_from;  ///< "app.yml:7", where it gives the first shape
};

/// MODEL, --shape.
void add_model_file(CLI::App* command, ModelOptions& options);
/// Those, --weights, --generated-weights, --device, --threads, --planner, --exact, --rates.
void add_model_options(CLI::App* command, ModelOptions& options);
/// --input-format, --output-format.
void add_format_options(CLI::App* command, ModelOptions& options);
/// As given, or every CPU that this process may use.
int thread_count(const std::optional<int>& threads);

PlanOptions::Planner parse_planner(const std::string& planner);

/// "NAME=VALUE" where the name may hold '=' itself: the longest of `names` that fits, or what
/// stands before the first '='. No name when there is no '='.
std::pair<std::optional<std::string>, std::string> split_assignment(
    const std::string& text, std::span<const std::string> names);

/// "'x', 'y'", or "none".
std::string listed(std::span<const std::string> names);

/// NAME=VALUE with one of these names, or VALUE alone when there is one. A name may be empty.
/// Throws Error(usage).
std::pair<std::string, std::string> assign(std::string_view option, const std::string& item,
                                           std::span<const std::string> names);

/// "1,3,224,224", "1x3x224x224", "[1, 3, 224, 224]". Throws Error(usage).
std::vector<std::int64_t> parse_extents(const std::string& text);

/// Binds --shape to inputs; a single input needs no name. Throws Error(usage).
Shapes parse_shapes(const std::vector<std::string>& list, std::span<const ModelInput> inputs);

/// --input-format, and what a deployment file says.
Formats input_formats(const ModelOptions& options, std::span<const std::string> names);

std::vector<std::string> names_of(std::span<const ModelInput> inputs);
std::vector<std::string> names_of(std::span<const Port> ports);

/// A model ready to be planned.
struct Prepared {
  std::shared_ptr<Graph> graph;
  PlanOptions options;  ///< of --planner, --threads, --rates and the formats
  /// What the user says of inputs and outputs, by name.
  std::map<std::string, DataFormat> input_formats, output_formats;
  double import_ms = 0;
};

/// import_model and simplify. Inputs that are `known` become constants. Throws what they do, and
/// Error(usage, bad_input) for a format of a tensor that has none.
Prepared prepare_model(const ModelOptions& options, const Shapes& shapes,
                       const std::map<std::string, Tensor>& known = {});

/// The same where shapes are given in formats of the user: what lies where in the model is known
/// only when its operators have named the axes, and these need shapes. So each input is taken to
/// lie as files of its kind do, then as the names say. `bind` gives the shapes for the present
/// ModelInput::format, and may change it.
Prepared prepare_model(const ModelOptions& options, ModelPorts& model,
                       const std::function<Shapes()>& bind);

struct Loaded {
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<Device> device;  ///< for a Session of the plan; null: the CPU
  std::map<std::string, DataFormat> input_formats, output_formats;  ///< as in Prepared
  double import_ms = 0, plan_ms = 0;
};

/// make_plan.
Loaded load_model(const ModelOptions& options, Prepared prepared);

/// What the user says of a port, or none.
DataFormat said_format(const std::map<std::string, DataFormat>& formats, const std::string& name);

/// "squeezenet" of "models/squeezenet.onnx", or the folder's name of ".../squeezenet/model.onnx".
std::string model_name(const std::string& path);

/// The tensor seen as the port's shape: its axis i is the port's axis order[i].
/// Throws Error(bad_input) when the extents differ.
TensorView view_as(const Tensor& tensor, const Port& port, const std::vector<int>& order);

class Stopwatch {
 public:
  double ms() const {
    return std::chrono::duration<double, std::milli>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace stowage::cli
