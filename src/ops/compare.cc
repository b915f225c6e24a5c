// SPDX-License-Identifier: Apache-2.0
// Comparisons, logic, selection: operators with bool on one side.
#include "ops/elements.h"
#include "ops/ncnn/rules.h"
#include "ops/shapes.h"

namespace stowage {

namespace {

struct Equal {
  template <class T>
  static bool of(T a, T b) {
    return a == b;
  }
};

struct Less {
  template <class T>
  static bool of(T a, T b) {
    return a < b;
  }
};

struct Greater {
  template <class T>
  static bool of(T a, T b) {
    return a > b;
  }
};

struct LessOrEqual {
  template <class T>
  static bool of(T a, T b) {
    return a <= b;
  }
};

struct GreaterOrEqual {
  template <class T>
  static bool of(T a, T b) {
    return a >= b;
  }
};

struct And {
  template <class T>
  static bool of(T a, T b) {
    return a && b;
  }
};

struct Or {
  template <class T>
  static bool of(T a, T b) {
    return a || b;
  }
};

struct Xor {
  template <class T>
  static bool of(T a, T b) {
    return a != b;
  }
};

template <class F, class T>
void compare_as(const ReferenceArgs& args) {
  const Shape& shape = args.out[0].mapping.shape();
  const T* a = args.input<T>(0);
  const T* b = args.input<T>(1);
  auto* y = args.output<std::uint8_t>(0);
  Walk<2> walk(shape.extents(), {broadcast_strides(args.in[0].mapping.shape(), shape),
                                 broadcast_strides(args.in[1].mapping.shape(), shape)});
  for (std::int64_t i = 0; i < shape.elements(); ++i, walk.next()) {
    using C = Compute<T>;
    y[i] = F::template of<C>(static_cast<C>(a[walk.offset(0)]), static_cast<C>(b[walk.offset(1)]));
  }
}

template <class F>
void compare_reference(const ReferenceArgs& args) {
  for_dtype(args.in[0].dtype, [&]<class T>() { compare_as<F, T>(args); });
}

template <class F>
void logic_reference(const ReferenceArgs& args) {
  compare_as<F, bool>(args);
}

void not_reference(const ReferenceArgs& args) {
  const auto* x = args.input<std::uint8_t>(0);
  auto* y = args.output<std::uint8_t>(0);
  for (std::int64_t i = 0; i < args.out[0].mapping.shape().elements(); ++i) y[i] = x[i] == 0;
}

template <bool Nan>
void is_special_reference(const ReferenceArgs& args) {
  const bool positive = args.node.attrs().integer("detect_positive", 1) != 0;
  const bool negative = args.node.attrs().integer("detect_negative", 1) != 0;
  auto* y = args.output<std::uint8_t>(0);
  for_float_dtype(args.in[0].dtype, [&]<class T>() {
    const T* x = args.input<T>(0);
    for (std::int64_t i = 0; i < args.out[0].mapping.shape().elements(); ++i) {
      const auto v = static_cast<Compute<T>>(x[i]);
      y[i] = Nan ? std::isnan(v) : std::isinf(v) && (v > 0 ? positive : negative);
    }
  });
}

void where_reference(const ReferenceArgs& args) {
  const Shape& shape = args.out[0].mapping.shape();
  const auto* condition = args.input<std::uint8_t>(0);
  for_bytes(args.out[0].dtype, [&]<class T>() {
    const T* a = args.input<T>(1);
    const T* b = args.input<T>(2);
    T* y = args.output<T>(0);
    Walk<3> walk(shape.extents(), {broadcast_strides(args.in[0].mapping.shape(), shape),
                                   broadcast_strides(args.in[1].mapping.shape(), shape),
                                   broadcast_strides(args.in[2].mapping.shape(), shape)});
    for (std::int64_t i = 0; i < shape.elements(); ++i, walk.next()) {
      y[i] = condition[walk.offset(0)] != 0 ? a[walk.offset(1)] : b[walk.offset(2)];
    }
  });
}

void infer_compare(const InferRef& node) {
  node.expect_inputs(2, 2);
  if (node.dtype(0) != node.dtype(1)) {
    fail(ErrorCode::bad_input, "it compares ", dtype_name(node.dtype(0)), " with ",
         dtype_name(node.dtype(1)));
  }
  node.set_output(0, DType::boolean, broadcast(node.shape(0).extents(), node.shape(1).extents()));
}

void infer_logic(const InferRef& node) {
  node.expect_inputs(2, 2);
  for (const int i : {0, 1}) node.expect_dtype(i, {DType::boolean});
  infer_compare(node);
}

void infer_not(const InferRef& node) {
  node.expect_inputs(1, 1);
  node.expect_dtype(0, {DType::boolean});
  node.set_output(0, DType::boolean, node.shape(0).extents());
}

void infer_is_special(const InferRef& node) {
  node.expect_inputs(1, 1);
  node.expect_dtype(0, {DType::f32, DType::f64, DType::f16, DType::bf16});
  node.set_output(0, DType::boolean, node.shape(0).extents());
}

void infer_where(const InferRef& node) {
  node.expect_inputs(3, 3);
  node.expect_dtype(0, {DType::boolean});
  if (node.dtype(1) != node.dtype(2)) {
    fail(ErrorCode::bad_input, "it selects between ", dtype_name(node.dtype(1)), " and ",
         dtype_name(node.dtype(2)));
  }
  const Ints values = broadcast(node.shape(1).extents(), node.shape(2).extents());
  node.set_output(0, node.dtype(1), broadcast(node.shape(0).extents(), values));
}

void import_not_equal(ImportNode& node) {
  node.expect(2, 2);
  node.out(node.emit("not", {node.emit("equal", {node.in(0), node.in(1)})}));
}

constexpr OpDef record(std::string_view name, std::span<const ForeignName> aliases,
                       void (*infer)(const InferRef&), void (*reference)(const ReferenceArgs&),
                       std::string_view mace = {}) {
  return {.name = name,
          .aliases = aliases,
          .category = Category::transposable,
          .mace = mace,
          .infer = infer,
          .permute = permute_nothing,
          .reference = reference};
}

constexpr OpDef kCompare[] = {
    record("equal", named<Onnx<"Equal">, Tflite<"EQUAL", takes<2>>>, infer_compare,
           compare_reference<Equal>, "Eltwise"),
    record("less", named<Onnx<"Less">, Tflite<"LESS", takes<2>>>, infer_compare,
           compare_reference<Less>),
    record("greater",
           named<Onnx<"Greater">, Tflite<"GREATER", takes<2>>, Ncnn<"Threshold", ncnn::threshold>>,
           infer_compare, compare_reference<Greater>),
    record("less_or_equal", named<Onnx<"LessOrEqual">, Tflite<"LESS_EQUAL", takes<2>>>,
           infer_compare, compare_reference<LessOrEqual>),
    record("greater_or_equal", named<Onnx<"GreaterOrEqual">, Tflite<"GREATER_EQUAL", takes<2>>>,
           infer_compare, compare_reference<GreaterOrEqual>),
    record("and", named<Onnx<"And">, Tflite<"LOGICAL_AND", takes<2>>>, infer_logic,
           logic_reference<And>),
    record("or", named<Onnx<"Or">, Tflite<"LOGICAL_OR", takes<2>>>, infer_logic,
           logic_reference<Or>),
    record("xor", onnx<"Xor">, infer_logic, logic_reference<Xor>),
    record(
        "not",
        named<Onnx<"Not">, Tflite<"LOGICAL_NOT", takes<1>>, Tflite<"NOT_EQUAL", import_not_equal>>,
        infer_not, not_reference),
    record("is_nan", onnx<"IsNaN">, infer_is_special, is_special_reference<true>),
    record("is_inf", onnx<"IsInf">, infer_is_special, is_special_reference<false>),
    record("where", named<Onnx<"Where">, Tflite<"SELECT_V2", takes<3>>>, infer_where,
           where_reference),
};

}  // namespace

extern const std::span<const OpDef> ops_compare;
const std::span<const OpDef> ops_compare = kCompare;

}  // namespace stowage
