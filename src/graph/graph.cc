// SPDX-License-Identifier: Apache-2.0
#include "graph/graph.h"

#include <algorithm>

#include "base/text.h"
#include "base/trail.h"
#include "graph/op_def.h"

namespace stowage {

ValueId Graph::add_value(Value value) {
  values_.push_back(std::move(value));
  return ValueId(value_count() - 1);
}

ValueId Graph::add_constant(std::string value_name, Tensor tensor) {
  return add_constant(std::move(value_name), std::make_shared<const Tensor>(std::move(tensor)));
}

ValueId Graph::add_constant(std::string value_name, std::shared_ptr<const Tensor> tensor) {
  Value v;
  v.name = std::move(value_name);
  v.dtype = tensor->dtype();
  v.shape = tensor->shape();
  v.constant = std::move(tensor);
  return add_value(std::move(v));
}

NodeId Graph::add_node(Node node) {
  const NodeId id(node_count());
  if (node.outputs.empty()) node.outputs.push_back(kNoValue);
  if (node.outputs[0] == kNoValue) {
    Value unread;
    unread.name = node.name + " (output 0)";
    node.outputs[0] = add_value(std::move(unread));
  }
  for (ValueId v : node.outputs) {
    if (v == kNoValue) continue;
    if (value(v).producer != kNoNode) {
      fail(ErrorCode::bad_input, "value '", value(v).name, "' is produced twice");
    }
    value(v).producer = id;
  }
  nodes_.push_back(std::move(node));
  return id;
}

std::vector<NodeId> Graph::topological_order() const {
  // Kahn's algorithm with a cursor that restarts at the earliest ready node, so that ties stay in
  // file order.
  std::vector<int> missing(nodes_.size(), 0);
  const auto readers = consumers();
  std::vector<NodeId> ready, order;
  int live = 0;
  for (NodeId id(0); id < node_count(); ++id) {
    const Node& n = node(id);
    if (n.removed) continue;
    ++live;
    for (ValueId v : n.inputs) {
      if (v != kNoValue && value(v).producer != kNoNode) ++missing[static_cast<std::size_t>(id)];
    }
    if (missing[static_cast<std::size_t>(id)] == 0) ready.push_back(id);
  }
  std::make_heap(ready.begin(), ready.end(), std::greater<>());
  while (!ready.empty()) {
    std::pop_heap(ready.begin(), ready.end(), std::greater<>());
    const NodeId id = ready.back();
    ready.pop_back();
    order.push_back(id);
    for (ValueId v : node(id).outputs) {
      if (v == kNoValue) continue;
      for (NodeId reader : readers[static_cast<std::size_t>(v)]) {
        if (--missing[static_cast<std::size_t>(reader)] == 0) {
          ready.push_back(reader);
          std::push_heap(ready.begin(), ready.end(), std::greater<>());
        }
      }
    }
  }
  if (static_cast<int>(order.size()) != live) {
    for (NodeId id(0); id < node_count(); ++id) {
      if (!node(id).removed && missing[static_cast<std::size_t>(id)] > 0) {
        fail(ErrorCode::bad_input, "the graph has a cycle through node '", node(id).name, "'");
      }
    }
  }
  return order;
}

std::vector<std::vector<NodeId>> Graph::consumers() const {
  std::vector<std::vector<NodeId>> readers(values_.size());
  for (NodeId id(0); id < node_count(); ++id) {
    if (node(id).removed) continue;
    for (ValueId v : node(id).inputs) {
      if (v != kNoValue) readers[static_cast<std::size_t>(v)].push_back(id);
    }
  }
  return readers;
}

bool Graph::is_output(ValueId id) const {
  return std::find(outputs.begin(), outputs.end(), id) != outputs.end();
}

void verify(const Graph& graph) {
  std::vector<int> produced(static_cast<std::size_t>(graph.value_count()), 0);
  const auto has_source = [&](ValueId v) {
    return produced[static_cast<std::size_t>(v)] > 0 || graph.value(v).constant != nullptr;
  };
  for (ValueId v : graph.inputs) ++produced[static_cast<std::size_t>(v)];
  const auto order = graph.topological_order();
  for (NodeId id : order) {
    const Node& n = graph.node(id);
    for (ValueId v : n.inputs) {
      if (v != kNoValue && !has_source(v)) {
        fail(ErrorCode::internal, "node '", n.name, "' reads '", graph.value(v).name,
             "', which nothing produces; this is a bug in Stowage");
      }
    }
    for (ValueId v : n.outputs) {
      if (v == kNoValue) continue;
      if (has_source(v) || graph.value(v).producer != id) {
        fail(ErrorCode::internal, "value '", graph.value(v).name,
             "' has two producers; this is a bug in Stowage");
      }
      ++produced[static_cast<std::size_t>(v)];
    }
  }
  for (ValueId v : graph.outputs) {
    if (!has_source(v)) {
      fail(ErrorCode::internal, "output '", graph.value(v).name,
           "' is never produced; this is a bug in Stowage");
    }
  }
}

}  // namespace stowage
