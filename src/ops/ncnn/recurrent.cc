// SPDX-License-Identifier: Apache-2.0
// ncnn's LSTM, GRU and RNN. Weights are [direction][gate][out][in]; a blob is h steps of w
// features, states are h directions of w features.
#include <algorithm>

#include "base/checked.h"
#include "base/text.h"
#include "ops/ncnn/blob.h"
#include "ops/ncnn/rules.h"
#include "ops/shapes.h"

namespace stowage::ncnn {

namespace {

/// Axis 1 of weights in this order of gates.
ValueId gates(ImportNode& node, ValueId v, const Ints& gate_order) {
  Tensor order(DType::i64, Shape("a", {std::ssize(gate_order)}));
  std::ranges::copy(gate_order, order.as<std::int64_t>().begin());
  return node.emit("gather", {v, node.constant(std::move(order))}, {{"axis", std::int64_t{1}}});
}

ValueId zeros(ImportNode& node, const Ints& extents) {
  return node.constant(Tensor(DType::f32, Shape("abc", extents)));
}

ValueId joined(ImportNode& node, const std::vector<ValueId>& parts) {
  return node.emit("concat", parts, {{"axis", std::int64_t{1}}});
}

/// What the layers have in common.
struct Recurrent {
  std::int64_t out, directions, steps, features;
  std::string direction;
  bool takes_states, gives_states;

  Recurrent(ImportNode& node, int states) {
    const NcnnParams p(node.attrs);
    constexpr std::string_view kDirections[] = {"forward", "reverse", "bidirectional"};
    const std::int64_t which = p.integer(2, 0);
    if (which < 0 || which > 2) fail(ErrorCode::bad_input, "its direction is ", which);
    direction = kDirections[which];
    directions = which == 2 ? 2 : 1;
    out = p.integer(0, 0);
    takes_states = node.input_count() > 1;
    gives_states = node.output_count() > 1;
    node.expect(takes_states ? 1 + states : 1, takes_states ? 1 + states : 1,
                gives_states ? 1 + states : 1);
    const Ints x = dims_of(node.shape(node.in(0)));
    if (x.size() != 2) fail(ErrorCode::bad_input, "its input has ", x.size(), " dims, not 2");
    steps = x[0];
    features = x[1];
  }

  /// The input and, if they are given, the states, of these widths, behind `operands`.
  std::vector<ValueId> operands(ImportNode& node, std::vector<ValueId> weights,
                                const Ints& widths) const {
    weights.insert(weights.begin(), node.reshape(node.in(0), {steps, 1, features}));
    if (!takes_states) return weights;
    weights.push_back(kNoValue);  // lengths
    for (std::size_t i = 0; i < widths.size(); ++i) {
      weights.push_back(node.reshape(node.in(static_cast<int>(i) + 1), {directions, 1, widths[i]}));
    }
    return weights;
  }

  void finish(ImportNode& node, std::string_view op, const std::vector<ValueId>& operands,
              const Ints& widths, Attributes attrs) const {
    attrs.set("direction", direction);
    const int outputs = gives_states ? 1 + static_cast<int>(widths.size()) : 1;
    const auto y = node.emit_many(op, operands, outputs, attrs);
    node.out(0, node.reshape(y[0], {steps, checked_mul(directions, out)}));
    for (std::size_t i = 1; i < y.size(); ++i) {
      node.out(static_cast<int>(i), node.reshape(y[i], {directions, widths[i - 1]}));
    }
  }
};

}  // namespace

/// Gates I F O G, ours I O F G; a bias for each gate.
void lstm(ImportNode& node) {
  const Recurrent r(node, 2);
  const std::int64_t hidden = NcnnParams(node.attrs).count(3, r.out, 1), d = r.directions;
  const Ints order = {0, 2, 1, 3};
  const Ints widths = {r.out, hidden};
  const ValueId b = gates(node, node.weight(1), order);
  const ValueId biases = joined(node, {b, zeros(node, {d, 4, hidden})});
  std::vector<ValueId> operands =
      r.operands(node,
                 {node.reshape(gates(node, node.weight(0), order), {d, 4 * hidden, r.features}),
                  node.reshape(gates(node, node.weight(2), order), {d, 4 * hidden, r.out}),
                  node.reshape(biases, {d, 8 * hidden})},
                 widths);
  if (hidden != r.out) {
    constexpr std::size_t kProjection = 8;
    operands.resize(kProjection, kNoValue);
    operands.push_back(node.weight(3));
  }
  Attributes attrs;
  attrs.set("hidden_size", hidden);
  r.finish(node, "lstm", operands, widths, attrs);
}

/// Gates R U N, ours U R N. Of the four biases those of R and U stand for input and state, N has
/// one for each, and its state is reset after the product.
void gru(ImportNode& node) {
  const Recurrent r(node, 1);
  const std::int64_t n = r.out, d = r.directions;
  const Ints order = {1, 0, 2};
  const ValueId b = node.weight(1);
  const ValueId biases =
      joined(node, {gates(node, b, order), zeros(node, {d, 2, n}), gates(node, b, {3})});
  Attributes attrs;
  attrs.set("hidden_size", n);
  attrs.set("linear_before_reset", std::int64_t{1});
  r.finish(node, "gru",
           r.operands(node,
                      {node.reshape(gates(node, node.weight(0), order), {d, 3 * n, r.features}),
                       node.reshape(gates(node, node.weight(2), order), {d, 3 * n, n}),
                       node.reshape(biases, {d, 6 * n})},
                      {n}),
           {n}, attrs);
}

void rnn(ImportNode& node) {
  const Recurrent r(node, 1);
  const std::int64_t n = r.out, d = r.directions;
  const ValueId biases = joined(node, {node.weight(1), zeros(node, {d, 1, n})});
  Attributes attrs;
  attrs.set("hidden_size", n);
  r.finish(node, "rnn",
           r.operands(node,
                      {node.reshape(node.weight(0), {d, n, r.features}),
                       node.reshape(node.weight(2), {d, n, n}), node.reshape(biases, {d, 2 * n})},
                      {n}),
           {n}, attrs);
}

}  // namespace stowage::ncnn
