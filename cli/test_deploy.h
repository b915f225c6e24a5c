// SPDX-License-Identifier: Apache-2.0
// Deployment files for tests.
#pragma once

#include <string>
#include <string_view>

namespace stowage::cli {

inline bool holds(const std::string& text, std::string_view words) {
  return text.find(words) != std::string::npos;
}

/// A model of one subgraph; `more` are lines of the subgraph.
inline std::string deployment(std::string_view more = "", std::string_view model_lines = "") {
  return "models:\n  m:\n    model_file_path: m.onnx\n" + std::string(model_lines) +
         "    subgraphs:\n      - input_tensors: x\n        output_tensors: y\n" +
         std::string(more);
}

}  // namespace stowage::cli
