// SPDX-License-Identifier: Apache-2.0
// Small nets of real operators for the planner's tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graph/op_def.h"
#include "stowage/model.h"

namespace stowage {

/// Nets over one input, node by node; names are the operators' with a number.
class Net {
 public:
  Net() : graph_(std::make_shared<Graph>()) {}

  ValueId input(std::initializer_list<std::int64_t> extents, std::string name = "x") {
    Value v;
    v.name = std::move(name);
    v.shape = Shape::unnamed(extents);
    graph_->inputs.push_back(graph_->add_value(std::move(v)));
    return graph_->inputs.back();
  }

  ValueId weights(std::initializer_list<std::int64_t> extents) {
    const Shape shape = Shape::unnamed(extents);
    return graph_->add_constant("w" + std::to_string(graph_->value_count()),
                                Tensor(DType::f32, shape));
  }

  ValueId ints(const std::vector<std::int64_t>& list) {
    Tensor t(DType::i64, Shape("a", {static_cast<std::int64_t>(list.size())}));
    std::copy(list.begin(), list.end(), t.as<std::int64_t>().begin());
    return graph_->add_constant("i" + std::to_string(graph_->value_count()), std::move(t));
  }

  ValueId add(std::string_view op, std::vector<ValueId> inputs, const Attributes& attrs = {}) {
    Node n;
    n.op = find_op(op);
    EXPECT_NE(n.op, nullptr) << op;
    n.name = std::string(op) + std::to_string(graph_->node_count());
    n.attrs = attrs;
    n.inputs = std::move(inputs);
    Value v;
    v.name = n.name + ":0";
    n.outputs = {graph_->add_value(std::move(v))};
    const ValueId out = n.outputs[0];
    graph_->add_node(std::move(n));
    return out;
  }

  /// 3x3, padded, `from` channels to `to`.
  ValueId conv(ValueId x, std::int64_t from, std::int64_t to) {
    Attributes attrs;
    attrs.set("pads", Ints{1, 1, 1, 1});
    return add("conv", {x, weights({to, from, 3, 3})}, attrs);
  }

  ValueId transpose(ValueId x, const Ints& perm) {
    Attributes attrs;
    attrs.set("perm", perm);
    return add("transpose", {x}, attrs);
  }

  ValueId reshape(ValueId x, const std::vector<std::int64_t>& to) {
    return add("reshape", {x, ints(to)});
  }

  std::shared_ptr<Graph> finish(std::vector<ValueId> outputs,
                                DataFormat source = DataFormat::nchw) {
    graph_->source_format = source;
    graph_->outputs = std::move(outputs);
    infer_shapes(*graph_);
    name_axes(*graph_);
    graph_->simplified = true;  // planned as it is written
    return graph_;
  }

 private:
  std::shared_ptr<Graph> graph_;
};

}  // namespace stowage
