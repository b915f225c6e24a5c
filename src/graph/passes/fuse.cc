// SPDX-License-Identifier: Apache-2.0
// Elementwise work that follows a kernel moves into its epilogue: y = activation(y + residual).
#include <algorithm>
#include <optional>

#include "base/text.h"
#include "graph/passes/passes.h"

namespace stowage {

bool fuse_activation(Graph& graph) {
  bool changed = false;
  const auto readers = graph.consumers();
  for (NodeId id : graph.topological_order()) {
    const Node& n = graph.node(id);
    if (n.op->activation == nullptr || !n.epilogue.empty()) continue;
    const auto activation = n.op->activation(NodeRef(graph, id));
    if (!activation) continue;
    const ValueId x = n.inputs[0];
    const NodeId producer = graph.value(x).producer;
    if (producer == kNoNode || sole_reader(graph, readers, x) != id) continue;
    const Node& p = graph.node(producer);
    const bool taken = p.op->posts == Posts::all ||
                       (p.op->posts == Posts::clip && activation->kind == Activation::Kind::clip);
    if (!taken || p.outputs[0] != x || graph.value(x).dtype != DType::f32 ||
        p.epilogue.activation.kind != Activation::Kind::none) {
      continue;
    }
    Patch patch(graph, text("fuse '", n.name, "' (", n.op->name, ") into '", p.name, "'"));
    Node& into = patch.edit(producer);
    into.epilogue.activation = *activation;
    if (activation->kind == Activation::Kind::prelu) {
      into.epilogue.slope_input = static_cast<int>(into.inputs.size());
      into.inputs.push_back(n.inputs[1]);
    }
    patch.take_over(producer, id);
    changed = true;
  }
  return changed;
}

namespace {

/// The producer of `x`, when its only reader `id` could be its residual addition.
NodeId residual_producer(const Graph& graph, const std::vector<std::vector<NodeId>>& readers,
                         NodeId id, ValueId x) {
  const NodeId producer = graph.value(x).producer;
  if (producer == kNoNode || sole_reader(graph, readers, x) != id) return kNoNode;
  const Node& p = graph.node(producer);
  const bool free = p.op->posts == Posts::all && p.outputs[0] == x && p.epilogue.empty();
  return free ? producer : kNoNode;
}

}  // namespace

bool fuse_residual(Graph& graph) {
  bool changed = false;
  auto readers = graph.consumers();
  const auto order = graph.topological_order();
  std::vector<int> position(static_cast<std::size_t>(graph.node_count()), -1);
  for (std::size_t i = 0; i < order.size(); ++i) {
    position[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  }
  for (NodeId id : order) {
    const Node& n = graph.node(id);
    if ((n.op->name != "add" && n.op->name != "sum") || n.inputs.size() != 2 ||
        !n.epilogue.empty()) {
      continue;
    }
    const ValueId a = n.inputs[0], b = n.inputs[1];
    if (a == b || graph.value(a).shape.extents().size() != graph.value(b).shape.extents().size() ||
        graph.value(a).dtype != DType::f32 || graph.value(a).constant || graph.value(b).constant) {
      continue;
    }
    bool same = true;
    for (int i = 0; i < graph.value(a).shape.rank(); ++i) {
      same = same && graph.value(a).shape[i] == graph.value(b).shape[i];
    }
    if (!same) continue;
    // The later of two candidates: the other operand's memory is ready, and shorter-lived.
    NodeId producer = kNoNode;
    ValueId other = kNoValue;
    for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)}) {
      const NodeId p = residual_producer(graph, readers, id, x);
      if (p == kNoNode) continue;
      if (producer == kNoNode ||
          position[static_cast<std::size_t>(p)] > position[static_cast<std::size_t>(producer)]) {
        producer = p;
        other = y;
      }
    }
    if (producer == kNoNode) continue;
    Patch patch(graph, text("fuse '", n.name, "' (", n.op->name, ") into '",
                            graph.node(producer).name, "'"));
    Node& into = patch.edit(producer);
    into.epilogue.residual_input = static_cast<int>(into.inputs.size());
    into.inputs.push_back(other);
    patch.take_over(producer, id);
    // The producer now stands where the addition stood.
    std::ranges::replace(readers[static_cast<std::size_t>(other)], id, producer);
    position[static_cast<std::size_t>(producer)] = position[static_cast<std::size_t>(id)];
    changed = true;
  }
  return changed;
}

}  // namespace stowage
