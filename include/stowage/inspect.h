// SPDX-License-Identifier: Apache-2.0
// What a model file holds, without importing or planning it. In the library stowage::import.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stowage/data_format.h"
#include "stowage/model.h"
#include "stowage/tensor.h"

namespace stowage {

struct ModelInfo {
  std::string format;                           ///< "ONNX", "TFLite", "ncnn"
  std::int64_t version = 0;                     ///< ONNX: of the IR; TFLite: of the schema; ncnn: 0
  std::map<std::string, std::int64_t> opsets;   ///< ONNX: by domain, its own is "ai.onnx"
  std::string name;                             ///< of the graph; may be empty
  DataFormat source_format = DataFormat::nchw;  ///< in which files of this kind keep images

  /// A model input or output.
  struct Operand {
    std::string name;
    std::optional<DType> dtype;  ///< nothing: of a type that is not supported
    bool has_shape = false;
    std::vector<ModelDim> dims;  ///< in the order of the file
  };

  std::vector<Operand> inputs;  ///< in the order of the file, without weights listed among them
  std::vector<Operand> outputs;

  struct Operator {
    std::string name;  ///< "Conv"; "com.example.Snake" of another domain; TFLite: "custom.Snake"
    int count = 0;
    /// Why no model with it can be imported; empty where there is no such reason. import_model
    /// looks at types and attributes besides.
    std::string unsupported;
  };

  /// By name. Constants are parameters, no operators.
  std::vector<Operator> operators;

  std::int64_t parameters = 0;       ///< elements of all tensors that the file brings
  std::int64_t parameter_bytes = 0;  ///< and what they take there; of strings nothing is counted
};

/// Reads an ONNX or a TFLite file or ncnn's .param, but no weights: those are as large as it claims
/// (ncnn's in 32 bits each). Operators that are not supported are listed with the others. Throws
/// Error(bad_input) for what is no model, Error(unsupported) for a TFLite file of another version,
/// Error(limit).
ModelInfo inspect_model(const std::string& path, const Limits& limits = {});

/// Reads a file that holds one ONNX TensorProto (.pb); row-major, axes a, b, c, ... `name`, when
/// given, becomes the tensor's. Throws Error(bad_input, unsupported, limit).
Tensor tensor_from_pb_file(const std::string& path, const Limits& limits = {},
                           std::string* name = nullptr);

}  // namespace stowage
