// SPDX-License-Identifier: Apache-2.0
// What every reader builds with: a Graph that grows by one operator of the file at a time. Shapes
// are inferred and what is known is folded at once, so that an import rule may ask for the shapes
// and constants of what came before.
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

#include "graph/import_rule.h"
#include "graph/op_def.h"
#include "import/untrusted.h"

namespace stowage {

class Builder {
 public:
  Builder(std::string model, DataFormat source_format, ImportBudget& budget);

  Graph& graph() { return *graph_; }

  const Graph& graph() const { return *graph_; }

  const Value& value(ValueId v) const { return graph_->value(v); }

  std::shared_ptr<Graph> take() { return std::move(graph_); }

  /// An input of the graph, or a constant when `options` know its elements.
  ValueId add_input(const std::string& name, DType dtype, const Ints& extents,
                    const SpecialiseOptions& options);
  bool is_input(ValueId v) const;
  /// Whoever read the tensor has taken it off the budget.
  ValueId add_constant(std::string name, std::shared_ptr<const Tensor> tensor);

  /// A node of one operator of the file, as it is: one value for each name, none for an empty one.
  /// To be inferred by the caller, whose trail differs from the node's.
  NodeId add_node(Node node, std::span<const std::string> outputs);
  /// Throws Error(bad_input) when the operator does not have all of its outputs.
  void infer(NodeId id);

  /// Adds a node of our operator `op` and infers it. `name` is what its values are named after.
  std::vector<ValueId> emit(std::string_view op, std::string_view name, std::vector<ValueId> inputs,
                            int outputs, const Attributes& attributes);
  ValueId constant(std::string_view name, Tensor tensor);
  ValueId channels_second(ValueId v, std::string_view name);
  ValueId channels_last(ValueId v, std::string_view name);

  /// Whether the file has not used `name` before. Emitted values get other names from now on.
  bool reserve(const std::string& name) { return names_.try_emplace(name, 0).second; }

  /// The name, or one like it that nobody has.
  std::string unique(std::string name);
  /// An emitted value that does not bear a name of the file yet. Inputs and constants never do.
  bool takes_name(ValueId v) const;
  /// The value and its node are called that.
  void rename(ValueId v, const std::string& name);

 private:
  using Turns = std::unordered_map<ValueId, ValueId>;

  ValueId turned(ValueId v, std::string_view name, std::initializer_list<std::int64_t> perm,
                 Turns& there, Turns& back);

  ImportBudget& budget_;
  std::shared_ptr<Graph> graph_;
  Inference inference_;
  std::unordered_set<ValueId> unnamed_;         // emitted, without a name of the file
  std::unordered_map<std::string, int> names_;  // and how often each was asked for again
  Turns second_of_, last_of_;
};

/// An operator of a file on its way through a Builder. Readers say what its inputs and outputs are.
class BuilderNode : public ImportNode {
 public:
  BuilderNode(Builder& builder, std::string_view file_format) : builder_(builder) {
    format = file_format;
  }

  /// The operator becomes nodes: by its rule, else as one node.
  void import(const ForeignMatch& match);

  const Value& value(ValueId v) const override { return builder_.value(v); }

  std::vector<ValueId> emit_many(std::string_view op, std::vector<ValueId> inputs, int outputs,
                                 const Attributes& attributes) override {
    return builder_.emit(op, name, std::move(inputs), outputs, attributes);
  }

  ValueId constant(Tensor tensor) override { return builder_.constant(name, std::move(tensor)); }

  ValueId channels_second(ValueId v) override { return builder_.channels_second(v, name); }

  ValueId channels_last(ValueId v) override { return builder_.channels_last(v, name); }

  void out(int i, ValueId v) override;

 protected:
  using ImportNode::constant;
  using ImportNode::emit_many;

  Builder& builder() { return builder_; }

  /// Output `i` of the file is `v`.
  virtual void define(int i, ValueId v) = 0;

  /// One node of `op`, then the fused activation. A node that is returned is still to be inferred.
  virtual NodeId as_is(const OpDef& op);

 private:
  Builder& builder_;
  bool defined_ = false;  // the rule has said what an output is
};

}  // namespace stowage
