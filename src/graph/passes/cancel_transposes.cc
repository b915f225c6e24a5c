// SPDX-License-Identifier: Apache-2.0
// Transposes move towards the outputs, past nodes that work in any order of axes, until two meet
// and become one or none. What stood between them sees one order of axes: what follows a
// convolution can then become one of its posts.
#include <cstring>

#include "base/index.h"
#include "base/text.h"
#include "graph/passes/passes.h"

namespace stowage {

namespace {

/// The transpose that produces `v`, or kNoNode.
NodeId transpose_of(const Graph& graph, ValueId v) {
  if (v == kNoValue) return kNoNode;
  const NodeId id = graph.value(v).producer;
  return id != kNoNode && graph.node(id).op->transposes ? id : kNoNode;
}

Ints perm_of(const Graph& graph, NodeId transpose) {
  return graph.node(transpose).facts.integers("perm");
}

bool is_identity(const Ints& perm) {
  for (std::size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] != static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

/// The extents of a value that a transpose by `perm` turns into one of extents `after`.
Ints before(const Ints& perm, std::span<const std::int64_t> after) {
  Ints out(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i) out[idx(perm[i])] = after[i];
  return out;
}

bool merge(Graph& graph, NodeId second) {
  const NodeId first = transpose_of(graph, graph.node(second).inputs[0]);
  const Ints outer = perm_of(graph, second);
  if (first == kNoNode && !is_identity(outer)) return false;
  Ints perm = outer;
  ValueId from = graph.node(second).inputs[0];
  if (first != kNoNode) {
    const Ints inner = perm_of(graph, first);
    for (std::int64_t& p : perm) p = inner[idx(p)];
    from = graph.node(first).inputs[0];
  }
  Patch patch(graph, text("merge '", graph.node(second).name, "' (", graph.node(second).op->name,
                          ") with what it reads"));
  Node& n = patch.edit(second);
  n.inputs[0] = from;
  n.op = find_op(is_identity(perm) ? "identity" : "transpose");
  n.attrs = Attributes();
  if (!is_identity(perm)) n.attrs.set("perm", perm);
  patch.infer(second);
  return true;
}

/// The permutation that all inputs have in common, constants aside; empty when there is none.
Ints common_perm(const Graph& graph, const Node& n) {
  Ints perm;
  const int rank = graph.value(n.outputs[0]).shape.rank();
  for (ValueId v : n.inputs) {
    if (v == kNoValue) continue;
    if (graph.value(v).constant != nullptr && graph.value(v).shape.rank() <= rank) continue;
    const NodeId t = transpose_of(graph, v);
    if (t == kNoNode || graph.value(v).shape.rank() != rank) return {};
    const Ints p = perm_of(graph, t);
    if (!perm.empty() && p != perm) return {};
    perm = p;
  }
  return is_identity(perm) ? Ints() : perm;
}

/// The constant that a transpose by `perm` turns into `t`, which is aligned on the right.
Tensor untransposed(const Tensor& t, const Ints& perm) {
  Ints padded(perm.size() - idx(t.shape().rank()), 1);
  padded.insert(padded.end(), t.shape().extents().begin(), t.shape().extents().end());
  const Ints extents = before(perm, padded);
  Tensor out(t.dtype(), Shape::unnamed(extents));
  const auto size = idx(dtype_bytes(t.dtype()));
  Ints strides(perm.size(), 1);  // of `out`, in the order of its own axes
  for (std::size_t i = strides.size(); i-- > 1;) strides[i - 1] = strides[i] * extents[i];
  Ints index(perm.size(), 0);
  for (std::int64_t k = 0; k < t.shape().elements(); ++k) {
    std::int64_t at = 0;
    for (std::size_t i = 0; i < perm.size(); ++i) at += index[i] * strides[idx(perm[i])];
    std::memcpy(out.data() + idx(at) * size, t.data() + idx(k) * size, size);
    for (std::size_t i = index.size(); i-- > 0;) {
      if (++index[i] < padded[i]) break;
      index[i] = 0;
    }
  }
  return out;
}

/// The node reads what its transposes read, and one transpose follows it.
bool sink(Graph& graph, NodeId id) {
  const OpDef& op = *graph.node(id).op;
  if (op.permute == nullptr || graph.node(id).outputs.size() != 1 ||
      !graph.node(id).posts.empty()) {
    return false;
  }
  const Ints perm = common_perm(graph, graph.node(id));
  if (perm.empty()) return false;
  auto attrs = op.permute(NodeRef(graph, id), perm);
  if (!attrs) return false;
  Patch patch(graph, text("move transposes past '", graph.node(id).name, "' (", op.name, ")"));
  for (std::size_t i = 0; i < graph.node(id).inputs.size(); ++i) {
    const ValueId v = graph.node(id).inputs[i];
    if (v == kNoValue) continue;
    const NodeId t = transpose_of(graph, v);
    ValueId now = v;
    if (t != kNoNode) {
      now = graph.node(t).inputs[0];
    } else if (graph.value(v).shape.elements() != 1) {
      now = patch.add_constant(graph.value(v).name + ".transposed",
                               untransposed(*graph.value(v).constant, perm));
    }
    patch.edit(id).inputs[i] = now;
  }
  patch.edit(id).attrs = std::move(*attrs);
  const ValueId old = graph.node(id).outputs[0];
  const ValueId inner = patch.split_output(id, 0, graph.value(old).name + ".transposed");
  patch.infer(id);
  Node transpose;
  transpose.op = find_op("transpose");
  transpose.name = graph.node(id).name + ".transpose";
  transpose.attrs.set("perm", perm);
  transpose.inputs = {inner};
  transpose.outputs = {old};
  patch.add_node(std::move(transpose));
  return true;
}

}  // namespace

bool cancel_transposes(Graph& graph) {
  bool changed = false;
  for (NodeId id : graph.topological_order()) {
    if (graph.node(id).removed) continue;
    changed |= graph.node(id).op->transposes ? merge(graph, id) : sink(graph, id);
  }
  return changed;
}

}  // namespace stowage
