// SPDX-License-Identifier: Apache-2.0
#include "graph/import_rule.h"

#include <algorithm>

#include "base/text.h"

namespace stowage {

namespace {

Attributes as_attributes(std::initializer_list<NamedAttribute> list) {
  Attributes out;
  for (const auto& [name, value] : list) out.set(name, value);
  return out;
}

}  // namespace

bool ImportNode::is_state(int) const { return false; }

ValueId ImportNode::weight(int i) { fail(ErrorCode::bad_input, "it has no weights ", i); }

bool ImportNode::is_read(int i) const { return i < output_count(); }

std::vector<ValueId> ImportNode::node_inputs() {
  if (inputs_) return *inputs_;
  std::vector<ValueId> all;
  for (int i = 0; i < input_count(); ++i) all.push_back(optional(i));
  return all;
}

DType ImportNode::output_dtype(int i) const {
  fail(ErrorCode::unsupported, "the file does not say the dtype of output ", i);
}

void ImportNode::expect(int least_inputs, int most_inputs, int outputs) const {
  if (input_count() < least_inputs || input_count() > most_inputs) {
    fail(ErrorCode::bad_input, "it has ", input_count(), " inputs, not ", least_inputs,
         least_inputs == most_inputs ? text() : text(" to ", most_inputs));
  }
  if (output_count() != outputs) {
    fail(ErrorCode::bad_input, "it has ", output_count(), " outputs, not ", outputs);
  }
}

std::vector<ValueId> ImportNode::all_inputs() {
  std::vector<ValueId> all;
  for (int i = 0; i < input_count(); ++i) all.push_back(in(i));
  return all;
}

Ints ImportNode::ints(int i) {
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

std::int64_t ImportNode::axis(int i) {
  const Ints axis = ints(i);
  if (axis.size() != 1) fail(ErrorCode::bad_input, "its axis is ", axis.size(), " numbers");
  return axis[0];
}

ValueId ImportNode::emit(std::string_view op, std::vector<ValueId> inputs,
                         std::initializer_list<NamedAttribute> attributes) {
  return emit_many(op, std::move(inputs), 1, as_attributes(attributes))[0];
}

std::vector<ValueId> ImportNode::emit_many(std::string_view op, std::vector<ValueId> inputs,
                                           int outputs,
                                           std::initializer_list<NamedAttribute> attributes) {
  return emit_many(op, std::move(inputs), outputs, as_attributes(attributes));
}

ValueId ImportNode::constant(float scalar) {
  Tensor t(DType::f32, Shape());
  t.as<float>()[0] = scalar;
  return constant(std::move(t));
}

ValueId ImportNode::reshape(ValueId v, const Ints& extents) {
  if (std::ranges::equal(shape(v).extents(), extents)) return v;
  return emit("reshape", {v}, {{"shape", extents}, {"allowzero", std::int64_t{1}}});
}

ValueId ImportNode::activate(ValueId v) {
  if (!activation.unsupported.empty()) fail(ErrorCode::unsupported, activation.unsupported);
  return activation.op.empty() ? v : emit(activation.op, {v}, activation.attrs);
}

ValueId ImportNode::image(int i) {
  const ValueId v = in(i);
  if (shape(v).rank() != 4) {
    fail(ErrorCode::bad_input, "input ", i, " has rank ", shape(v).rank(), ", not 4");
  }
  return channels_second(v);
}

void ImportNode::out_image(ValueId v) { out(channels_last(activate(v))); }

}  // namespace stowage
