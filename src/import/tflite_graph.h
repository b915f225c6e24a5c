// SPDX-License-Identifier: Apache-2.0
// The tensors of a TFLite file as values of a Graph, and its operators as import rules see them.
#pragma once

#include <memory>
#include <unordered_set>
#include <vector>

#include "import/builder.h"
#include "import/tflite_file.h"
#include "tflite_generated.h"

namespace stowage {

/// The option table of an operator, under neutral names.
struct TfliteOptions {
  Attributes attrs;
  FusedActivation activation;
};

struct TfliteConstant {
  std::shared_ptr<const Tensor> tensor;
  float step = 0;  ///< Value::step
};

/// Constants by tensor; null for those that are none, or that nobody reads.
using TfliteConstants = std::vector<TfliteConstant>;

/// A constant of the file, dequantised when it has scales. Throws Error(bad_input, unsupported).
TfliteConstant read_tflite_constant(const TfliteTensor& tensor, ImportBudget& budget);

class TfliteGraph {
 public:
  TfliteGraph(const TfliteFile& file, const TfliteConstants& constants, ImportBudget& budget);

  const TfliteFile& file() const { return file_; }

  Builder& builder() { return builder_; }

  void add_input(int tensor, const Ints& extents, const SpecialiseOptions& options);
  ValueId value_of(int tensor);
  /// Tensor `tensor` is `value` from now on.
  void define(int tensor, ValueId value);
  void add_output(int tensor);

 private:
  const TfliteFile& file_;
  const TfliteConstants& constants_;
  ImportBudget& budget_;
  Builder builder_;
  std::vector<ValueId> values_;  // by tensor
  std::unordered_set<ValueId> outputs_;
};

/// One operator of the file while it is turned into nodes.
class TfliteNode final : public BuilderNode {
 public:
  TfliteNode(TfliteGraph& graph, const TfliteOperator& op, const TfliteOptions& options);

  int input_count() const override { return static_cast<int>(op_.inputs.size()); }

  int output_count() const override { return static_cast<int>(op_.outputs.size()); }

  bool has(int i) const override {
    return i >= 0 && i < input_count() && op_.inputs[static_cast<std::size_t>(i)] >= 0;
  }

  ValueId in(int i) override;
  bool is_state(int i) const override;
  DType output_dtype(int i) const override;

 private:
  void define(int i, ValueId v) override;

  TfliteGraph& graph_;
  const TfliteOperator& op_;
};

/// Throws Error(bad_input) when the operator has no options but needs them, or has others.
TfliteOptions read_tflite_options(const TfliteOperator& op);

}  // namespace stowage
