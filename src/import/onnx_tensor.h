// SPDX-License-Identifier: Apache-2.0
// ONNX TensorProto: the weights of a model, and files that hold one tensor (.pb).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "import/untrusted.h"
#include "stowage/inspect.h"
#include "stowage/model.h"

namespace stowage {

class InputFile;
struct FileRange;

/// The dtype of TensorProto::DataType `type`. Throws Error(unsupported): "`what` 'name' holds
/// strings".
DType onnx_dtype(std::int64_t type, std::string_view what, std::string_view name);

/// A TensorProto without its elements: what it claims has been checked against the bytes that it
/// brings, so that reading it takes no more memory than a small multiple of those.
class OnnxTensor {
 public:
  OnnxTensor(const InputFile& file, const FileRange& message, const Limits& limits);

  const std::string& name() const noexcept { return name_; }

  Tensor read(const InputFile& file, const FileRange& message, ImportBudget& budget) const;

 private:
  std::string called() const;
  void check_data_size() const;
  /// Weights beside the model, in a file of their own.
  Tensor read_external(const InputFile& file, std::int64_t bytes, ImportBudget& budget) const;
  void read_typed(const InputFile& file, const FileRange& message, Tensor& into) const;

  std::string name_;
  DType dtype_ = DType::f32;
  std::vector<std::int64_t> dims_;
  std::int64_t elements_ = 1;
  int data_field_ = 0;           ///< the field that holds the elements, 0 when none does
  std::int64_t data_bytes_ = 0;  ///< of that field in the file
  std::int64_t raw_offset_ = 0;  ///< raw_data: where it lies
  bool external_ = false;
  std::string location_;
  std::int64_t external_offset_ = 0, external_length_ = -1;
};

}  // namespace stowage
