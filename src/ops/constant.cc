// SPDX-License-Identifier: Apache-2.0
// Operators whose result is known before run: constant, shape, size, constant_of_shape, range.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/elements.h"
#include "ops/ncnn/rules.h"
#include "ops/shapes.h"

namespace stowage {

namespace {

template <class T>
std::shared_ptr<const Tensor> tensor_of(DType dtype, std::span<const T> elements, bool scalar) {
  Tensor t(dtype, scalar ? Shape() : Shape("a", {static_cast<std::int64_t>(elements.size())}));
  std::ranges::copy(elements, t.as<T>().begin());
  return std::make_shared<const Tensor>(std::move(t));
}

/// The one value_* attribute that is there.
std::shared_ptr<const Tensor> constant_value(const Attributes& attrs) {
  if (auto value = attrs.tensor("value")) return value;
  if (attrs.has("value_int")) {
    const std::int64_t v = attrs.integer("value_int", 0);
    return tensor_of<std::int64_t>(DType::i64, {&v, 1}, true);
  }
  if (attrs.has("value_float")) {
    const float v = attrs.real("value_float", 0);
    return tensor_of<float>(DType::f32, {&v, 1}, true);
  }
  if (attrs.has("value_ints")) {
    const Ints v = attrs.integers("value_ints");
    return tensor_of<std::int64_t>(DType::i64, v, false);
  }
  if (attrs.has("value_floats")) {
    const Floats v = attrs.reals("value_floats");
    return tensor_of<float>(DType::f32, v, false);
  }
  fail(ErrorCode::unsupported, "a constant that is neither a tensor nor numbers");
}

void infer_constant(const InferRef& node) {
  node.expect_inputs(0, 0);
  const auto value = constant_value(node.attrs());
  node.set_output(0, value->dtype(), value->shape().extents());
}

void constant_reference(const ReferenceArgs& args) {
  const auto value = constant_value(args.node.attrs());
  std::copy_n(value->data(), value->bytes(), args.out[0].data);
}

Ints shape_of(const NodeRef& node) {
  const Shape& x = node.shape(0);
  const auto bound = [&](std::int64_t v) {
    return std::clamp<std::int64_t>(v < 0 ? std::max<std::int64_t>(v, -x.rank()) + x.rank() : v, 0,
                                    x.rank());
  };
  const std::int64_t start = bound(node.attrs().integer("start", 0));
  const std::int64_t end = bound(node.attrs().integer("end", x.rank()));
  Ints out;
  for (std::int64_t i = start; i < end; ++i) out.push_back(x[static_cast<int>(i)]);
  return out;
}

void infer_shape(const InferRef& node) {
  node.expect_inputs(1, 1);
  const Ints shape = shape_of(node);
  node.set_output(0, DType::i64, {static_cast<std::int64_t>(shape.size())});
  Tensor result(DType::i64, node.output().shape);
  std::ranges::copy(shape, result.as<std::int64_t>().begin());
  node.set_known(std::move(result));
}

void shape_reference(const ReferenceArgs& args) {
  std::ranges::copy(shape_of(args.node), args.output<std::int64_t>(0));
}

void infer_size(const InferRef& node) {
  node.expect_inputs(1, 1);
  node.set_output(0, DType::i64, {});
  Tensor result(DType::i64, Shape());
  result.as<std::int64_t>()[0] = node.shape(0).elements();
  node.set_known(std::move(result));
}

void size_reference(const ReferenceArgs& args) {
  args.output<std::int64_t>(0)[0] = args.in[0].mapping.shape().elements();
}

void infer_constant_of_shape(const InferRef& node) {
  node.expect_inputs(0, 1);
  const auto shape = node.ints_of("shape", 0);
  if (!shape) fail(ErrorCode::bad_input, "it has no shape");
  for (std::int64_t e : *shape) {
    if (e < 0) fail(ErrorCode::bad_input, "the shape has an extent of ", e);
  }
  const auto value = node.attrs().tensor("value");
  if (value != nullptr && value->shape().elements() != 1) {
    fail(ErrorCode::bad_input, "the value has ", value->shape().elements(), " elements, not one");
  }
  node.set_output(0, value == nullptr ? DType::f32 : value->dtype(), *shape);
}

void constant_of_shape_reference(const ReferenceArgs& args) {
  const auto value = args.node.attrs().tensor("value");
  for_bytes(args.out[0].dtype, [&]<class T>() {
    const T v = value == nullptr ? T(0) : value->as<T>()[0];
    std::fill_n(args.output<T>(0), args.out[0].mapping.shape().elements(), v);
  });
}

/// The extent depends on the values, so all three must be known. One sentence for absurd sizes.
void infer_range(const InferRef& node) {
  node.expect_inputs(3, 3);
  const DType dtype = node.dtype(0);
  for (int i = 0; i < 3; ++i) {
    if (node.constant(i) == nullptr) {
      fail(ErrorCode::unsupported, "input ", i, " must be known before the model runs");
    }
    if (node.dtype(i) != dtype || node.shape(i).elements() != 1) {
      fail(ErrorCode::bad_input, "input ", i, " must be one ", dtype_name(dtype));
    }
  }
  for_number_dtype(dtype, [&]<class T>() {
    using C = Compute<T>;
    const auto value = [&](int i) { return static_cast<C>(node.constant(i)->as<T>()[0]); };
    const C start = value(0), limit = value(1), delta = value(2);
    if (delta == C(0)) fail(ErrorCode::bad_input, "the step of the range is 0");
    const double count = std::ceil((static_cast<double>(limit) - static_cast<double>(start)) /
                                   static_cast<double>(delta));
    if (!(count < 0x1p47)) fail(ErrorCode::limit, "the range has too many elements");
    node.set_output(0, dtype, {static_cast<std::int64_t>(std::max(count, 0.0))});
  });
}

void range_reference(const ReferenceArgs& args) {
  for_number_dtype(args.out[0].dtype, [&]<class T>() {
    using C = Compute<T>;
    const auto start = static_cast<C>(args.input<T>(0)[0]);
    const auto delta = static_cast<C>(args.input<T>(2)[0]);
    for (std::int64_t i = 0; i < args.out[0].mapping.shape().elements(); ++i) {
      args.output<T>(0)[i] = static_cast<T>(static_cast<C>(start + static_cast<C>(i) * delta));
    }
  });
}

void import_zeros_like(ImportNode& node) {
  node.expect(1, 1);
  const Value& x = node.value(node.in(0));
  node.out(node.constant(Tensor(x.dtype, x.shape)));
}

/// TFLite: the extents in the integer type that the file wants.
void import_shape(ImportNode& node) {
  node.expect(1, 1);
  const Shape s = node.shape(node.in(0));
  const DType dtype = node.output_dtype();
  Tensor t(dtype, Shape("a", {s.rank()}));
  for (int i = 0; i < s.rank(); ++i) {
    if (dtype == DType::i64) {
      t.as<std::int64_t>()[at(i)] = s[i];
    } else if (dtype == DType::i32 && s[i] <= std::numeric_limits<std::int32_t>::max()) {
      t.as<std::int32_t>()[at(i)] = static_cast<std::int32_t>(s[i]);
    } else {
      fail(ErrorCode::bad_input, "the extent ", s[i], " as ", dtype_name(dtype));
    }
  }
  node.out(node.constant(std::move(t)));
}

constexpr OpDef kConstant[] = {
    {.name = "constant",
     .aliases = named<Onnx<"Constant">, Tflite<"ZEROS_LIKE", import_zeros_like>,
                      Ncnn<"MemoryData", ncnn::memory_data>, Ncnn<"PriorBox", ncnn::prior_box>>,
     .infer = infer_constant,
     .reference = constant_reference,
     .axes = link_nothing},
    {.name = "shape",
     .aliases = named<Onnx<"Shape">, Tflite<"SHAPE", import_shape>>,
     .infer = infer_shape,
     .reference = shape_reference,
     .axes = link_nothing},
    {.name = "size",
     .aliases = onnx<"Size">,
     .infer = infer_size,
     .reference = size_reference,
     .axes = link_nothing},
    {.name = "constant_of_shape",
     .aliases = onnx<"ConstantOfShape">,
     .infer = infer_constant_of_shape,
     .parameters = parameter<0, "shape">,
     .reference = constant_of_shape_reference,
     .axes = link_nothing},
    {.name = "range",
     .aliases = named<Onnx<"Range">, Tflite<"RANGE", takes<3>>>,
     .infer = infer_range,
     .reference = range_reference,
     .axes = link_nothing},
};

}  // namespace

extern const std::span<const OpDef> ops_constant;
const std::span<const OpDef> ops_constant = kConstant;

}  // namespace stowage
