// SPDX-License-Identifier: Apache-2.0
// Deployment files: a model, its inputs and outputs and its validation data in one YAML file with
// MACE's keys.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/compare.h"
#include "cli/data.h"
#include "cli/model.h"
#include "stowage/error.h"

namespace stowage::cli {

struct DeployedTensor {
  std::string name;
  int line = 0;  ///< where it is named
  int shape_line = 0, data_line = 0;
  /// In the order of `format`.
  std::optional<std::vector<std::int64_t>> shape;
  std::optional<SaidFormat> format;  ///< nothing: not said, the model's own
  DType dtype = DType::f32;          ///< of data without a header
  double least = -1, most = 1;       ///< of random data
  std::string data;                  ///< file; empty: none
};

/// One model of a deployment file. Paths in it are ready to be opened.
struct Deployment {
  std::string file, name, model, weights, sha256;
  int model_line = 0, sha256_line = 0, platform_line = 0, data_type_line = 0;
  DataFormat platform = DataFormat::none;  ///< nchw: onnx, nhwc: tflite, none: not said
  std::vector<DeployedTensor> inputs, outputs;
  /// Cosine similarity that an output must reach; computed on a device, and MACE's defaults.
  double threshold = 0.999, device_threshold = 0.995;
  std::optional<int> threads;
  /// What DeviceArguments would say.
  std::optional<std::string> device, memory, data_type;
  bool or_cpu = false, winograd = true;
  std::string preprocess;            ///< what --preprocess would say
  std::vector<std::string> ignored;  ///< MACE's keys that mean nothing here
  /// "FILE:LINE: why" of values that have no effect here.
  std::vector<std::string> notes;
  /// Why Stowage cannot run it; thrown by verify_deployment.
  std::optional<Error> refusal;
};

/// --deploy and --model; positional arguments are no longer required.
void add_deploy_options(CLI::App* command, std::string& file, std::string& model);

/// Throws Error(usage) unless exactly one of `instead` and --deploy is given.
void check_deploy_options(std::string_view command, std::string_view instead, bool given,
                          const std::string& file, const std::string& model);

/// All models of the file, none of them opened. Throws Error(bad_input) "FILE:LINE: why",
/// Error(limit).
std::vector<Deployment> read_deployments(const std::string& file);

/// The model of that name, or the only one. Throws Error(usage).
const Deployment& choose_deployment(const std::vector<Deployment>& list, const std::string& name);

/// Throws Error(unsupported, device) for what cannot run here, Error(bad_input) when the model is
/// missing or has another SHA-256.
void verify_deployment(const Deployment& deployment);

/// The model of `file` that is called `name`, verified, as options.model; nothing when `file` is
/// empty.
std::optional<Deployment> take_deployment(const std::string& file, const std::string& name,
                                          ModelOptions& options);

/// Threads, device and formats become options, where the command line does not say otherwise, and
/// how the device keeps tensors, where there is one.
/// Throws Error(bad_input) for an input or an output that the model has not.
void apply_deployment(const Deployment& deployment, const ModelPorts& model, ModelOptions& options);

/// --shape, and the shapes of the deployment, if there is one, in the model's order: that of each
/// ModelInput::format, or the other one where only that fits. Throws Error(usage, bad_input).
Shapes bound_shapes(const ModelOptions& options, const Deployment* deployment, ModelPorts& model);

/// The validation data of an input, or random numbers of its range: the same in every run.
/// Throws Error(bad_input, limit), Error(usage) for an input that the deployment does not name.
InputData deployed_data(const Deployment& deployment, const ModelInput& input);

/// Throws Error(bad_input) for an output of another shape than the deployment says.
void check_outputs(const Deployment& deployment, std::span<const Port> ports);

/// What of the file has no effect, a line "note    ..." each, or nothing. `arguments` are those
/// after open_device.
std::string deployment_notes(const Deployment& deployment, const DeviceArguments& arguments);

/// The sentences of such lines.
std::vector<std::string> note_list(const std::string& lines);

struct DeploymentCheck {
  struct Output {
    std::string name, against;  ///< what it is compared with
    Closeness closeness;
  };

  std::string problem;  ///< empty: none
  std::string notes;    ///< a line for each
  std::vector<Output> outputs;
};

/// Runs the model on its validation data. Outputs must reach `cosine`, or what the file says.
/// Where it throws, `out` has what came before.
void check_deployment(const Deployment& deployment, ModelOptions options,
                      const std::optional<double>& cosine, DeploymentCheck& out);

}  // namespace stowage::cli
