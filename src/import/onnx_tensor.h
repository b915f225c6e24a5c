// SPDX-License-Identifier: Apache-2.0
// ONNX TensorProto: the weights of a model, and files that hold one tensor (.pb).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stowage/inspect.h"
#include "stowage/model.h"

namespace stowage {

class InputFile;
struct FileRange;

/// What a file may still ask for. Everything is counted before memory is taken for it.
class ImportBudget {
 public:
  explicit ImportBudget(const Limits& limits) : limits_(limits) {}

  const Limits& limits() const noexcept { return limits_; }

  /// A value of `bytes` bytes. Throws Error(limit).
  void take_value(const std::string& name, std::int64_t bytes);
  /// Lists and texts of attributes. Throws Error(limit).
  void take_bytes(std::int64_t bytes);
  void take_node();
  /// A name, an attribute or another small thing of which a file could hold millions.
  void take_entry();

 private:
  Limits limits_;
  std::int64_t bytes_ = 0, nodes_ = 0, entries_ = 0;
};

/// The dtype of TensorProto::DataType `type`. Throws Error(unsupported): "`what` 'name' holds
/// strings".
DType onnx_dtype(std::int64_t type, std::string_view what, std::string_view name);

/// Extents with the axes a, b, c, ... Throws Error(limit) when there are more than kMaxRank.
Shape plain_shape(const std::vector<std::int64_t>& extents);

/// A name of a file: not over the limit, valid UTF-8, no control characters.
/// Throws Error(bad_input).
void check_name(const std::string& name);

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
