// SPDX-License-Identifier: Apache-2.0
// What run, plan, bench and check share: the options that name and bind a model, and the way from
// its file to a session.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/cli.h"
#include "cli/io/model_doors.h"
#include "graph/graph.h"
#include "stowage/model.h"

namespace stowage::cli {

using Shapes = std::map<std::string, std::vector<std::int64_t>>;
using Formats = std::map<std::string, DataFormat>;

struct ModelOptions {
  std::string model, device = "cpu", planner = "optimal", rates;
  std::vector<std::string> shapes, input_formats, output_formats;
  std::optional<int> threads;
};

/// --shape, --device, --threads, --planner, --rates.
void add_model_options(CLI::App* command, ModelOptions& options);
/// --input-format, --output-format.
void add_format_options(CLI::App* command, ModelOptions& options);
/// --device and --threads alone.
void add_device_options(CLI::App* command, std::string& device, std::optional<int>& threads);

/// Throws Error(usage) for what is no device, Error(device) for one that is not here.
void check_device(const std::string& device);

/// As given, or every CPU that this process may use.
int thread_count(const std::optional<int>& threads);

PlanOptions::Planner parse_planner(const std::string& planner);

/// "NAME=VALUE" where the name may hold '=' itself: the longest of `names` that fits, or what
/// stands before the first '='. The name is empty when there is no '='.
std::pair<std::string, std::string> split_assignment(const std::string& text,
                                                     std::span<const std::string> names);

/// "1,3,224,224", "1x3x224x224", "[1, 3, 224, 224]". Throws Error(usage).
std::vector<std::int64_t> parse_extents(const std::string& text);

/// Binds --shape to inputs; a single input needs no name. Throws Error(usage).
Shapes parse_shapes(const std::vector<std::string>& list, std::span<const ModelInput> inputs);

/// NAME=NCHW|NHWC|NONE, for ports of these names; a single port needs no name.
Formats parse_formats(std::string_view option, const std::vector<std::string>& list,
                      std::span<const std::string> names);

std::vector<std::string> names_of(std::span<const ModelInput> inputs);
std::vector<std::string> names_of(std::span<const Port> ports);

/// Of a graph that is not planned yet.
std::vector<Port> output_ports(const Graph& graph);

/// order[i]: which axis of the model stands at place i of a tensor in `format`; the identity
/// unless the format differs from the model's. Throws Error(usage) for a rank other than 4.
std::vector<int> format_order(DataFormat format, DataFormat model, int rank,
                              const std::string& name);

/// A model ready to be planned.
struct Prepared {
  std::shared_ptr<Graph> graph;
  PlanOptions options;  ///< of --planner, --threads, --rates and the formats of the doors
  double import_ms = 0;
};

/// import_model and simplify. Inputs that are `known` become constants.
Prepared prepare_model(const ModelOptions& options, const Shapes& shapes,
                       const std::map<std::string, Tensor>& known = {});

struct Loaded {
  std::shared_ptr<const Plan> plan;
  DataFormat source_format = DataFormat::nchw;
  double import_ms = 0, plan_ms = 0;
};

/// prepare_model and make_plan.
Loaded load_model(const ModelOptions& options, const Shapes& shapes,
                  const std::map<std::string, Tensor>& known = {});

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
