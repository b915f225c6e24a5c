// SPDX-License-Identifier: Apache-2.0
// Nodes that compute nothing, and nodes that nobody wants.
#include "base/text.h"
#include "graph/passes/passes.h"

namespace stowage {

bool remove_dead_nodes(Graph& graph) {
  bool changed = false;
  auto order = graph.topological_order();
  auto readers = graph.consumers();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    bool wanted = false;
    for (ValueId v : graph.node(*it).outputs) {
      wanted |=
          v != kNoValue && (graph.is_output(v) || !readers[static_cast<std::size_t>(v)].empty());
    }
    if (wanted) continue;
    Patch patch(graph, text("remove '", graph.node(*it).name, "': nobody reads it"));
    patch.remove(*it);
    for (ValueId v : graph.node(*it).inputs) {
      if (v != kNoValue) std::erase(readers[static_cast<std::size_t>(v)], *it);
    }
    changed = true;
  }
  return changed;
}

namespace {

/// Somebody wants more of the node than its output 0.
bool has_side_output(const Graph& graph, const std::vector<std::vector<NodeId>>& readers,
                     const Node& n) {
  for (std::size_t i = 1; i < n.outputs.size(); ++i) {
    const ValueId v = n.outputs[i];
    if (v == kNoValue) continue;
    if (graph.is_output(v) || !readers[static_cast<std::size_t>(v)].empty()) return true;
  }
  return false;
}

}  // namespace

bool remove_identity(Graph& graph) {
  bool changed = false;
  const auto side_readers = graph.consumers();  // of side outputs, which this changes none of
  for (NodeId id : graph.topological_order()) {
    const Node& n = graph.node(id);
    if (!n.op->copies || has_side_output(graph, side_readers, n)) continue;
    const ValueId in = n.inputs[0], out = n.outputs[0];
    // An output of the model keeps its name; then the producer may take it over, unless its own
    // value is wanted elsewhere too.
    if (graph.is_output(out)) {
      const NodeId producer = graph.value(in).producer;
      const auto readers = graph.consumers();
      if (producer == kNoNode || sole_reader(graph, readers, in) != id ||
          graph.node(producer).outputs[0] != in) {
        continue;
      }
      Patch patch(graph, text("remove '", n.name, "': identity"));
      patch.take_over(producer, id);
    } else {
      Patch patch(graph, text("remove '", n.name, "': identity"));
      patch.replace_uses(out, in);
      patch.remove(id);
    }
    changed = true;
  }
  return changed;
}

}  // namespace stowage
