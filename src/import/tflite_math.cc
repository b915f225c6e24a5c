// SPDX-License-Identifier: Apache-2.0
// Operators of TFLite on whole axes: matrices, reductions, softmax, recurrent layers.
#include <algorithm>

#include "base/checked.h"
#include "import/tflite_graph.h"
#include "ops/shapes.h"

namespace stowage {

namespace {

/// Rows of the input times rows of the weights (o i). All axes but the last are rows, unless the
/// weights say otherwise.
void fully_connected(const TfliteNode& node) {
  node.expect(2, 3);
  const auto& o = node.options<tfl::FullyConnectedOptions>();
  if (o.weights_format() != 0) fail(ErrorCode::unsupported, "shuffled weights");
  const ValueId x = node.in(0), w = node.in(1);
  const Shape from = node.shape(x), weights = node.shape(w);
  if (weights.rank() != 2 || weights[1] < 1 || from.elements() % weights[1] != 0) {
    fail(ErrorCode::bad_input, "weights of shape ", weights.extents(), " for an input of shape ",
         from.extents());
  }
  const ValueId rows = node.reshape(x, {from.elements() / weights[1], weights[1]});
  ValueId y = node.emit("gemm", {rows, w, node.optional(2)}, {{"transB", std::int64_t{1}}});
  y = node.activate(y, o.fused_activation_function());
  if (o.keep_num_dims()) {
    if (from.rank() < 1 || from[from.rank() - 1] != weights[1]) {
      fail(ErrorCode::bad_input, "keep_num_dims with an input of shape ", from.extents());
    }
    Ints extents = extents_of(from);
    extents.back() = weights[0];
    y = node.reshape(y, extents);
  }
  node.out(y);
}

ValueId last_two_swapped(const TfliteNode& node, ValueId v) {
  Ints perm;
  const int rank = node.shape(v).rank();
  if (rank < 2) fail(ErrorCode::bad_input, "a matrix of rank ", rank);
  for (int i = 0; i < rank; ++i) perm.push_back(i);
  std::swap(perm[at(rank - 2)], perm[at(rank - 1)]);
  return node.emit("transpose", {v}, {{"perm", perm}});
}

void batch_matmul(const TfliteNode& node) {
  node.expect(2, 2);
  const auto* o = node.options_if<tfl::BatchMatMulOptions>();
  ValueId a = node.in(0), b = node.in(1);
  if (o != nullptr && o->adj_x()) a = last_two_swapped(node, a);
  if (o != nullptr && o->adj_y()) b = last_two_swapped(node, b);
  node.out(node.emit("matmul", {a, b}));
}

void softmax(const TfliteNode& node) {
  node.expect(1, 1);
  const auto& o = node.options<tfl::SoftmaxOptions>();
  ValueId x = node.in(0);
  if (o.beta() != 1.0f) x = node.emit("mul", {x, node.constant(o.beta())});
  node.out(node.emit("softmax", {x}, {{"axis", std::int64_t{-1}}}));
}

void log_softmax(const TfliteNode& node) {
  node.expect(1, 1);
  node.out(node.emit("log_softmax", {node.in(0)}, {{"axis", std::int64_t{-1}}}));
}

template <FixedString Op>
void reduce(const TfliteNode& node) {
  node.expect(2, 2);
  const auto* o = node.options_if<tfl::ReducerOptions>();
  const bool keep = o != nullptr && o->keep_dims();
  const ValueId x = node.in(0);
  Ints axes = node.ints(1);
  // TFLite allows an axis twice; no axis at all means nothing is reduced.
  for (std::int64_t& a : axes) a = normal_axis(a, node.shape(x).rank());
  std::ranges::sort(axes);
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  if (axes.empty()) return node.out(node.emit("identity", {x}));
  node.out(node.emit(Op.text, {x}, {{"axes", axes}, {"keepdims", std::int64_t{keep}}}));
}

template <FixedString Op>
void arg(const TfliteNode& node) {
  node.expect(2, 2);
  const Ints axis = node.ints(1);
  if (axis.size() != 1) fail(ErrorCode::bad_input, "its axis is ", axis.size(), " numbers");
  const ValueId y =
      node.emit(Op.text, {node.in(0)}, {{"axis", axis[0]}, {"keepdims", std::int64_t{0}}});
  const DType to = tflite_dtype(node.output_tensor());
  if (to == DType::i64) return node.out(y);
  node.out(node.emit("cast", {y}, {{"to", std::string(dtype_name(to))}}));
}

/// x / sqrt(max(sum of x^2 along the last axis, 1e-6))
void l2_normalization(const TfliteNode& node) {
  node.expect(1, 1);
  const ValueId x = node.in(0);
  const int rank = node.shape(x).rank();
  if (rank < 1) fail(ErrorCode::bad_input, "its input is a scalar");
  const ValueId sum = node.emit("reduce_sum_square", {x},
                                {{"axes", Ints{rank - 1}}, {"keepdims", std::int64_t{1}}});
  const ValueId floor = node.emit("max", {sum, node.constant(1e-6f)});
  node.out(node.emit("div", {x, node.emit("sqrt", {floor})}));
}

/// Inputs of UNIDIRECTIONAL_SEQUENCE_LSTM.
enum LstmInput : int {
  kInput = 0,
  kInputWeights = 1,      // of input, forget, cell, output gate
  kRecurrentWeights = 5,  // likewise
  kPeephole = 9,          // of input, forget, output gate
  kBias = 12,             // of input, forget, cell, output gate
  kProjection = 16,       // weights, bias
  kState = 18,            // output, cell
  kLayerNorm = 20,        // of four gates
  kLstmInputs = 24,
};

/// Our gates are input, output, forget, cell; the file's input, forget, cell, output.
constexpr int kGates[] = {0, 3, 1, 2};

/// Four gates' weights (or biases) as one value of the directions 1 and 4 * cells.
ValueId gates(const TfliteNode& node, int first, const Ints& extents) {
  std::vector<ValueId> parts;
  for (const int g : kGates) {
    const ValueId v = node.in(first + g);
    if (!std::ranges::equal(node.shape(v).extents(), extents)) {
      fail(ErrorCode::bad_input, "input ", first + g, " has the shape ", node.shape(v).extents(),
           ", not ", std::span(extents));
    }
    parts.push_back(v);
  }
  return node.emit("concat", parts, {{"axis", std::int64_t{0}}});
}

ValueId one_direction(const TfliteNode& node, ValueId v) {
  return node.emit("unsqueeze", {v}, {{"axes", Ints{0}}});
}

/// Biases of the input, and none of the recurrence.
ValueId lstm_bias(const TfliteNode& node, std::int64_t cells) {
  Tensor none(DType::f32, Shape("a", {checked_mul(4, cells)}));
  const ValueId zero = node.constant(std::move(none));
  return one_direction(
      node, node.emit("concat", {gates(node, kBias, {cells}), zero}, {{"axis", std::int64_t{0}}}));
}

/// A state that the file gives is an input of the graph or a constant; a variable begins at zero
/// in every run.
ValueId lstm_state(const TfliteNode& node, int i) {
  if (!node.has(i) || node.input_tensor(i).variable) return kNoValue;
  return one_direction(node, node.in(i));
}

void lstm(const TfliteNode& node) {
  node.expect(kBias + 4, kLstmInputs);
  const auto& o = node.options<tfl::UnidirectionalSequenceLSTMOptions>();
  const auto refuse = [&](int first, int count, std::string_view what) {
    for (int i = first; i < first + count; ++i) {
      if (node.has(i)) fail(ErrorCode::unsupported, "an LSTM with ", what);
    }
  };
  refuse(kPeephole, 3, "peepholes");
  refuse(kProjection, 2, "a projection");
  refuse(kLayerNorm, 4, "layer normalisation");
  if (!node.has(kInputWeights)) {
    fail(ErrorCode::unsupported, "an LSTM whose input and forget gates are coupled");
  }
  if (o.fused_activation_function() != tfl::ActivationFunction_TANH) {
    fail(ErrorCode::unsupported, "an LSTM whose activation is not tanh");
  }
  if (o.diagonal_recurrent_tensors()) {
    fail(ErrorCode::unsupported, "an LSTM with diagonal recurrent weights");
  }
  const ValueId x = node.in(kInput);
  const Shape& first = node.shape(node.in(kInputWeights));
  if (node.shape(x).rank() != 3 || first.rank() != 2) {
    fail(ErrorCode::bad_input, "an input of rank ", node.shape(x).rank(), ", weights of rank ",
         first.rank());
  }
  const std::int64_t cells = first[0], inputs = node.shape(x)[2];
  const ValueId w = one_direction(node, gates(node, kInputWeights, {cells, inputs}));
  const ValueId r = one_direction(node, gates(node, kRecurrentWeights, {cells, cells}));
  const ValueId b = lstm_bias(node, cells);
  const ValueId h = lstm_state(node, kState), c = lstm_state(node, kState + 1);
  // Ours has the time first, and the direction between time and batch in its output.
  const bool batch_first = !o.time_major();
  const ValueId steps = batch_first ? node.emit("transpose", {x}, {{"perm", Ints{1, 0, 2}}}) : x;
  const ValueId y =
      node.emit("lstm", {steps, w, r, b, kNoValue, h, c},
                {{"hidden_size", cells}, {"cell_clip", std::max(o.cell_clip(), 0.0f)}});
  const ValueId rows = node.emit("squeeze", {y}, {{"axes", Ints{1}}});
  node.out(batch_first ? node.emit("transpose", {rows}, {{"perm", Ints{1, 0, 2}}}) : rows);
}

constexpr TfliteRule kRules[] = {
    {tfl::BuiltinOperator_FULLY_CONNECTED, fully_connected},
    {tfl::BuiltinOperator_BATCH_MATMUL, batch_matmul},
    {tfl::BuiltinOperator_SOFTMAX, softmax},
    {tfl::BuiltinOperator_LOG_SOFTMAX, log_softmax},
    {tfl::BuiltinOperator_MEAN, reduce<"reduce_mean">},
    {tfl::BuiltinOperator_SUM, reduce<"reduce_sum">},
    {tfl::BuiltinOperator_REDUCE_PROD, reduce<"reduce_prod">},
    {tfl::BuiltinOperator_REDUCE_MAX, reduce<"reduce_max">},
    {tfl::BuiltinOperator_REDUCE_MIN, reduce<"reduce_min">},
    {tfl::BuiltinOperator_ARG_MAX, arg<"arg_max">},
    {tfl::BuiltinOperator_ARG_MIN, arg<"arg_min">},
    {tfl::BuiltinOperator_L2_NORMALIZATION, l2_normalization},
    {tfl::BuiltinOperator_UNIDIRECTIONAL_SEQUENCE_LSTM, lstm},
};

}  // namespace

std::span<const TfliteRule> tflite_math_rules() { return kRules; }

}  // namespace stowage
