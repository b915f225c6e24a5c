// SPDX-License-Identifier: Apache-2.0
// Graphs for tests, put together node by node.
#pragma once

#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/index.h"
#include "graph/op_def.h"
#include "stowage/error.h"

namespace stowage {

/// Positive elements, for variances are among them.
inline Tensor random_tensor(const Shape& shape, std::mt19937& random) {
  std::uniform_real_distribution<float> real(0.25f, 1.5f);
  Tensor t(DType::f32, shape);
  for (float& x : t.as<float>()) x = real(random) * ((random() & 1) != 0 ? 1.0f : 0.9f);
  return t;
}

class GraphBuilder {
 public:
  Graph graph;
  std::mt19937 random{11};

  ValueId input(const Ints& extents) {
    Value v;
    v.name = "x" + std::to_string(graph.inputs.size());
    v.shape = Shape::unnamed(extents);
    graph.inputs.push_back(graph.add_value(v));
    return graph.inputs.back();
  }

  ValueId constant(const Ints& extents) {
    return graph.add_constant("k" + std::to_string(graph.value_count()),
                              random_tensor(Shape::unnamed(extents), random));
  }

  ValueId add(std::string_view op, std::vector<ValueId> inputs, Attributes attrs = {}) {
    return add_many(op, std::move(inputs), 1, std::move(attrs))[0];
  }

  std::vector<ValueId> add_many(std::string_view op, std::vector<ValueId> inputs, int outputs,
                                Attributes attrs = {}) {
    const OpDef* found = find_op(op);
    if (found == nullptr) throw Error(ErrorCode::usage, "no operator " + std::string(op));
    return add_many(*found, std::move(inputs), outputs, std::move(attrs));
  }

  std::vector<ValueId> add_many(const OpDef& op, std::vector<ValueId> inputs, int outputs,
                                Attributes attrs = {}) {
    Node n;
    n.op = &op;
    n.name = std::string(op.name) + std::to_string(graph.node_count());
    n.attrs = std::move(attrs);
    n.inputs = std::move(inputs);
    for (int i = 0; i < outputs; ++i) {
      Value v;
      v.name = n.name + (i == 0 ? ".y" : ".y" + std::to_string(i));
      n.outputs.push_back(graph.add_value(v));
    }
    return graph.node(graph.add_node(std::move(n))).outputs;
  }

  ValueId conv(ValueId x, std::int64_t in, std::int64_t out) {
    Attributes a;
    a.set("pads", Ints{1, 1, 1, 1});
    return add("conv", {x, constant({out, in, 3, 3}), constant({out})}, a);
  }

  ValueId batch_norm(ValueId x, std::int64_t c) {
    return add("batch_norm", {x, constant({c}), constant({c}), constant({c}), constant({c})});
  }

  /// Every output, computed by references alone from `given` or from random inputs.
  std::vector<Tensor> run(const std::vector<Tensor>& given = {}) {
    std::vector<Tensor> values;
    for (ValueId v(0); v < graph.value_count(); ++v) {
      const Value& value = graph.value(v);
      values.push_back(value.constant ? *value.constant : Tensor(value.dtype, value.shape));
    }
    std::mt19937 same(5);
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      const ValueId v = graph.inputs[i];
      values[idx(v)] = given.empty() ? random_tensor(graph.value(v).shape, same) : given[i];
    }
    for (NodeId id : graph.topological_order()) {
      const Node& n = graph.node(id);
      ReferenceViews views(NodeRef(graph, id));
      for (std::size_t i = 0; i < n.inputs.size(); ++i) {
        if (n.inputs[i] != kNoValue) views.in[i].data = values[idx(n.inputs[i])].data();
      }
      for (std::size_t i = 0; i < n.outputs.size(); ++i) {
        if (n.outputs[i] != kNoValue) views.out[i].data = values[idx(n.outputs[i])].data();
      }
      run_reference(NodeRef(graph, id), views.in, views.out);
    }
    std::vector<Tensor> results;
    for (ValueId v : graph.outputs) results.push_back(values[idx(v)]);
    return results;
  }

  std::size_t live() const { return graph.topological_order().size(); }
};

}  // namespace stowage
