// SPDX-License-Identifier: Apache-2.0
// What reads zeros around its input, such as a convolution, pads by itself.
#include "base/index.h"
#include "base/text.h"
#include "graph/passes/passes.h"

namespace stowage {

namespace {

Ints permuted(const Ints& of_axes, const Ints& perm) {
  Ints out;
  for (const std::int64_t p : perm) out.push_back(of_axes[idx(p)]);
  return out;
}

/// The node reads what zeros surround, perhaps through a transpose of it.
bool fold(Graph& graph, NodeId id) {
  const ValueId x = graph.node(id).inputs[0];
  NodeId producer = graph.value(x).producer;
  Ints perm;
  const bool between = producer != kNoNode && graph.node(producer).op->transposes;
  if (between) {
    perm = graph.node(producer).facts.integers("perm");
    producer = graph.value(graph.node(producer).inputs[0]).producer;
  }
  if (producer == kNoNode || graph.node(producer).op->zero_pads == nullptr) return false;
  const Node& pad = graph.node(producer);
  auto zeros = pad.op->zero_pads(NodeRef(graph, producer));
  if (!zeros) return false;
  if (between) *zeros = {permuted(zeros->before, perm), permuted(zeros->after, perm)};
  auto attrs = graph.node(id).op->take_zero_pads(NodeRef(graph, id), *zeros);
  if (!attrs) return false;

  ValueId from = pad.inputs[0];
  Patch patch(graph,
              text("fold '", pad.name, "' (", pad.op->name, ") into '", graph.node(id).name, "'"));
  if (between) {
    Node transpose;
    transpose.op = find_op("transpose");
    transpose.name = graph.value(x).name + ".unpadded";
    transpose.attrs.set("perm", perm);
    transpose.inputs = {from};
    transpose.outputs = {from = patch.add_value(transpose.name)};
    patch.add_node(std::move(transpose));
  }
  Node& n = patch.edit(id);
  n.inputs[0] = from;
  n.attrs = std::move(*attrs);
  patch.infer(id);
  return true;
}

}  // namespace

bool fold_pad(Graph& graph) {
  bool changed = false;
  for (NodeId id : graph.topological_order()) {
    if (graph.node(id).op->take_zero_pads != nullptr) changed |= fold(graph, id);
  }
  return changed;
}

}  // namespace stowage
