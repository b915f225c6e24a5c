// SPDX-License-Identifier: Apache-2.0
#include "import/tflite_graph.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/checked.h"
#include "base/scalar.h"
#include "base/trail.h"
#include "import/readers.h"

namespace stowage {

namespace {

std::size_t idx(int i) { return static_cast<std::size_t>(i); }

std::int64_t elements_of(const Ints& extents) {
  std::int64_t n = 1;
  for (std::int64_t e : extents) n = checked_mul(n, e);
  return n;
}

/// (x - zero_point) * scale; indices of the axis that has several scales come in runs.
template <class T>
void dequantize(const TfliteTensor& from, Tensor& into) {
  const TfliteQuantization& q = from.quantization;
  std::int64_t run = 1;
  for (std::size_t i = idx(std::max(q.axis, 0)) + 1; i < from.shape.size(); ++i)
    run *= from.shape[i];
  const auto scales = static_cast<std::int64_t>(q.scale.size());
  const auto out = into.as<float>();
  for (std::size_t i = 0; i < out.size(); ++i) {
    T x;
    std::memcpy(&x, from.data.data() + i * sizeof(T), sizeof(T));
    const std::int64_t s = scales == 1 ? 0 : static_cast<std::int64_t>(i) / run % scales;
    const auto k = static_cast<std::size_t>(s);
    const std::int64_t zero = q.zero_point.empty()       ? 0
                              : q.zero_point.size() == 1 ? q.zero_point[0]
                                                         : q.zero_point[k];
    out[i] = static_cast<float>((static_cast<double>(x) - static_cast<double>(zero)) *
                                static_cast<double>(q.scale[k]));
  }
}

bool is_small_integer(DType d) { return d == DType::i8 || d == DType::u8 || d == DType::i16; }

}  // namespace

TfliteGraph::TfliteGraph(const TfliteFile& file, ImportBudget& budget)
    : file_(file),
      budget_(budget),
      graph_(std::make_shared<Graph>()),
      inference_(*graph_),
      values_(file.tensors.size(), kNoValue) {
  graph_->name = file.name;
  graph_->source_format = DataFormat::nhwc;
}

std::string TfliteGraph::unique(std::string name) {
  if (name.empty()) name = "tensor";
  if (names_.try_emplace(name, 0).second) return name;
  while (true) {
    const int k = ++names_[name];
    std::string other = text(name, ".", k);
    if (names_.try_emplace(other, 0).second) return other;
  }
}

bool TfliteGraph::is_input(ValueId v) const {
  return std::ranges::find(graph_->inputs, v) != graph_->inputs.end();
}

void TfliteGraph::add_input(int tensor, const Ints& extents, const ImportOptions& options) {
  const TfliteTensor& t = file_.tensors[idx(tensor)];
  if (values_[idx(tensor)] != kNoValue) {
    fail(ErrorCode::bad_input, "the input '", t.name, "' is listed twice");
  }
  // It is given by the name of the file, even if that is empty.
  const std::string name = names_.try_emplace(t.name, 0).second ? t.name : unique(t.name);
  values_[idx(tensor)] =
      stowage::add_input(*graph_, name, tflite_dtype(t), plain_shape(extents), options);
}

Tensor TfliteGraph::read_constant(const TfliteTensor& t) {
  if (t.sparse) fail(ErrorCode::unsupported, "it is sparse");
  const DType dtype = tflite_dtype(t);
  const std::int64_t elements = elements_of(t.shape);
  const auto need = checked_mul(elements, dtype_bytes(dtype));
  if (static_cast<std::int64_t>(t.data.size()) != need) {
    fail(ErrorCode::bad_input, "it brings ", t.data.size(), " bytes of data, ", elements,
         " elements of ", dtype_name(dtype), " do not fit that");
  }
  const bool quantized = !t.quantization.empty() && is_small_integer(dtype);
  if (quantized) check_quantization(t);
  const DType to = quantized ? DType::f32 : dtype;
  budget_.take_value(t.name, checked_mul(elements, dtype_bytes(to)));
  Tensor out(to, plain_shape(t.shape));
  if (!quantized) {
    if (need > 0) std::memcpy(out.data(), t.data.data(), t.data.size());
    if (dtype == DType::boolean) {
      for (std::uint8_t& b : out.as<std::uint8_t>()) b = b != 0;
    }
  } else if (dtype == DType::i8) {
    dequantize<std::int8_t>(t, out);
  } else if (dtype == DType::u8) {
    dequantize<std::uint8_t>(t, out);
  } else {
    dequantize<std::int16_t>(t, out);
  }
  return out;
}

ValueId TfliteGraph::value_of(int tensor) {
  ValueId& v = values_[idx(tensor)];
  if (v != kNoValue) return v;
  const TfliteTensor& t = file_.tensors[idx(tensor)];
  const Trail trail("tensor", t.name);
  if (t.variable) fail(ErrorCode::unsupported, "it is a variable that the operator keeps");
  const bool empty = std::ranges::find(t.shape, 0) != t.shape.end();
  if (!t.is_constant() && !empty) fail(ErrorCode::bad_input, "nothing produces it");
  v = graph_->add_constant(unique(t.name), read_constant(t));
  return v;
}

void TfliteGraph::define(int tensor, ValueId value) {
  const TfliteTensor& t = file_.tensors[idx(tensor)];
  if (values_[idx(tensor)] != kNoValue || t.is_constant()) {
    fail(ErrorCode::bad_input, "the tensor '", t.name, "' is produced twice");
  }
  if (named_.size() < idx(graph_->value_count())) named_.resize(idx(graph_->value_count()), false);
  Value& v = graph_->value(value);
  // A value that already bears the name of a tensor, or that an operator only reads, keeps it.
  if (!is_input(value) && !named_[idx(value)] && v.producer != kNoNode) {
    named_[idx(value)] = true;
    v.name = unique(t.name);
    graph_->node(v.producer).name = v.name;
  }
  values_[idx(tensor)] = value;
}

void TfliteGraph::add_output(int tensor) {
  const TfliteTensor& t = file_.tensors[idx(tensor)];
  ValueId v = value_of(tensor);
  // Outputs have the names of the file, and are values of their own.
  if (outputs_.contains(v) || is_input(v) || graph_->value(v).name != t.name) {
    v = emit("identity", t.name, {v}, {}, 1)[0];
    if (names_.try_emplace(t.name, 0).second) graph_->value(v).name = t.name;
  }
  outputs_.insert(v);
  graph_->outputs.push_back(v);
}

ValueId TfliteGraph::constant(std::string_view name, Tensor tensor) {
  budget_.take_value(std::string(name), static_cast<std::int64_t>(tensor.bytes()));
  return graph_->add_constant(unique(text(name, ".constant")), std::move(tensor));
}

std::vector<ValueId> TfliteGraph::emit(std::string_view op, std::string_view name,
                                       std::vector<ValueId> inputs,
                                       std::span<const NamedAttribute> attributes, int outputs) {
  Node node;
  node.op = find_op(op);
  if (node.op == nullptr) fail(ErrorCode::unsupported, "the operator '", op, "' is not there");
  node.name = unique(text(name, ".", op));
  while (!inputs.empty() && inputs.back() == kNoValue) inputs.pop_back();
  node.inputs = std::move(inputs);
  for (const auto& [key, value] : attributes) node.attrs.set(key, value);
  std::vector<ValueId> out;
  for (int i = 0; i < outputs; ++i) {
    Value value;
    value.name = outputs == 1 ? node.name : unique(text(node.name, ".", i));
    out.push_back(graph_->add_value(std::move(value)));
  }
  node.outputs = out;
  budget_.take_node();
  inference_.run(graph_->add_node(std::move(node)));
  for (ValueId v : out) {
    const Value& value = graph_->value(v);
    budget_.take_value(value.name, checked_mul(value.shape.elements(), dtype_bytes(value.dtype)));
  }
  return out;
}

ValueId TfliteGraph::turned(ValueId v, std::string_view name,
                            std::initializer_list<std::int64_t> perm, Turns& there, Turns& back) {
  const auto known = there.find(v);
  if (known != there.end()) return known->second;
  const NamedAttribute attributes[] = {{"perm", Ints(perm)}};
  const ValueId out = emit("transpose", name, {v}, attributes, 1)[0];
  there[v] = out;
  back[out] = v;
  return out;
}

ValueId TfliteGraph::channels_second(ValueId v, std::string_view name) {
  return turned(v, name, {0, 3, 1, 2}, second_of_, last_of_);
}

ValueId TfliteGraph::channels_last(ValueId v, std::string_view name) {
  return turned(v, name, {0, 2, 3, 1}, last_of_, second_of_);
}

std::string_view TfliteNode::name() const {
  return op_.outputs.empty() ? std::string_view(op_.type)
                             : std::string_view(graph_.file().tensors[idx(op_.outputs[0])].name);
}

void TfliteNode::expect(int least_inputs, int most_inputs, int outputs) const {
  if (input_count() < least_inputs || input_count() > most_inputs) {
    fail(ErrorCode::bad_input, "it has ", input_count(), " inputs, not ", least_inputs,
         least_inputs == most_inputs ? text() : text(" to ", most_inputs));
  }
  if (output_count() != outputs) {
    fail(ErrorCode::bad_input, "it has ", output_count(), " outputs, not ", outputs);
  }
}

const TfliteTensor& TfliteNode::input_tensor(int i) const {
  if (!has(i)) fail(ErrorCode::bad_input, "input ", i, " is missing");
  return graph_.file().tensors[idx(op_.inputs[idx(i)])];
}

const TfliteTensor& TfliteNode::output_tensor(int i) const {
  if (i >= output_count()) fail(ErrorCode::bad_input, "output ", i, " is missing");
  return graph_.file().tensors[idx(op_.outputs[idx(i)])];
}

ValueId TfliteNode::in(int i) const {
  if (!has(i)) fail(ErrorCode::bad_input, "input ", i, " is missing");
  return graph_.value_of(op_.inputs[idx(i)]);
}

Ints TfliteNode::ints(int i) const {
  const Value& v = value(in(i));
  if (v.constant == nullptr) {
    fail(ErrorCode::unsupported, "input ", i, " ('", v.name,
         "') must be known before the model runs");
  }
  Ints out;
  if (v.dtype == DType::i32) {
    for (std::int32_t x : v.constant->as<std::int32_t>()) out.push_back(x);
  } else if (v.dtype == DType::i64) {
    for (std::int64_t x : v.constant->as<std::int64_t>()) out.push_back(x);
  } else {
    fail(ErrorCode::bad_input, "input ", i, " ('", v.name, "') must hold i32 or i64, not ",
         dtype_name(v.dtype));
  }
  return out;
}

ValueId TfliteNode::emit(std::string_view op, std::vector<ValueId> inputs,
                         std::initializer_list<NamedAttribute> attributes) const {
  return emit_many(op, std::move(inputs), 1, attributes)[0];
}

std::vector<ValueId> TfliteNode::emit_many(std::string_view op, std::vector<ValueId> inputs,
                                           int outputs,
                                           std::initializer_list<NamedAttribute> attributes) const {
  return graph_.emit(op, name(), std::move(inputs), {attributes.begin(), attributes.size()},
                     outputs);
}

ValueId TfliteNode::constant(float scalar) const {
  Tensor t(DType::f32, Shape());
  t.as<float>()[0] = scalar;
  return constant(std::move(t));
}

ValueId TfliteNode::reshape(ValueId v, const Ints& extents) const {
  if (std::ranges::equal(shape(v).extents(), extents)) return v;
  return emit("reshape", {v}, {{"shape", extents}, {"allowzero", std::int64_t{1}}});
}

ValueId TfliteNode::activate(ValueId v, int function) const {
  switch (function) {
    case tfl::ActivationFunction_NONE:
      return v;
    case tfl::ActivationFunction_RELU:
      return emit("relu", {v});
    case tfl::ActivationFunction_RELU_N1_TO_1:
      return emit("clip", {v}, {{"min", -1.0f}, {"max", 1.0f}});
    case tfl::ActivationFunction_RELU6:
      return emit("clip", {v}, {{"min", 0.0f}, {"max", 6.0f}});
    case tfl::ActivationFunction_TANH:
      return emit("tanh", {v});
    default:
      fail(ErrorCode::unsupported, "the fused activation ", function);
  }
}

void TfliteNode::out(int i, ValueId v) const { graph_.define(op_.outputs[idx(i)], v); }

void TfliteNode::fail_options() const {
  fail(ErrorCode::bad_input, "it does not have the options of its operator");
}

}  // namespace stowage
