// SPDX-License-Identifier: Apache-2.0
// The only way to change a graph after import: edits under a label.
#pragma once

#include <string>
#include <utility>

#include "graph/graph.h"

namespace stowage {

/// Edits take effect as they are made; the label goes into Graph::history at the end of the
/// patch's life, when it changed anything.
class Patch {
 public:
  Patch(Graph& graph, std::string label) : graph_(graph), label_(std::move(label)) {}

  ~Patch() {
    if (changed_) graph_.history.push_back(std::move(label_));
  }

  Patch(const Patch&) = delete;
  Patch& operator=(const Patch&) = delete;

  ValueId add_constant(std::string name, Tensor tensor) {
    changed_ = true;
    return graph_.add_constant(std::move(name), std::move(tensor));
  }

  /// A value that a node to be added makes; its shape is inferred with that.
  ValueId add_value(std::string name) {
    Value value;
    value.name = std::move(name);
    return graph_.add_value(std::move(value));
  }

  /// Its outputs must have no producer.
  NodeId add_node(Node node) {
    changed_ = true;
    const NodeId id = graph_.add_node(std::move(node));
    infer_node(graph_, id);
    return id;
  }

  /// Finds the facts of a node again, and the shapes of its outputs, after its operator or
  /// attributes were edited.
  void infer(NodeId id) { infer_node(graph_, id); }

  /// The node, to be changed in place. Its outputs stay.
  Node& edit(NodeId id) {
    changed_ = true;
    return graph_.node(id);
  }

  /// The node leaves the graph; its outputs lose their producer.
  void remove(NodeId id);

  /// Output `i` of the node is a value `name` of its own; what it was before has no producer.
  ValueId split_output(NodeId id, std::size_t i, std::string name);

  /// Every reader of `old` reads `now`.
  void replace_uses(ValueId old, ValueId now);

  /// Removes `follower`, whose only job was to turn the output 0 of `node` into its own output 0;
  /// `node` now produces that value.
  void take_over(NodeId node, NodeId follower);

 private:
  Graph& graph_;
  std::string label_;
  bool changed_ = false;
};

}  // namespace stowage
