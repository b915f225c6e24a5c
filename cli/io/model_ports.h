// SPDX-License-Identifier: Apache-2.0
// What a model file says about its inputs and outputs, before free extents are bound.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stowage/data_format.h"

namespace stowage::cli {

struct ModelInput {
  std::string name;
  bool has_shape = false;
  std::vector<std::int64_t> extents;  ///< negative: free
  /// In which the model has it, if it has a data format. Only the operators tell; until the model
  /// is imported this is what files of its kind have.
  DataFormat format = DataFormat::nchw;
  bool hint = false;  ///< the file's extents bind nobody: data of any shape replaces them (ncnn)
};

struct ModelPorts {
  std::vector<ModelInput> inputs;  ///< that are no weights, in the order of the file
  std::vector<std::string> outputs;
  DataFormat source = DataFormat::nchw;  ///< the order in which the file keeps images
};

/// Throws Error(bad_input, limit), and Error(unsupported) for a model that by its name is neither
/// ONNX nor TFLite nor ncnn.
ModelPorts model_ports(const std::string& path);

/// A .param of ncnn by its name: "x.param", "x.param.bin".
bool is_param_file(std::string_view path);

/// "[1, 3, ?, ?]"
std::string extents_text(const std::vector<std::int64_t>& extents);

}  // namespace stowage::cli
