// SPDX-License-Identifier: Apache-2.0
#include "graph/op_def.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "base/scalar.h"
#include "base/text.h"

namespace stowage {

int NodeRef::input_count() const {
  auto count = static_cast<int>(node().inputs.size());
  for (const Post& post : node().posts) {
    if (post.input >= 0) count = std::min(count, post.input);
  }
  return count;
}

bool NodeRef::has(int i) const {
  return i >= 0 && i < input_count() && node().inputs[static_cast<std::size_t>(i)] != kNoValue;
}

const Value& NodeRef::input(int i) const {
  if (!has(i)) fail(ErrorCode::bad_input, "input ", i, " is missing");
  return graph_->value(node().inputs[static_cast<std::size_t>(i)]);
}

bool NodeRef::has_output(int i) const {
  const auto& out = node().outputs;
  return i >= 0 && i < static_cast<int>(out.size()) && out[static_cast<std::size_t>(i)] != kNoValue;
}

const Value& NodeRef::output(int i) const {
  if (!has_output(i)) fail(ErrorCode::bad_input, "output ", i, " is missing");
  return graph_->value(node().outputs[static_cast<std::size_t>(i)]);
}

const Tensor* NodeRef::constant(int i) const { return has(i) ? input(i).constant.get() : nullptr; }

Ints NodeRef::constant_ints(int i) const {
  const Value& v = input(i);
  if (v.constant == nullptr) {
    fail(ErrorCode::unsupported, "input ", i, " ('", v.name,
         "') must be known before the model runs");
  }
  const auto read = [&](const auto* from) {
    return Ints(from, from + v.constant->shape().elements());
  };
  if (v.dtype == DType::i64) return read(v.constant->as<std::int64_t>().data());
  if (v.dtype == DType::i32) return read(v.constant->as<std::int32_t>().data());
  fail(ErrorCode::bad_input, "input ", i, " ('", v.name, "') must hold i64 or i32, not ",
       dtype_name(v.dtype));
}

Floats NodeRef::constant_floats(int i) const {
  const Value& v = input(i);
  if (v.constant == nullptr) {
    fail(ErrorCode::unsupported, "input ", i, " ('", v.name,
         "') must be known before the model runs");
  }
  const auto read = [&]<class T>(T, auto as_float) {
    Floats out(static_cast<std::size_t>(v.shape.elements()));
    for (std::size_t k = 0; k < out.size(); ++k) {
      T x;
      std::memcpy(&x, v.constant->data() + k * sizeof(T), sizeof(T));
      out[k] = as_float(x);
    }
    return out;
  };
  switch (v.dtype) {
    case DType::f32:
      return read(0.0f, [](float x) { return x; });
    case DType::f64:
      return read(0.0, [](double x) { return static_cast<float>(x); });
    case DType::f16:
      return read(std::uint16_t{}, f16_to_f32);
    case DType::bf16:
      return read(std::uint16_t{}, bf16_to_f32);
    default:
      fail(ErrorCode::unsupported, "input ", i, " is ", dtype_name(v.dtype),
           ", not a floating-point type");
  }
}

std::optional<Ints> NodeRef::ints_of(std::string_view name, int i) const {
  if (attrs().has(name)) return attrs().integers(name);
  if (has(i)) return constant_ints(i);
  return std::nullopt;
}

std::optional<float> NodeRef::float_of(std::string_view name, int i) const {
  if (attrs().has(name)) return attrs().real(name, 0);
  if (!has(i)) return std::nullopt;
  const Value& v = input(i);
  if (v.constant == nullptr) {
    fail(ErrorCode::unsupported, "input ", i, " ('", v.name,
         "') must be known before the model runs");
  }
  if (v.dtype != DType::f32 || v.shape.elements() != 1) {
    fail(ErrorCode::bad_input, "input ", i, " ('", v.name, "') must be one f32");
  }
  return v.constant->as<float>()[0];
}

void InferRef::set_output(int i, DType dtype, std::span<const std::int64_t> extents) const {
  if (!has_output(i)) return;
  Value& v = graph_->value(node().outputs[static_cast<std::size_t>(i)]);
  v.dtype = dtype;
  v.shape = Shape::unnamed(extents);
}

void InferRef::set_output(int i, DType dtype, std::initializer_list<std::int64_t> extents) const {
  set_output(i, dtype, std::span<const std::int64_t>(extents.begin(), extents.size()));
}

void InferRef::set_fact(std::string_view name, Attribute value) const {
  graph_->node(id()).facts.set(name, std::move(value));
}

void InferRef::set_known(Tensor result) const {
  if (!has_output(0)) return;
  Node& n = graph_->node(id());
  Value& value = graph_->value(n.outputs[0]);
  value.constant = std::make_shared<const Tensor>(std::move(result));
  value.producer = kNoNode;
  n.removed = n.evaluated = true;
}

void complete_inputs(const NodeRef& node, Offer& offer) {
  for (int i = static_cast<int>(offer.in.size()); i < node.input_count(); ++i) {
    offer.in.push_back(node.has(i) ? Layout::row_major(node.shape(i)) : Layout());
  }
  if (offer.in.size() < node.node().inputs.size()) {
    fail(ErrorCode::internal, "'", offer.name(),
         "' says nothing of what its posts read; this is a ", "bug in the operator");
  }
}

void NodeRef::expect_inputs(int lo, int hi) const {
  if (input_count() > hi) {
    fail(ErrorCode::bad_input, "it has ", input_count(), " inputs, at most ", hi, " make sense");
  }
  for (int i = 0; i < lo; ++i) {
    if (!has(i)) fail(ErrorCode::bad_input, "input ", i, " is missing");
  }
}

void NodeRef::expect_dtype(int i, std::initializer_list<DType> allowed) const {
  const DType actual = dtype(i);
  for (DType d : allowed) {
    if (d == actual) return;
  }
  std::string names;
  for (DType d : allowed) names.append(names.empty() ? "" : ", ").append(dtype_name(d));
  fail(ErrorCode::unsupported, "input ", i, " is ", dtype_name(actual), "; supported: ", names);
}

int normal_axis(std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    fail(ErrorCode::bad_input, "axis ", axis, " is out of range for rank ", rank);
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::vector<Layout> OfferRequest::candidates(ValueId value) const {
  std::vector<Layout> out;
  for (const int id : candidates_of[static_cast<std::size_t>(value)]) {
    const Format& f = formats[id];
    if (f.place == Place{} && f.dtype == node.graph().value(value).dtype) out.push_back(f.layout);
  }
  return out;
}

std::vector<Operand> OfferRequest::device_candidates(ValueId value) const {
  std::vector<Operand> out;
  for (const int id : candidates_of[static_cast<std::size_t>(value)]) {
    const Format& f = formats[id];
    if (f.place.device == 0) continue;
    out.push_back(f.layout);
    out.back().place = f.place;
    out.back().dtype = f.dtype;
  }
  return out;
}

void link_elementwise(const NodeRef& node, AxisLinks& links) {
  for (int o = 0; o < node.output_count(); ++o) {
    if (!node.has_output(o)) continue;
    const Shape& out = node.output(o).shape;
    for (int i = 0; i < node.input_count(); ++i) {
      if (!node.has(i)) continue;
      const Shape& in = node.shape(i);
      const int shift = out.rank() - in.rank();
      for (int k = 0; k < in.rank(); ++k) {
        if (k + shift < 0 || in[k] != out[k + shift]) continue;
        links.link(node.node().inputs[static_cast<std::size_t>(i)], k,
                   node.node().outputs[static_cast<std::size_t>(o)], k + shift);
      }
    }
  }
}

std::optional<Attributes> permute_nothing(const NodeRef& node, std::span<const std::int64_t>) {
  return node.attrs();
}

bool ScaleShift::scales() const {
  return std::ranges::any_of(scale, [](float v) { return v != 1.0f; });
}

bool ScaleShift::shifts() const {
  return std::ranges::any_of(shift, [](float v) { return v != 0.0f; });
}

const OpDef* find_op(std::string_view name) {
  for (const auto* family : op_families()) {
    for (const OpDef& op : *family) {
      if (op.name == name) return &op;
    }
  }
  return nullptr;
}

std::vector<const KernelDef*> all_kernels() {
  std::vector<const KernelDef*> all = {&kReferenceKernel};
  for (const auto* family : op_families()) {
    for (const OpDef& op : *family) {
      for (const auto kernels : {op.kernels, op.device_kernels}) {
        for (const KernelDef* def : kernels) {
          if (std::find(all.begin(), all.end(), def) == all.end()) all.push_back(def);
        }
      }
    }
  }
  return all;
}

const KernelDef* find_kernel(std::string_view name) {
  for (const KernelDef* def : all_kernels()) {
    if (def->name == name) return def;
  }
  return nullptr;
}

bool takes_post(const NodeRef& node, const Post& next) {
  const std::span<const KernelDef* const> kernels = node.node().op->kernels;
  Posts posts = node.node().posts;
  posts.push_back(next);
  return posts.size() <= std::size_t{kMostPosts} && !kernels.empty() &&
         std::ranges::all_of(kernels, [&](const KernelDef* def) {
           return def->takes != nullptr && def->takes(posts);
         });
}

void archive(Archive& a, KernelCall& call) {
  std::string name(call.name());
  a("kernel", name);
  if (!a.reading()) return call.write(a);
  call = {};
  if (name.empty()) return;
  const KernelDef* def = find_kernel(name);
  if (def == nullptr) fail(ErrorCode::bad_input, "there is no kernel '", name, "'");
  call = KernelCall::read(*def, a);
}

ForeignMatch find_foreign_op(std::string_view format, std::string_view type) {
  using Types = std::unordered_map<std::string_view, ForeignMatch>;
  static const auto formats = [] {
    std::unordered_map<std::string_view, Types> all;
    for (const auto* family : op_families()) {
      for (const OpDef& op : *family) {
        for (const ForeignName& alias : op.aliases) {
          all[alias.format].try_emplace(alias.type, ForeignMatch{&op, &alias});
        }
      }
    }
    return all;
  }();
  const auto types = formats.find(format);
  if (types == formats.end()) return {};
  const auto match = types->second.find(type);
  return match == types->second.end() ? ForeignMatch{} : match->second;
}

}  // namespace stowage
