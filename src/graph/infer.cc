// SPDX-License-Identifier: Apache-2.0
// Shapes of everything, and the values of everything that is already known.
#include <algorithm>

#include "base/text.h"
#include "base/trail.h"
#include "graph/op_def.h"

namespace stowage {

namespace {

void evaluate(Graph& graph, NodeId id) {
  const NodeRef node(graph, id);
  ReferenceViews views(node);
  std::vector<Tensor> results(node.node().outputs.size());
  for (std::size_t i = 0; i < views.in.size(); ++i) {
    const ValueId v = node.node().inputs[i];
    if (v != kNoValue) views.in[i].data = graph.value(v).constant->data();
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    const ValueId v = node.node().outputs[i];
    if (v == kNoValue) continue;
    results[i] = Tensor(graph.value(v).dtype, graph.value(v).shape);
    views.out[i].data = results[i].data();
  }
  run_reference(node, views.in, views.out);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const ValueId v = node.node().outputs[i];
    if (v == kNoValue) continue;
    graph.value(v).constant = std::make_shared<const Tensor>(std::move(results[i]));
    graph.value(v).producer = kNoNode;
  }
  Node& n = graph.node(id);
  n.removed = n.evaluated = true;
}

/// Nodes as they were before anything was inferred.
void forget(Graph& graph) {
  for (NodeId id(0); id < graph.node_count(); ++id) {
    Node& n = graph.node(id);
    n.facts = Attributes();
    if (!n.evaluated) continue;
    n.removed = n.evaluated = false;
    for (ValueId v : n.outputs) {
      if (v == kNoValue) continue;
      graph.value(v).constant = nullptr;
      graph.value(v).producer = id;
    }
  }
}

}  // namespace

void infer_node(Graph& graph, NodeId id) {
  graph.node(id).facts = Attributes();
  graph.node(id).op->infer(InferRef(graph, id));
}

bool Inference::affordable(const NodeRef& node) {
  double in = 0, out = 0;  // elements; doubles, because sums of extents of 2^47 are possible
  for (ValueId v : node.node().inputs) {
    if (v == kNoValue) continue;
    if (graph_.value(v).constant == nullptr) return false;
    in += static_cast<double>(graph_.value(v).shape.elements());
  }
  for (ValueId v : node.node().outputs) {
    if (v != kNoValue) out += static_cast<double>(graph_.value(v).shape.elements());
  }
  // Kernels with windows and products may look at every input for every output.
  constexpr double kMostProducts = 1 << 28;
  if (node.node().op->category == Category::fixed && in * out > kMostProducts) return false;
  const double growth = std::max(out - in, 0.0);
  if (out > elements_ || growth > growth_) return false;
  elements_ -= out;
  growth_ -= growth;
  return true;
}

void Inference::run(NodeId id) {
  const Node& n = graph_.node(id);
  const Trail trail("node", n.name, n.type.empty() ? n.op->name : n.type);
  for (ValueId v : n.inputs) {
    if (v == kNoValue) continue;
    const Value& value = graph_.value(v);
    if (value.constant == nullptr && value.producer == kNoNode) {
      bool is_input = false;
      for (ValueId g : graph_.inputs) is_input |= g == v;
      if (!is_input) fail(ErrorCode::bad_input, "nothing produces its input '", value.name, "'");
    }
  }
  infer_node(graph_, id);
  if (!n.evaluated && affordable(NodeRef(graph_, id))) evaluate(graph_, id);
}

void infer_shapes(Graph& graph) {
  forget(graph);
  Inference inference(graph);
  for (NodeId id : graph.topological_order()) inference.run(id);
}

}  // namespace stowage
