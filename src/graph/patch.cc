// SPDX-License-Identifier: Apache-2.0
#include "graph/patch.h"

namespace stowage {

void Patch::remove(NodeId id) {
  changed_ = true;
  Node& n = graph_.node(id);
  n.removed = true;
  for (ValueId v : n.outputs) {
    if (v != kNoValue && graph_.value(v).producer == id) graph_.value(v).producer = kNoNode;
  }
}

ValueId Patch::split_output(NodeId id, std::size_t i, std::string name) {
  const ValueId inner = add_value(std::move(name));
  ValueId& output = edit(id).outputs[i];
  graph_.value(output).producer = kNoNode;
  graph_.value(inner).producer = id;
  output = inner;
  return inner;
}

void Patch::replace_uses(ValueId old, ValueId now) {
  changed_ = true;
  for (NodeId id(0); id < graph_.node_count(); ++id) {
    if (graph_.node(id).removed) continue;
    for (ValueId& v : graph_.node(id).inputs) {
      if (v == old) v = now;
    }
  }
}

void Patch::take_over(NodeId node, NodeId follower) {
  const ValueId result = graph_.node(follower).outputs[0];
  const ValueId before = graph_.node(node).outputs[0];
  remove(follower);
  graph_.node(node).outputs[0] = result;
  graph_.value(result).producer = node;
  graph_.value(before).producer = kNoNode;
}

}  // namespace stowage
