// SPDX-License-Identifier: Apache-2.0
// A convolution that reads zeros around its input pads by itself.
#include <algorithm>

#include "base/checked.h"
#include "base/index.h"
#include "graph/passes/passes.h"

namespace stowage {

namespace {

bool pads_with_zero(const NodeRef& pad) {
  if (pad.node().op->name != "pad") return false;
  if (pad.attrs().string("mode", "constant") != "constant" || pad.dtype(0) != DType::f32) {
    return false;
  }
  if (!pad.has(2)) return pad.attrs().real("value", 0) == 0.0f;
  return pad.constant(2) != nullptr && pad.constant(2)->as<float>()[0] == 0.0f;
}

/// The zeros that `pad` adds as a convolution counts them, or nothing when it adds some elsewhere
/// or cuts. `perm` is that of the transpose in between.
Ints spatial_pads(const NodeRef& pad, const Ints& perm) {
  const Ints lo = pad.facts().integers("before"), hi = pad.facts().integers("after");
  Ints pads(2 * (perm.size() - 2));
  for (std::size_t i = 0; i < perm.size(); ++i) {
    const std::int64_t a = lo[idx(perm[i])], b = hi[idx(perm[i])];
    if (a < 0 || b < 0 || (i < 2 && a + b != 0)) return {};
    if (i < 2) continue;
    pads[i - 2] = a;
    pads[i - 2 + pads.size() / 2] = b;
  }
  return pads;
}

bool fold(Graph& graph, NodeId conv) {
  const ValueId x = graph.node(conv).inputs[0];
  NodeId producer = graph.value(x).producer;
  if (producer == kNoNode || graph.value(x).shape.rank() < 3) return false;
  Ints perm;
  for (int i = 0; i < graph.value(x).shape.rank(); ++i) perm.push_back(i);
  const bool between = graph.node(producer).op->name == "transpose";
  if (between) {
    perm = graph.node(producer).facts.integers("perm");
    producer = graph.value(graph.node(producer).inputs[0]).producer;
    if (producer == kNoNode) return false;
  }
  const NodeRef pad(graph, producer);
  if (!pads_with_zero(pad)) return false;
  const Ints added = spatial_pads(pad, perm);
  Ints pads = graph.node(conv).facts.integers("pads");
  if (added.empty() || pads.size() != added.size()) return false;
  for (std::size_t i = 0; i < pads.size(); ++i) pads[i] = checked_add(pads[i], added[i]);

  Patch patch(graph, text("fold '", pad.node().name, "' (pad) into '", graph.node(conv).name, "'"));
  ValueId from = pad.node().inputs[0];
  if (between) {
    Node transpose;
    transpose.op = find_op("transpose");
    transpose.name = graph.value(x).name + ".unpadded";
    transpose.attrs.set("perm", perm);
    transpose.inputs = {from};
    transpose.outputs = {from = patch.add_value(transpose.name)};
    patch.add_node(std::move(transpose));
  }
  Node& n = patch.edit(conv);
  n.inputs[0] = from;
  n.attrs.erase("auto_pad");
  n.attrs.set("pads", pads);
  patch.infer(conv);
  return true;
}

}  // namespace

bool fold_pad(Graph& graph) {
  bool changed = false;
  for (NodeId id : graph.topological_order()) {
    if (graph.node(id).op->name == "conv") changed |= fold(graph, id);
  }
  return changed;
}

}  // namespace stowage
