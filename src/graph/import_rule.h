// SPDX-License-Identifier: Apache-2.0
// What an import rule of an operator sees: one operator of a model file while it becomes nodes.
// Readers (src/import) implement it, one for each file format; rules stand in the operator's file.
//
// A rule (ForeignName::import) may
//   - change `attrs` into those of the OpDef, and the inputs with set_inputs, or
//   - emit nodes and say with `out` which values the outputs are.
// A rule that calls no `out`, and no rule at all, make one node of the operator, with `attrs` and
// with the inputs and outputs of the file.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace stowage {

using NamedAttribute = std::pair<std::string_view, Attribute>;

/// An activation that the file keeps inside another operator, as an operator of ours.
struct FusedActivation {
  std::string op;           ///< empty: none
  Attributes attrs;         ///< of `op`
  std::string unsupported;  ///< what the file asks for, when there is no such operator
};

class ImportNode {
 public:
  virtual ~ImportNode() = default;

  std::string_view format;   ///< "onnx", "tflite", "ncnn"
  std::string domain, type;  ///< the operator as the file spells it
  std::string name;          ///< of the node, or what its values are named after
  std::int64_t version = 0;  ///< ONNX: the opset of the domain
  /// As the file has them, under the names that ONNX has for the same thing where it has one.
  Attributes attrs;
  FusedActivation activation;

  virtual int input_count() const = 0;
  virtual int output_count() const = 0;
  virtual bool has(int i) const = 0;
  /// Input `i`; what came before has its shape by now. Throws Error(bad_input) when it is absent.
  virtual ValueId in(int i) = 0;
  /// The input is a state that the operator keeps between runs; it begins at zero.
  virtual bool is_state(int i) const;
  /// The dtype that the file gives output `i`. Throws Error(unsupported) when it gives none.
  virtual DType output_dtype(int i = 0) const;
  virtual const Value& value(ValueId v) const = 0;

  /// Adds a node of our operator `op` and infers it.
  virtual std::vector<ValueId> emit_many(std::string_view op, std::vector<ValueId> inputs,
                                         int outputs, const Attributes& attributes) = 0;
  virtual ValueId constant(Tensor tensor) = 0;
  /// An image n h w c as n c h w, and the other way round. A value that was made by one of them is
  /// not transposed twice.
  virtual ValueId channels_second(ValueId v) = 0;
  virtual ValueId channels_last(ValueId v) = 0;
  /// Output `i` of the operator is `v`.
  virtual void out(int i, ValueId v) = 0;

  /// ncnn: how many weights the layer brings, in the order in which its file has them.
  virtual int weight_count() const { return 0; }

  /// Weight `i` as a constant. Throws Error(bad_input) when there is none.
  virtual ValueId weight(int i);
  /// The file reads output `i`, or gives it to the user.
  virtual bool is_read(int i) const;

  /// The one node of a rule that calls no `out` has these inputs, kNoValue for absent ones.
  void set_inputs(std::vector<ValueId> inputs) { inputs_ = std::move(inputs); }

  /// Likewise, not more than so many outputs.
  void keep_outputs(int count) { outputs_ = count; }

  void out(ValueId v) { out(0, v); }

  /// Throws Error(bad_input) unless there are that many.
  void expect(int least_inputs, int most_inputs, int outputs = 1) const;

  /// kNoValue when it is absent.
  ValueId optional(int i) { return has(i) ? in(i) : kNoValue; }

  /// Throws Error(bad_input) when one is absent.
  std::vector<ValueId> all_inputs();

  const Shape& shape(ValueId v) const { return value(v).shape; }

  /// The elements of an i32 or i64 input. Throws Error(unsupported) unless they are known.
  Ints ints(int i);

  /// Likewise one number: an axis.
  std::int64_t axis(int i);

  /// An attribute that is not 0.
  bool flag(std::string_view attribute) const { return attrs.integer(attribute, 0) != 0; }

  ValueId emit(std::string_view op, std::vector<ValueId> inputs, const Attributes& attributes) {
    return emit_many(op, std::move(inputs), 1, attributes)[0];
  }

  ValueId emit(std::string_view op, std::vector<ValueId> inputs,
               std::initializer_list<NamedAttribute> attributes = {});
  std::vector<ValueId> emit_many(std::string_view op, std::vector<ValueId> inputs, int outputs,
                                 std::initializer_list<NamedAttribute> attributes);

  ValueId constant(float scalar);
  ValueId reshape(ValueId v, const Ints& extents);
  /// `activation` on `v`. Throws Error(unsupported).
  ValueId activate(ValueId v);
  /// Input `i`, an image n h w c, as n c h w. Throws Error(bad_input) for another rank.
  ValueId image(int i);
  /// The only output is `v`, an image n c h w, after `activation`, as n h w c.
  void out_image(ValueId v);

 protected:
  /// Of the one node that is the operator.
  std::vector<ValueId> node_inputs();

  int node_outputs() const { return std::min(outputs_, output_count()); }

 private:
  std::optional<std::vector<ValueId>> inputs_;
  int outputs_ = std::numeric_limits<int>::max();
};

/// Rule of an operator that is ours under another name, with so many inputs and one output.
template <int Count>
void takes(ImportNode& node) {
  node.expect(Count, Count);
  node.all_inputs();
}

/// As many inputs as there may be.
inline constexpr int kAnyNumber = 1 << 20;

}  // namespace stowage
