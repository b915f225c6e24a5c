// SPDX-License-Identifier: Apache-2.0
#include "import/tflite_graph.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/checked.h"
#include "base/index.h"
#include "base/scalar.h"
#include "base/trail.h"

namespace stowage {

namespace {

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

/// Value::step of a constant that was dequantised.
float step_of(const TfliteTensor& from) {
  const TfliteQuantization& q = from.quantization;
  if (tflite_dtype(from) != DType::i8 || q.scale.size() != 1) return 0;
  if (std::ranges::any_of(q.zero_point, [](std::int64_t zero) { return zero != 0; })) return 0;
  // Else elements may be infinite, or rounded.
  const float step = q.scale[0];
  const bool exact = std::isnormal(step) && std::isfinite(step * 128);
  return exact ? step : 0;
}

bool is_small_integer(DType d) { return d == DType::i8 || d == DType::u8 || d == DType::i16; }

}  // namespace

TfliteGraph::TfliteGraph(const TfliteFile& file, const TfliteConstants& constants,
                         ImportBudget& budget)
    : file_(file),
      constants_(constants),
      budget_(budget),
      builder_(file.name, DataFormat::nhwc, budget),
      values_(file.tensors.size(), kNoValue) {}

void TfliteGraph::add_input(int tensor, const Ints& extents, const SpecialiseOptions& options) {
  const TfliteTensor& t = file_.tensors[idx(tensor)];
  if (values_[idx(tensor)] != kNoValue) {
    fail(ErrorCode::bad_input, "the input '", t.name, "' is listed twice");
  }
  // It is given by the name of the file, even if that is empty.
  const std::string name = builder_.reserve(t.name) ? t.name : builder_.unique(t.name);
  values_[idx(tensor)] = builder_.add_input(name, tflite_dtype(t), extents, options);
}

TfliteConstant read_tflite_constant(const TfliteTensor& t, ImportBudget& budget) {
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
  budget.take_value(t.name, checked_mul(elements, dtype_bytes(to)));
  Tensor out(to, Shape::unnamed(t.shape));
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
  return {std::make_shared<const Tensor>(std::move(out)), step_of(t)};
}

ValueId TfliteGraph::value_of(int tensor) {
  ValueId& v = values_[idx(tensor)];
  if (v != kNoValue) return v;
  const TfliteTensor& t = file_.tensors[idx(tensor)];
  const Trail trail("tensor", t.name);
  if (t.variable) fail(ErrorCode::unsupported, "it is a variable that the operator keeps");
  TfliteConstant constant = constants_[idx(tensor)];
  if (constant.tensor == nullptr) {  // without elements it needs no data
    const bool empty = std::ranges::find(t.shape, 0) != t.shape.end();
    if (t.constant || !empty) fail(ErrorCode::bad_input, "nothing produces it");
    constant = read_tflite_constant(t, budget_);
  }
  v = builder_.add_constant(builder_.unique(t.name), std::move(constant.tensor));
  builder_.graph().value(v).step = constant.step;
  return v;
}

void TfliteGraph::define(int tensor, ValueId value) {
  const TfliteTensor& t = file_.tensors[idx(tensor)];
  if (values_[idx(tensor)] != kNoValue || t.constant) {
    fail(ErrorCode::bad_input, "the tensor '", t.name, "' is produced twice");
  }
  // A value that already bears the name of a tensor, or that an operator only reads, keeps it.
  if (builder_.takes_name(value)) builder_.rename(value, builder_.unique(t.name));
  values_[idx(tensor)] = value;
}

void TfliteGraph::add_output(int tensor) {
  const TfliteTensor& t = file_.tensors[idx(tensor)];
  ValueId v = value_of(tensor);
  // Outputs have the names of the file, and are values of their own.
  if (outputs_.contains(v) || builder_.is_input(v) || builder_.value(v).name != t.name) {
    v = builder_.emit("identity", t.name, {v}, 1, {})[0];
    if (builder_.reserve(t.name)) builder_.graph().value(v).name = t.name;
  }
  outputs_.insert(v);
  builder_.graph().outputs.push_back(v);
}

TfliteNode::TfliteNode(TfliteGraph& graph, const TfliteOperator& op, const TfliteOptions& options)
    : BuilderNode(graph.builder(), "tflite"), graph_(graph), op_(op) {
  type = op.type;
  domain = op.custom ? "custom" : "";
  name = op.outputs.empty() ? op.type : graph.file().tensors[idx(op.outputs[0])].name;
  attrs = options.attrs;
  activation = options.activation;
}

ValueId TfliteNode::in(int i) {
  if (!has(i)) fail(ErrorCode::bad_input, "input ", i, " is missing");
  return graph_.value_of(op_.inputs[idx(i)]);
}

bool TfliteNode::is_state(int i) const {
  return has(i) && graph_.file().tensors[idx(op_.inputs[idx(i)])].variable;
}

DType TfliteNode::output_dtype(int i) const {
  if (i >= output_count()) fail(ErrorCode::bad_input, "output ", i, " is missing");
  return tflite_dtype(graph_.file().tensors[idx(op_.outputs[idx(i)])]);
}

void TfliteNode::define(int i, ValueId v) { graph_.define(op_.outputs[idx(i)], v); }

}  // namespace stowage
