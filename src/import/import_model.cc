// SPDX-License-Identifier: Apache-2.0
// import_model: what a file is, is decided by its bytes, not by its name.
#include <algorithm>
#include <new>
#include <stdexcept>

#include "base/text.h"
#include "base/trail.h"
#include "import/readers.h"
#include "import/tflite_file.h"

namespace stowage {

void check_names(const ImportOptions& options, std::span<const std::string> inputs) {
  const auto check = [&](const std::string& name) {
    if (std::ranges::find(inputs, name) != inputs.end()) return;
    std::string all;
    for (const std::string& input : inputs) all.append(all.empty() ? "" : ", ").append(input);
    fail(ErrorCode::usage, "the model has no input '", name, "'; its inputs are: ", all);
  };
  for (const auto& [name, extents] : options.shapes) check(name);
  for (const auto& [name, tensor] : options.known) check(name);
}

std::shared_ptr<Graph> import_model(const std::string& path, const ImportOptions& options) {
  const Trail trail("importing", path);
  try {
    const InputFile file = open_model(path, options.limits.file_bytes);
    return is_tflite(file) ? import_tflite(file, options) : import_onnx(file, options);
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::limit, "the model does not fit into memory");
  } catch (const std::length_error&) {
    fail(ErrorCode::limit, "the model does not fit into memory");
  }
}

}  // namespace stowage
