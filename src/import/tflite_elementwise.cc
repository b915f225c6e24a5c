// SPDX-License-Identifier: Apache-2.0
// Operators of TFLite that work element by element.
#include "import/tflite_graph.h"
#include "ops/elements.h"
#include "ops/shapes.h"

namespace stowage {

namespace {

/// The operator is ours under another name.
template <FixedString Op>
void unary(const TfliteNode& node) {
  node.expect(1, 1);
  node.out(node.emit(Op.text, {node.in(0)}));
}

template <FixedString Op>
void binary(const TfliteNode& node) {
  node.expect(2, 2);
  node.out(node.emit(Op.text, {node.in(0), node.in(1)}));
}

/// A binary operator with a fused activation.
template <FixedString Op, class Options>
void arithmetic(const TfliteNode& node) {
  node.expect(2, 2);
  const auto* o = node.options_if<Options>();
  const ValueId y = node.emit(Op.text, {node.in(0), node.in(1)});
  node.out(node.activate(y, o == nullptr ? 0 : o->fused_activation_function()));
}

void add_n(const TfliteNode& node) {
  node.expect(1, 1 << 20);
  std::vector<ValueId> all;
  for (int i = 0; i < node.input_count(); ++i) all.push_back(node.in(i));
  node.out(node.emit("sum", all));
}

template <int Function>
void activation(const TfliteNode& node) {
  node.expect(1, 1);
  node.out(node.activate(node.in(0), Function));
}

void relu_0_to_1(const TfliteNode& node) {
  node.expect(1, 1);
  node.out(node.emit("clip", {node.in(0)}, {{"min", 0.0f}, {"max", 1.0f}}));
}

void leaky_relu(const TfliteNode& node) {
  node.expect(1, 1);
  const auto& o = node.options<tfl::LeakyReluOptions>();
  node.out(node.emit("leaky_relu", {node.in(0)}, {{"alpha", o.alpha()}}));
}

void gelu(const TfliteNode& node) {
  node.expect(1, 1);
  const auto* o = node.options_if<tfl::GeluOptions>();
  const bool tanh = o != nullptr && o->approximate();
  node.out(node.emit("gelu", {node.in(0)}, {{"approximate", std::string(tanh ? "tanh" : "none")}}));
}

void rsqrt(const TfliteNode& node) {
  node.expect(1, 1);
  node.out(node.emit("reciprocal", {node.emit("sqrt", {node.in(0)})}));
}

void square(const TfliteNode& node) {
  node.expect(1, 1);
  node.out(node.emit("mul", {node.in(0), node.in(0)}));
}

void squared_difference(const TfliteNode& node) {
  node.expect(2, 2);
  const ValueId d = node.emit("sub", {node.in(0), node.in(1)});
  node.out(node.emit("mul", {d, d}));
}

/// The remainder has the sign of the divisor: for integers our mod, for floats x - floor(x/y) y.
void floor_mod(const TfliteNode& node) {
  node.expect(2, 2);
  const ValueId x = node.in(0), y = node.in(1);
  if (!is_float(node.value(x).dtype)) return node.out(node.emit("mod", {x, y}));
  const ValueId whole = node.emit("floor", {node.emit("div", {x, y})});
  node.out(node.emit("sub", {x, node.emit("mul", {whole, y})}));
}

void floor_div(const TfliteNode& node) {
  node.expect(2, 2);
  const ValueId x = node.in(0), y = node.in(1);
  if (is_float(node.value(x).dtype)) {
    return node.out(node.emit("floor", {node.emit("div", {x, y})}));
  }
  // What is left after the remainder of the divisor's sign divides without rest.
  const ValueId rest = node.emit("mod", {x, y});
  node.out(node.emit("div", {node.emit("sub", {x, rest}), y}));
}

void not_equal(const TfliteNode& node) {
  node.expect(2, 2);
  node.out(node.emit("not", {node.emit("equal", {node.in(0), node.in(1)})}));
}

void select(const TfliteNode& node) {
  node.expect(3, 3);
  node.out(node.emit("where", {node.in(0), node.in(1), node.in(2)}));
}

void cast(const TfliteNode& node) {
  node.expect(1, 1);
  const DType to = tflite_dtype(node.output_tensor());
  node.out(node.emit("cast", {node.in(0)}, {{"to", std::string(dtype_name(to))}}));
}

/// Constants with scales are f32 as soon as they are read; what is left are 16-bit floats.
void dequantize(const TfliteNode& node) {
  node.expect(1, 1);
  const ValueId x = node.in(0);
  if (node.value(x).dtype == DType::f32) return node.out(node.emit("identity", {x}));
  node.out(node.emit("cast", {x}, {{"to", std::string("f32")}}));
}

void zeros_like(const TfliteNode& node) {
  node.expect(1, 1);
  const Value& x = node.value(node.in(0));
  node.out(node.constant(Tensor(x.dtype, x.shape)));
}

constexpr TfliteRule kRules[] = {
    {tfl::BuiltinOperator_ADD, arithmetic<"add", tfl::AddOptions>},
    {tfl::BuiltinOperator_SUB, arithmetic<"sub", tfl::SubOptions>},
    {tfl::BuiltinOperator_MUL, arithmetic<"mul", tfl::MulOptions>},
    {tfl::BuiltinOperator_DIV, arithmetic<"div", tfl::DivOptions>},
    {tfl::BuiltinOperator_ADD_N, add_n},
    {tfl::BuiltinOperator_RELU, activation<tfl::ActivationFunction_RELU>},
    {tfl::BuiltinOperator_RELU6, activation<tfl::ActivationFunction_RELU6>},
    {tfl::BuiltinOperator_RELU_N1_TO_1, activation<tfl::ActivationFunction_RELU_N1_TO_1>},
    {tfl::BuiltinOperator_RELU_0_TO_1, relu_0_to_1},
    {tfl::BuiltinOperator_LEAKY_RELU, leaky_relu},
    {tfl::BuiltinOperator_GELU, gelu},
    {tfl::BuiltinOperator_LOGISTIC, unary<"sigmoid">},
    {tfl::BuiltinOperator_TANH, unary<"tanh">},
    {tfl::BuiltinOperator_ELU, unary<"elu">},
    {tfl::BuiltinOperator_HARD_SWISH, unary<"hard_swish">},
    {tfl::BuiltinOperator_EXP, unary<"exp">},
    {tfl::BuiltinOperator_LOG, unary<"log">},
    {tfl::BuiltinOperator_SQRT, unary<"sqrt">},
    {tfl::BuiltinOperator_RSQRT, rsqrt},
    {tfl::BuiltinOperator_SQUARE, square},
    {tfl::BuiltinOperator_ABS, unary<"abs">},
    {tfl::BuiltinOperator_NEG, unary<"neg">},
    {tfl::BuiltinOperator_SIGN, unary<"sign">},
    {tfl::BuiltinOperator_SIN, unary<"sin">},
    {tfl::BuiltinOperator_COS, unary<"cos">},
    {tfl::BuiltinOperator_FLOOR, unary<"floor">},
    {tfl::BuiltinOperator_CEIL, unary<"ceil">},
    {tfl::BuiltinOperator_ROUND, unary<"round">},
    {tfl::BuiltinOperator_MAXIMUM, binary<"max">},
    {tfl::BuiltinOperator_MINIMUM, binary<"min">},
    {tfl::BuiltinOperator_POW, binary<"pow">},
    {tfl::BuiltinOperator_SQUARED_DIFFERENCE, squared_difference},
    {tfl::BuiltinOperator_FLOOR_MOD, floor_mod},
    {tfl::BuiltinOperator_FLOOR_DIV, floor_div},
    {tfl::BuiltinOperator_EQUAL, binary<"equal">},
    {tfl::BuiltinOperator_NOT_EQUAL, not_equal},
    {tfl::BuiltinOperator_LESS, binary<"less">},
    {tfl::BuiltinOperator_LESS_EQUAL, binary<"less_or_equal">},
    {tfl::BuiltinOperator_GREATER, binary<"greater">},
    {tfl::BuiltinOperator_GREATER_EQUAL, binary<"greater_or_equal">},
    {tfl::BuiltinOperator_LOGICAL_AND, binary<"and">},
    {tfl::BuiltinOperator_LOGICAL_OR, binary<"or">},
    {tfl::BuiltinOperator_LOGICAL_NOT, unary<"not">},
    {tfl::BuiltinOperator_SELECT_V2, select},
    {tfl::BuiltinOperator_CAST, cast},
    {tfl::BuiltinOperator_DEQUANTIZE, dequantize},
    {tfl::BuiltinOperator_ZEROS_LIKE, zeros_like},
};

}  // namespace

std::span<const TfliteRule> tflite_elementwise_rules() { return kRules; }

}  // namespace stowage
