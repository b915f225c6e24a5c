// SPDX-License-Identifier: Apache-2.0
#include "import/builder.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "base/index.h"
#include "base/trail.h"
#include "import/readers.h"

namespace stowage {

namespace {

/// What the outputs of nodes have until their operator gives them a shape; one that keeps it is
/// an output that the operator does not have.
const Shape& unset_shape() {
  static const Shape unset = Shape::parse("unset=0");
  return unset;
}

std::int64_t bytes_of(const Value& value) {
  return checked_mul(value.shape.elements(), dtype_bytes(value.dtype));
}

}  // namespace

Builder::Builder(std::string model, DataFormat source_format, ImportBudget& budget)
    : budget_(budget), graph_(std::make_shared<Graph>()), inference_(*graph_) {
  graph_->name = std::move(model);
  graph_->source_format = source_format;
}

ValueId Builder::add_input(const std::string& name, DType dtype, const Ints& extents,
                           const SpecialiseOptions& options) {
  Value value;
  value.name = name;
  value.dtype = dtype;
  value.shape = Shape::unnamed(extents);
  budget_.take_value(name, bytes_of(value));
  if (const auto known = options.known.find(name); known != options.known.end()) {
    const Tensor& tensor = known->second;
    if (tensor.dtype() != dtype || !std::ranges::equal(tensor.shape().extents(), extents)) {
      fail(ErrorCode::usage, "input '", name, "' is ", dtype_name(dtype), " ",
           value.shape.extents(), ", but what is known of it is ", dtype_name(tensor.dtype()), " ",
           tensor.shape().extents());
    }
    return graph_->add_constant(name, tensor);
  }
  graph_->inputs.push_back(graph_->add_value(std::move(value)));
  return graph_->inputs.back();
}

bool Builder::is_input(ValueId v) const {
  return std::ranges::find(graph_->inputs, v) != graph_->inputs.end();
}

ValueId Builder::add_constant(std::string name, std::shared_ptr<const Tensor> tensor) {
  return graph_->add_constant(std::move(name), std::move(tensor));
}

ValueId Builder::constant(std::string_view name, Tensor tensor) {
  budget_.take_value(std::string(name), static_cast<std::int64_t>(tensor.bytes()));
  return graph_->add_constant(unique(text(name, ".constant")), std::move(tensor));
}

NodeId Builder::add_node(Node node, std::span<const std::string> outputs) {
  while (!node.inputs.empty() && node.inputs.back() == kNoValue) node.inputs.pop_back();
  node.outputs.clear();
  for (const std::string& name : outputs) {
    if (name.empty()) {
      node.outputs.push_back(kNoValue);
      continue;
    }
    Value value;
    value.name = name;
    value.shape = unset_shape();
    node.outputs.push_back(graph_->add_value(std::move(value)));
  }
  while (!node.outputs.empty() && node.outputs.back() == kNoValue) node.outputs.pop_back();
  return graph_->add_node(std::move(node));
}

void Builder::infer(NodeId id) {
  inference_.run(id);
  const Node& node = graph_->node(id);
  for (ValueId v : node.outputs) {
    if (v == kNoValue) continue;
    const Value& value = graph_->value(v);
    if (value.shape == unset_shape()) {
      const Trail trail("node", node.name, node.type);
      fail(ErrorCode::bad_input, "its operator has no such output as '", value.name, "'");
    }
    budget_.take_value(value.name, bytes_of(value));
  }
}

std::vector<ValueId> Builder::emit(std::string_view op, std::string_view name,
                                   std::vector<ValueId> inputs, int outputs,
                                   const Attributes& attributes) {
  Node node;
  node.op = find_op(op);
  if (node.op == nullptr) fail(ErrorCode::unsupported, "the operator '", op, "' is not there");
  node.name = unique(text(name, ".", op));
  node.inputs = std::move(inputs);
  node.attrs = attributes;
  std::vector<std::string> names;
  for (int i = 0; i < outputs; ++i) {
    names.push_back(outputs == 1 ? node.name : unique(text(node.name, ".", i)));
  }
  budget_.take_node();
  const NodeId id = add_node(std::move(node), names);
  const std::vector<ValueId> out = graph_->node(id).outputs;
  unnamed_.insert(out.begin(), out.end());
  infer(id);
  return out;
}

ValueId Builder::turned(ValueId v, std::string_view name, std::initializer_list<std::int64_t> perm,
                        Turns& there, Turns& back) {
  const auto known = there.find(v);
  if (known != there.end()) return known->second;
  Attributes attributes;
  attributes.set("perm", Ints(perm));
  const ValueId out = emit("transpose", name, {v}, 1, attributes)[0];
  there[v] = out;
  back[out] = v;
  return out;
}

ValueId Builder::channels_second(ValueId v, std::string_view name) {
  return turned(v, name, {0, 3, 1, 2}, second_of_, last_of_);
}

ValueId Builder::channels_last(ValueId v, std::string_view name) {
  return turned(v, name, {0, 2, 3, 1}, last_of_, second_of_);
}

std::string Builder::unique(std::string name) {
  if (name.empty()) name = "tensor";
  if (reserve(name)) return name;
  while (true) {
    const int k = ++names_[name];
    std::string other = text(name, ".", k);
    if (reserve(other)) return other;
  }
}

bool Builder::takes_name(ValueId v) const {
  return unnamed_.contains(v) && graph_->value(v).producer != kNoNode;
}

void Builder::rename(ValueId v, const std::string& name) {
  unnamed_.erase(v);
  Value& value = graph_->value(v);
  value.name = name;
  if (value.producer != kNoNode) graph_->node(value.producer).name = name;
}

void BuilderNode::import(const ForeignMatch& match) {
  NodeId waiting = kNoNode;
  {
    const Trail trail("node", name, type);
    if (match.name->import != nullptr) match.name->import(*this);
    if (!defined_) waiting = as_is(*match.op);
  }
  if (waiting != kNoNode) builder_.infer(waiting);  // its trail names the node
}

NodeId BuilderNode::as_is(const OpDef& op) {
  const auto outputs = emit_many(op.name, node_inputs(), node_outputs(), attrs);
  for (int i = 0; i < node_outputs(); ++i) {
    define(i, i == 0 ? activate(outputs[0]) : outputs[idx(i)]);
  }
  return kNoNode;
}

void BuilderNode::out(int i, ValueId v) {
  defined_ = true;
  define(i, v);
}

}  // namespace stowage
