// SPDX-License-Identifier: Apache-2.0
// A Graph as it grows from a TFLite file: one operator of the file at a time, its shapes inferred
// at once, so that an operator may ask for the shapes and constants of what came before it.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/op_def.h"
#include "import/tflite_file.h"
#include "tflite_generated.h"

namespace stowage {

using NamedAttribute = std::pair<std::string_view, Attribute>;

class TfliteGraph {
 public:
  TfliteGraph(const TfliteFile& file, ImportBudget& budget);

  const TfliteFile& file() const { return file_; }

  Graph& graph() { return *graph_; }

  std::shared_ptr<Graph> take() { return std::move(graph_); }

  void add_input(int tensor, const Ints& extents, const ImportOptions& options);
  /// The value of a tensor; a constant is read when it is first asked for, and dequantised when
  /// it has scales.
  ValueId value_of(int tensor);
  /// Tensor `tensor` is `value` from now on.
  void define(int tensor, ValueId value);
  void add_output(int tensor);

  /// Adds a node of our operator `op` and infers it. `name` is what its values are named after.
  std::vector<ValueId> emit(std::string_view op, std::string_view name, std::vector<ValueId> inputs,
                            std::span<const NamedAttribute> attributes, int outputs);
  ValueId constant(std::string_view name, Tensor tensor);

  /// The value with the channels second, and the other way round. A value that was made by one
  /// of them is not transposed twice.
  ValueId channels_second(ValueId v, std::string_view name);
  ValueId channels_last(ValueId v, std::string_view name);

 private:
  using Turns = std::unordered_map<ValueId, ValueId>;

  std::string unique(std::string name);
  bool is_input(ValueId v) const;
  Tensor read_constant(const TfliteTensor& tensor);
  ValueId turned(ValueId v, std::string_view name, std::initializer_list<std::int64_t> perm,
                 Turns& there, Turns& back);

  const TfliteFile& file_;
  ImportBudget& budget_;
  std::shared_ptr<Graph> graph_;
  Inference inference_;
  std::vector<ValueId> values_;                 // by tensor
  std::vector<bool> named_;                     // by value: it bears the name of a tensor
  std::unordered_map<std::string, int> names_;  // and how often each was asked for again
  std::unordered_set<ValueId> outputs_;
  Turns second_of_, last_of_;
};

/// One operator of the file while it is turned into nodes.
class TfliteNode {
 public:
  TfliteNode(TfliteGraph& graph, const TfliteOperator& op) : graph_(graph), op_(op) {}

  Graph& graph() const { return graph_.graph(); }

  std::string_view name() const;

  int input_count() const { return static_cast<int>(op_.inputs.size()); }

  int output_count() const { return static_cast<int>(op_.outputs.size()); }

  /// Throws Error(bad_input) unless there are that many.
  void expect(int least_inputs, int most_inputs, int outputs = 1) const;

  bool has(int i) const {
    return i < input_count() && op_.inputs[static_cast<std::size_t>(i)] >= 0;
  }

  const TfliteTensor& input_tensor(int i) const;
  const TfliteTensor& output_tensor(int i = 0) const;
  /// Throws Error(bad_input) when it is absent.
  ValueId in(int i) const;

  /// kNoValue when it is absent.
  ValueId optional(int i) const { return has(i) ? in(i) : kNoValue; }

  /// The elements of an i32 or i64 input. Throws Error(unsupported) unless they are known.
  Ints ints(int i) const;

  const Value& value(ValueId v) const { return graph().value(v); }

  const Shape& shape(ValueId v) const { return value(v).shape; }

  ValueId emit(std::string_view op, std::vector<ValueId> inputs,
               std::initializer_list<NamedAttribute> attributes = {}) const;
  std::vector<ValueId> emit_many(std::string_view op, std::vector<ValueId> inputs, int outputs,
                                 std::initializer_list<NamedAttribute> attributes = {}) const;

  ValueId constant(Tensor tensor) const { return graph_.constant(name(), std::move(tensor)); }

  ValueId constant(float scalar) const;

  ValueId channels_second(ValueId v) const { return graph_.channels_second(v, name()); }

  ValueId channels_last(ValueId v) const { return graph_.channels_last(v, name()); }

  ValueId reshape(ValueId v, const Ints& extents) const;
  /// The fused activation of the schema on `v`.
  ValueId activate(ValueId v, int function) const;

  void out(ValueId v) const { out(0, v); }

  void out(int i, ValueId v) const;

  /// The options of the operator. Throws Error(bad_input) when it has none or others.
  template <class Options>
  const Options& options() const {
    const Options* o = options_if<Options>();
    if (o == nullptr) fail_options();
    return *o;
  }

  /// Null when it has none: all of them have their defaults then.
  template <class Options>
  const Options* options_if() const {
    const Options* t = op_.table->builtin_options_as<Options>();
    if (t == nullptr && op_.table->builtin_options() != nullptr) fail_options();
    return t;
  }

 private:
  [[noreturn]] void fail_options() const;

  TfliteGraph& graph_;
  const TfliteOperator& op_;
};

/// How an operator of TFLite becomes nodes.
struct TfliteRule {
  tfl::BuiltinOperator code;
  void (*import)(const TfliteNode&);
};

std::span<const TfliteRule> tflite_image_rules();
std::span<const TfliteRule> tflite_elementwise_rules();
std::span<const TfliteRule> tflite_shape_rules();
std::span<const TfliteRule> tflite_math_rules();

}  // namespace stowage
