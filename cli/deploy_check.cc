// SPDX-License-Identifier: Apache-2.0
// Deployments at work: their data, and whether the model computes what it should.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <random>
#include <sstream>

#include "base/checked.h"
#include "base/text.h"
#include "cli/deploy.h"
#include "cli/io/file.h"
#include "cli/io/npy.h"
#include "cli/io/preprocess_words.h"
#include "cli/outputs.h"
#include "stowage/convert.h"

namespace stowage::cli {
namespace {

template <class... Parts>
[[noreturn]] void refuse_at(const Deployment& deployment, int line, const Parts&... parts) {
  fail(ErrorCode::bad_input, deployment.file, ":", line, ": ", parts...);
}

template <class... Parts>
[[noreturn]] void refuse(const Deployment& deployment, const DeployedTensor& tensor,
                         const Parts&... parts) {
  refuse_at(deployment, tensor.line, parts...);
}

/// What `f` gives; an error of a file that the tensor's data names is told with that line.
template <class F>
auto with_line(const Deployment& deployment, const DeployedTensor& tensor, F f) {
  try {
    return f();
  } catch (const Error& error) {
    fail(error.code(), deployment.file, ":", tensor.data_line, ": ", error.sentence());
  }
}

const DeployedTensor* find(const std::vector<DeployedTensor>& tensors, const std::string& name) {
  for (const DeployedTensor& tensor : tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

std::string listed(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += text(all.empty() ? "" : ", ", "'", name, "'");
  return all;
}

/// What is said of the format, or that nothing is.
SaidFormat said(const DeployedTensor& tensor) { return tensor.format.value_or(SaidFormat{}); }

/// The extents of data for an input, in the order of its format.
std::vector<std::int64_t> data_extents(const Deployment& deployment, const DeployedTensor& tensor,
                                       const ModelInput& input) {
  if (tensor.shape.has_value()) return *tensor.shape;
  std::vector<std::int64_t> extents = input.extents;
  if (!extents.empty() && extents[0] < 0) extents[0] = 1;
  const bool free = std::any_of(extents.begin(), extents.end(), [](auto e) { return e < 0; });
  if (!input.has_shape || free) {
    refuse(deployment, tensor, "input '", tensor.name, "' of shape ", extents_text(input.extents),
           " needs a shape; write input_shapes");
  }
  std::vector<std::int64_t> out;
  const int rank = static_cast<int>(extents.size());
  for (const int i : format_order(said(tensor).format, input.format, rank)) {
    out.push_back(extents[static_cast<std::size_t>(i)]);
  }
  return out;
}

std::int64_t data_bytes(const std::vector<std::int64_t>& extents, DType dtype) {
  std::int64_t bytes = dtype_bytes(dtype);
  for (const std::int64_t e : extents) bytes = checked_mul(bytes, e);
  if (bytes > Limits{}.tensor_bytes)
    fail(ErrorCode::limit, "data of ", bytes, " bytes is too much");
  return bytes;
}

bool is_raw(const std::string& file) {
  const std::string extension = extension_of(file);
  return extension == "raw" || extension == "bin";
}

Tensor read_raw(const std::string& path, DType dtype, const std::vector<std::int64_t>& extents) {
  const InputFile file(path);
  const std::int64_t bytes = data_bytes(extents, dtype);
  if (file.size() != bytes) {
    fail(ErrorCode::bad_input, "'", path, "' has ", file.size(), " bytes, but ", dtype_name(dtype),
         " ", std::span<const std::int64_t>(extents), " has ", bytes);
  }
  Tensor tensor(dtype, Shape::unnamed(extents));
  file.read(0, {tensor.data(), tensor.bytes()});
  return tensor;
}

template <class T, class F>
void fill(Tensor& tensor, F&& next) {
  for (T& cell : tensor.as<T>()) cell = static_cast<T>(next());
}

Tensor random_tensor(const DeployedTensor& tensor, const std::vector<std::int64_t>& extents) {
  data_bytes(extents, tensor.dtype);
  // The standard fixes what the engine returns, but not what its distributions do.
  std::mt19937 engine(1);
  const auto real = [&] {
    const double unit = static_cast<double>(engine() >> 8) / (1 << 24);
    return tensor.least + unit * (tensor.most - tensor.least);
  };
  const Shape shape = Shape::unnamed(extents);
  if (tensor.dtype == DType::f32 || tensor.dtype == DType::f16) {
    Tensor out(DType::f32, shape);
    fill<float>(out, real);
    return tensor.dtype == DType::f32 ? std::move(out) : convert(out, DType::f16, out.layout());
  }
  Tensor out(tensor.dtype, shape);
  const auto whole = [&](double least, double most) {
    return [&real, least, most] { return std::clamp(std::floor(real() + 0.5), least, most); };
  };
  switch (tensor.dtype) {
    case DType::i64:
      fill<std::int64_t>(out, whole(-0x1p62, 0x1p62));
      break;
    case DType::i32:
      fill<std::int32_t>(out, whole(INT32_MIN, INT32_MAX));
      break;
    case DType::i16:
      fill<std::int16_t>(out, whole(INT16_MIN, INT16_MAX));
      break;
    case DType::i8:
      fill<std::int8_t>(out, whole(INT8_MIN, INT8_MAX));
      break;
    default:
      fill<std::uint8_t>(out, whole(0, tensor.dtype == DType::boolean ? 1 : UINT8_MAX));
  }
  return out;
}

/// Shapes that differ only in axes of one element hold the same elements in the same order.
std::vector<std::int64_t> without_ones(const Shape& shape) {
  std::vector<std::int64_t> out;
  for (const std::int64_t e : shape.extents()) {
    if (e != 1) out.push_back(e);
  }
  return out;
}

/// A model with its data, to be run under one plan or another.
class Case {
 public:
  Case(const Deployment& deployment, const ModelOptions& options)
      : deployment_(deployment), options_(options) {
    apply_deployment(deployment, model_ports(deployment.model), options_);
    expect_device(options_);
    open_device(options_);
  }

  /// The outputs that the deployment names, in its formats.
  std::vector<Tensor> run() const { return run(options_); }

  /// What the CPU computes in the order of the file.
  std::vector<Tensor> expected() const {
    ModelOptions options = options_;
    options.planner = "source";
    options.exact = true;
    options.device = "cpu";
    options.device_limits = "";
    options.opened = nullptr;
    return run(options);
  }

  const ModelOptions& options() const { return options_; }

 private:
  std::vector<Tensor> run(const ModelOptions& options) const {
    ModelPorts model = model_ports(deployment_.model);
    const PreprocessWords* usual = preprocess_named(deployment_.preprocess);
    const Preprocess pictures = usual == nullptr ? Preprocess{} : parse_preprocess(*usual);
    std::vector<InputData> data;
    const auto bind = [&] {
      Shapes shapes = bound_shapes(options, &deployment_, model);
      data.clear();
      for (const ModelInput& input : model.inputs) {
        data.push_back(deployed_data(deployment_, input));
      }
      bind_data(options, pictures, model, data, shapes);
      return shapes;
    };
    const Loaded loaded = load_model(options, prepare_model(options, model, bind));
    Session session(loaded.plan, loaded.device);
    check_outputs(deployment_, session.outputs());
    for (const InputData& item : data) {
      give_input(session, item, pictures, said_format(loaded.input_formats, item.name), false);
    }
    session.run();
    std::vector<Tensor> outputs;
    for (const DeployedTensor& output : deployment_.outputs) {
      const int index = session.output_index(output.name);
      const Port& port = session.outputs()[static_cast<std::size_t>(index)];
      outputs.push_back(
          take_output(session, index, format_of(said(output), output.name, port.shape)));
    }
    return outputs;
  }

  const Deployment& deployment_;
  ModelOptions options_;
};

Tensor expected_output(const Deployment& deployment, const DeployedTensor& output,
                       const Tensor& actual) {
  const Shape& want = actual.shape();
  if (is_raw(output.data)) {
    return with_line(deployment, output, [&] {
      return read_raw(output.data, output.dtype, {want.extents().begin(), want.extents().end()});
    });
  }
  InputData data =
      with_line(deployment, output, [&] { return read_input(output.name, output.data); });
  if (!data.tensor.has_value()) {
    refuse_at(deployment, output.data_line, "'", output.data,
              "' is a picture; give .npy, .pb or .raw");
  }
  if (without_ones(data.tensor->shape()) != without_ones(want)) {
    refuse_at(deployment, output.data_line, "'", output.data, "' has shape ",
              data.tensor->shape().extents(), " but output '", output.name, "' has ",
              want.extents());
  }
  return *std::move(data.tensor);
}

}  // namespace

void apply_deployment(const Deployment& deployment, const ModelPorts& model,
                      ModelOptions& options) {
  if (deployment.platform != DataFormat::none && deployment.platform != model.source) {
    fail(ErrorCode::bad_input, deployment.file, ":", deployment.platform_line, ": '",
         deployment.model, "' is a model of ", model.source == DataFormat::nhwc ? "TFLite" : "ONNX",
         "; write platform: ", model.source == DataFormat::nhwc ? "tflite" : "onnx");
  }
  const std::vector<std::string> names = names_of(model.inputs);
  if (options.weights.empty()) options.weights = deployment.weights;
  if (!options.threads.has_value()) options.threads = deployment.threads;
  if (!options.device.has_value()) {
    options.device = deployment.device;
    options.or_cpu = deployment.or_cpu;
  }
  if (on_device(options)) {
    if (!options.memory.has_value()) options.memory = deployment.memory;
    if (!options.data_type.has_value()) options.data_type = deployment.data_type;
  }
  options.winograd = deployment.winograd;
  if (!deployment.winograd) options.exact = true;
  options.deployed = true;
  for (const DeployedTensor& tensor : deployment.inputs) {
    if (!tensor.shape.has_value() || !options.shapes_from.empty()) continue;
    options.shapes_from = text(deployment.file, ":", tensor.shape_line);
  }
  for (const DeployedTensor& tensor : deployment.inputs) {
    if (std::find(names.begin(), names.end(), tensor.name) == names.end()) {
      refuse(deployment, tensor, "the model has no input '", tensor.name, "'; it has ",
             listed(names));
    }
    if (tensor.format.has_value()) options.deployed_inputs[tensor.name] = *tensor.format;
  }
  for (const DeployedTensor& tensor : deployment.outputs) {
    if (std::find(model.outputs.begin(), model.outputs.end(), tensor.name) == model.outputs.end()) {
      refuse(deployment, tensor, "the model has no output '", tensor.name, "'; it has ",
             listed(model.outputs));
    }
    if (tensor.format.has_value()) options.deployed_outputs[tensor.name] = *tensor.format;
  }
}

Shapes bound_shapes(const ModelOptions& options, const Deployment* deployment, ModelPorts& model) {
  Shapes shapes = parse_shapes(options.shapes, model.inputs);
  if (deployment == nullptr) return shapes;
  for (const DeployedTensor& tensor : deployment->inputs) {
    if (!tensor.shape.has_value() || shapes.count(tensor.name) > 0) continue;
    ModelInput& input = *std::find_if(model.inputs.begin(), model.inputs.end(),
                                      [&](const ModelInput& i) { return i.name == tensor.name; });
    const std::vector<std::int64_t>& shape = *tensor.shape;
    if (input.has_shape && shape.size() != input.extents.size()) {
      refuse_at(*deployment, tensor.shape_line, "input '", tensor.name, "' has ",
                input.extents.size(), " axes, ", extents_text(input.extents), ", but this shape ",
                shape.size());
    }
    auto extents = in_model_order(input, said(tensor), shape);
    const auto format = fitting_format(input, shape);
    if (!extents.has_value() && said(tensor).format == DataFormat::none && format.has_value()) {
      refuse_at(*deployment, tensor.shape_line, "input '", tensor.name, "' wants ",
                extents_text(input.extents), "; if the shape is in ", data_format_name(*format),
                ", write input_data_formats: ", data_format_name(*format));
    }
    // Shapes may replace those of the model.
    if (!extents.has_value()) extents = turned(shape, said(tensor).format, input.format);
    shapes[tensor.name] = *std::move(extents);
  }
  return shapes;
}

InputData deployed_data(const Deployment& deployment, const ModelInput& input) {
  const DeployedTensor* tensor = find(deployment.inputs, input.name);
  if (tensor == nullptr) {
    fail(ErrorCode::usage, "'", deployment.file, "' does not name input '", input.name,
         "' of the model; add it to input_tensors, or use --input NAME=FILE");
  }
  InputData data{tensor->name, tensor->data, std::nullopt, std::nullopt};
  if (!tensor->data.empty() && !is_raw(tensor->data)) {
    return with_line(deployment, *tensor, [&] { return read_input(input.name, tensor->data); });
  }
  const std::vector<std::int64_t> extents = data_extents(deployment, *tensor, input);
  if (tensor->data.empty()) {
    data.file = fmt::format("random numbers, {:g} to {:g}", tensor->least, tensor->most);
    data.tensor = random_tensor(*tensor, extents);
  } else {
    data.tensor = with_line(deployment, *tensor,
                            [&] { return read_raw(tensor->data, tensor->dtype, extents); });
  }
  return data;
}

void check_outputs(const Deployment& deployment, std::span<const Port> ports) {
  const std::vector<std::string> names = names_of(ports);
  for (const DeployedTensor& output : deployment.outputs) {
    if (!output.shape.has_value()) continue;
    const auto at = std::find(names.begin(), names.end(), output.name);
    const Port& port = ports[static_cast<std::size_t>(at - names.begin())];
    const DataFormat format = format_of(said(output), output.name, port.shape);
    const std::vector<std::int64_t> want = turned(*output.shape, format, port.data_format);
    const std::span<const std::int64_t> have = port.shape.extents();
    if (std::equal(have.begin(), have.end(), want.begin(), want.end())) continue;
    refuse_at(deployment, output.shape_line, "output '", output.name, "' has shape ", have,
              " in the model's order, not ", std::span<const std::int64_t>(want));
  }
}

std::string deployment_notes(const Deployment& deployment, const DeviceArguments& arguments) {
  std::string all, out;
  for (const std::string& key : deployment.ignored) all += text(all.empty() ? "" : ", ", key);
  const auto note = [&](const auto&... parts) { out += text("note    ", parts..., "\n"); };
  const std::string file = one_line(deployment.file);
  if (!all.empty()) note(file, ": nothing here depends on ", all);
  for (const std::string& line : deployment.notes) note(one_line(line));
  if (!on_device(arguments) && deployment.data_type == "fp16_fp32") {
    note(file, ":", deployment.data_type_line, ": the CPU keeps fp32, whatever data_type says");
  }
  if (!arguments.missing.empty()) note("the CPU computes: ", one_line(arguments.missing));
  return out;
}

std::vector<std::string> note_list(const std::string& lines) {
  std::vector<std::string> out;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) {
    out.push_back(line.substr(line.find_first_not_of(' ', line.find(' '))));
  }
  return out;
}

void check_deployment(const Deployment& deployment, ModelOptions options,
                      const std::optional<double>& cosine, DeploymentCheck& out) {
  verify_deployment(deployment);
  options.model = deployment.model;
  const Case model(deployment, options);
  const bool device = on_device(model.options());
  const double threshold =
      cosine.value_or(device ? deployment.device_threshold : deployment.threshold);
  out.notes = deployment_notes(deployment, model.options());
  const std::vector<Tensor> actual = model.run();
  std::vector<Tensor> computed;
  for (std::size_t k = 0; k < actual.size(); ++k) {
    const DeployedTensor& output = deployment.outputs[k];
    const bool kept = !output.data.empty();
    if (!kept && !device && model.options().planner == "source") {
      fail(ErrorCode::usage,
           "without validation_outputs_data the outputs are compared with "
           "those of --planner source; choose another planner");
    }
    if (!kept && computed.empty()) computed = model.expected();
    const std::string other = kept     ? std::filesystem::path(output.data).filename().string()
                              : device ? "--device cpu --planner source"
                                       : "--planner source";
    const Tensor expected = kept ? expected_output(deployment, output, actual[k]) : computed[k];
    const Closeness close = closeness(actual[k], expected);
    out.outputs.push_back({output.name, other, close});
    if (out.problem.empty()) {
      const std::string problem = dissimilarity(close, other, threshold);
      if (!problem.empty()) out.problem = text("output '", output.name, "' ", problem);
    }
  }
}

}  // namespace stowage::cli
