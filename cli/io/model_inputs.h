// SPDX-License-Identifier: Apache-2.0
// What a model file says about its inputs, before their free extents are bound.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stowage::cli {

struct ModelInput {
  std::string name;
  bool has_shape = false;
  std::vector<std::int64_t> extents;  ///< negative: free
};

/// Inputs that are no weights, in the order of the file. Throws Error(bad_input, limit), and
/// Error(unsupported) for a model that is neither ONNX nor TFLite by its name.
std::vector<ModelInput> model_inputs(const std::string& path);

/// "[1, 3, ?, ?]"
std::string extents_text(const std::vector<std::int64_t>& extents);

}  // namespace stowage::cli
