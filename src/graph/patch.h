// SPDX-License-Identifier: Apache-2.0
// The only way to change a graph after import: edits under a label.
#pragma once

#include <string>

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

  /// The node, to be changed in place. Its outputs stay.
  Node& edit(NodeId id) {
    changed_ = true;
    return graph_.node(id);
  }

  /// The node leaves the graph; its outputs lose their producer.
  void remove(NodeId id);

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
