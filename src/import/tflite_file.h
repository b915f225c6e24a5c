// SPDX-License-Identifier: Apache-2.0
// A TFLite file as it is written: tensors, operators, inputs, outputs of its first subgraph.
// Nothing here knows operators or makes a Graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graph/attributes.h"
#include "import/untrusted.h"

namespace stowage {

namespace tfl {
struct Model;
struct Operator;
}  // namespace tfl

/// How integers of a tensor stand for reals: (x - zero_point) * scale, one pair for all or one
/// for each index of `axis`. As the file says, unchecked.
struct TfliteQuantization {
  std::span<const float> scale;
  std::span<const std::int64_t> zero_point;  ///< none: zeros; one: for all
  int axis = 0;

  bool empty() const { return scale.empty(); }
};

struct TfliteTensor {
  std::string name;
  int type = 0;    ///< TensorType of the schema
  Ints shape;      ///< >= 0
  Ints signature;  ///< like shape, with -1 where the file does not fix an extent
  bool variable = false;
  bool sparse = false;
  TfliteQuantization quantization;
  bool constant = false;            ///< the file brings it; else an operator computes it
  std::span<const std::byte> data;  ///< of a constant
};

struct TfliteOperator {
  std::string type;  ///< "CONV_2D", or the name of a custom operator
  bool custom = false;
  int code = 0;                      ///< BuiltinOperator of the schema
  std::vector<int> inputs, outputs;  ///< checked indices of tensors; -1: absent
  const tfl::Operator* table = nullptr;

  /// How it is looked up: custom ones as "custom.name".
  std::string lookup_name() const { return custom ? "custom." + type : type; }
};

class TfliteFile {
 public:
  /// Verifies all of the file before reading any of it. Throws Error(bad_input) for what is no
  /// TFLite model, Error(unsupported), Error(limit).
  TfliteFile(const InputFile& file, ImportBudget& budget);

  std::string name;
  std::vector<TfliteTensor> tensors;
  std::vector<TfliteOperator> operators;
  std::vector<int> inputs, outputs;  ///< checked indices of tensors

  /// Frees what the file holds: scales and data of tensors and the tables of operators.
  void release();

 private:
  void read_tensors(const tfl::Model& model, ImportBudget& budget);
  void read_operators(const tfl::Model& model, ImportBudget& budget);

  std::vector<std::byte> bytes_;
};

/// Whether the file starts as a TFLite file does.
bool is_tflite(const InputFile& file);

/// Throws Error(bad_input) unless scales and zero points fit the shape.
void check_quantization(const TfliteTensor& tensor);

/// The dtype of a TensorType. Throws Error(unsupported), Error(bad_input).
DType tflite_dtype(const TfliteTensor& tensor);

}  // namespace stowage
