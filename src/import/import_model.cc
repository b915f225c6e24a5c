// SPDX-License-Identifier: Apache-2.0
// open_model and specialise: what a file is, is decided by its bytes, not by its name.
#include <algorithm>
#include <new>
#include <stdexcept>

#include "base/text.h"
#include "base/trail.h"
#include "import/foreign_file.h"
#include "import/ncnn_file.h"
#include "import/readers.h"
#include "import/tflite_file.h"

namespace stowage {

namespace {

template <class F>
auto within_memory(F f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::limit, "the model does not fit into memory");
  } catch (const std::length_error&) {
    fail(ErrorCode::limit, "the model does not fit into memory");
  }
}

std::shared_ptr<Model> open_file(const InputFile& file, const OpenOptions& options) {
  if (is_ncnn(file)) return open_ncnn(file, options);
  if (!options.weights.empty() || options.generate_weights) {
    fail(ErrorCode::usage, "only models of ncnn have their weights in another file");
  }
  if (is_tflite(file)) return open_tflite(file, options.limits);
  refuse_foreign(file);
  return open_onnx(file, options.limits);
}

}  // namespace

void check_names(const SpecialiseOptions& options, std::span<const ModelInput> inputs) {
  const auto check = [&](const std::string& name) {
    if (std::ranges::find(inputs, name, &ModelInput::name) != inputs.end()) return;
    std::string all;
    for (const ModelInput& input : inputs) all.append(all.empty() ? "" : ", ").append(input.name);
    fail(ErrorCode::usage, "the model has no input '", name, "'; its inputs are: ", all);
  };
  for (const auto& [name, extents] : options.shapes) check(name);
  for (const auto& [name, tensor] : options.known) check(name);
}

std::shared_ptr<const Model> open_model(const std::string& path, const OpenOptions& options) {
  const Trail trail("importing", path);
  auto model = within_memory(
      [&] { return open_file(open_input(path, options.limits.file_bytes), options); });
  model->source_ = path;
  return model;
}

std::shared_ptr<const Model> open_model(const std::string& path, const Limits& limits) {
  return open_model(path, OpenOptions{.limits = limits});
}

std::shared_ptr<const Model> open_model(std::span<const std::byte> bytes, const Limits& limits) {
  const std::string source = "a model in memory";
  const Trail trail("importing", source);
  auto model = within_memory([&] {
    const InputFile file(source, bytes);
    check_size(file, limits.file_bytes);
    return open_file(file, OpenOptions{.limits = limits});
  });
  model->source_ = source;
  return model;
}

std::shared_ptr<const Model> open_model(std::span<const std::byte> param,
                                        std::span<const std::byte> weights, const Limits& limits) {
  const std::string source = "a model in memory";
  const Trail trail("importing", source);
  auto model = within_memory([&] {
    const InputFile file(source, param);
    check_size(file, limits.file_bytes);
    if (!is_ncnn(file)) fail(ErrorCode::bad_input, "it is no .param file of ncnn");
    return open_ncnn(file, InputFile("its weights", weights), limits);
  });
  model->source_ = source;
  return model;
}

std::shared_ptr<Graph> specialise(const Model& model, const SpecialiseOptions& options) {
  const Trail trail("importing", model.source_);
  return within_memory([&] { return model.graph(options); });
}

std::shared_ptr<Graph> import_model(const std::string& path, const ImportOptions& options) {
  return specialise(
      *open_model(path, OpenOptions{options.limits, options.weights, options.generate_weights}),
      {options.shapes, options.known});
}

}  // namespace stowage
