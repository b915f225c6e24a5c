// SPDX-License-Identifier: Apache-2.0
// What an operator is told by constants it is told by attributes from here on: axes, pads, sizes.
// Passes find them in one place, and no kernel is given what it does not read.
#include "base/text.h"
#include "graph/passes/passes.h"

namespace stowage {

namespace {

std::optional<Attribute> attribute_of(const NodeRef& node, int input) {
  if (node.constant(input) == nullptr) return std::nullopt;
  switch (node.dtype(input)) {
    case DType::i32:
    case DType::i64:
      return node.constant_ints(input);
    case DType::f32:
    case DType::f64:
    case DType::f16:
    case DType::bf16:
      return node.constant_floats(input);
    default:
      return std::nullopt;
  }
}

}  // namespace

bool bind_parameters(Graph& graph) {
  bool changed = false;
  for (NodeId id : graph.topological_order()) {
    const NodeRef node(graph, id);
    const std::string name = node.node().name;
    Patch patch(graph, text("constants of '", name, "' (", node.node().op->name,
                            ") become its attributes"));
    for (const Parameter& p : node.node().op->parameters) {
      auto given = attribute_of(node, p.input);
      if (!given) continue;
      Node& n = patch.edit(id);
      const std::string attribute(p.attribute);
      if (!n.attrs.has(attribute)) n.attrs.set(attribute, std::move(*given));
      n.inputs[static_cast<std::size_t>(p.input)] = kNoValue;
      while (!n.inputs.empty() && n.inputs.back() == kNoValue) n.inputs.pop_back();
      changed = true;
    }
  }
  return changed;
}

}  // namespace stowage
