// SPDX-License-Identifier: Apache-2.0
// What the records of LSTM, GRU and RNN share: attributes, shapes and the scalar functions of the
// references.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "kernels/layouts.h"
#include "kernels/recurrent/gates.h"
#include "kernels/recurrent/sequences.h"
#include "kernels/recurrent/walk.h"
#include "ops/elements.h"
#include "ops/shapes.h"

namespace stowage::recurrent {

/// Throws Error(unsupported) for another function.
inline Gate gate_of(const std::string& name) {
  std::string lower = name;
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  if (lower == "sigmoid") return Gate::sigmoid;
  if (lower == "tanh") return Gate::tanh;
  if (lower == "relu") return Gate::relu;
  fail(ErrorCode::unsupported, "the activation ", name);
}

/// The attribute `activations`, else these for each direction.
inline std::vector<Gate> gates_of(const Attributes& attrs, std::int64_t directions,
                                  std::initializer_list<Gate> usual) {
  const auto given = attrs.map().find("activations");
  std::vector<Gate> gates;
  if (given == attrs.map().end()) {
    for (std::int64_t d = 0; d < directions; ++d) gates.insert(gates.end(), usual);
    return gates;
  }
  const auto* list = std::get_if<std::vector<std::string>>(&given->second);
  const std::size_t count = usual.size() * at(directions);
  if (list == nullptr || list->size() != count) {
    fail(ErrorCode::bad_input, "activations must be ", count, " names");
  }
  for (const std::string& name : *list) gates.push_back(gate_of(name));
  return gates;
}

inline void expect_shape(const NodeRef& node, int i, std::initializer_list<std::int64_t> extents) {
  if (!node.has(i)) return;
  if (!std::ranges::equal(node.shape(i).extents(), extents)) {
    fail(ErrorCode::bad_input, "input ", i, " has the shape ", node.shape(i).extents(), ", not ",
         std::span<const std::int64_t>(extents.begin(), extents.size()));
  }
}

/// Of x, w (direction _ i) and r (direction _ o); infer_sequences checks the extents that are left.
template <class T>
T sequences_of(const NodeRef& node) {
  const Shape& x = node.shape(SequenceData<float>::kX);
  T s;
  s.batch_first = node.attrs().integer("layout", 0) != 0;
  s.steps = x[s.batch_first ? 1 : 0];
  s.batch = x[s.batch_first ? 0 : 1];
  s.inputs = x[2];
  s.outputs = node.shape(SequenceData<float>::kR)[2];
  s.directions = node.shape(SequenceData<float>::kW)[0];
  s.reverse = node.attrs().string("direction", "forward") == "reverse";
  s.clip = node.attrs().real("clip", 0);
  if (!(s.clip >= 0)) fail(ErrorCode::bad_input, "clip is ", s.clip);
  return s;
}

inline Ints state_extents(const Sequences& s, std::int64_t width) {
  return s.batch_first ? Ints{s.batch, s.directions, width} : Ints{s.directions, s.batch, width};
}

/// That inputs are there and have ranks and dtypes, before sequences_of looks at their extents.
inline void expect_operands(const InferRef& node, int most_inputs) {
  using Data = SequenceData<float>;
  node.expect_inputs(3, most_inputs);
  node.expect_dtype(Data::kX, {DType::f32, DType::f64});
  for (int i = 0; i < most_inputs; ++i) {
    if (node.has(i) && i != Data::kLengths) node.expect_dtype(i, {node.dtype(Data::kX)});
  }
  for (const int i : {Data::kX, Data::kW, Data::kR}) expect_rank(node, i, 3, 3);
  if (node.has(Data::kLengths)) node.expect_dtype(Data::kLengths, {DType::i32});
  const std::string direction = node.attrs().string("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    fail(ErrorCode::bad_input, "the direction is '", direction, "'");
  }
  const std::int64_t directions = direction == "bidirectional" ? 2 : 1;
  expect_shape(node, Data::kW, {directions, node.shape(Data::kW)[1], node.shape(Data::kX)[2]});
}

/// Weights, biases, lengths and h of `gates` gates with `cells` rows each; sets y and the last h.
inline void infer_sequences(const InferRef& node, const Sequences& s, std::int64_t gates,
                            std::int64_t cells) {
  using Data = SequenceData<float>;
  if (cells < 1 || s.outputs < 1 || node.attrs().integer("hidden_size", cells) != cells) {
    fail(ErrorCode::bad_input, "hidden_size is ", node.attrs().integer("hidden_size", cells),
         ", the weights have ", cells);
  }
  const std::int64_t rows = checked_mul(gates, cells);
  expect_shape(node, Data::kW, {s.directions, rows, s.inputs});
  expect_shape(node, Data::kR, {s.directions, rows, s.outputs});
  expect_shape(node, Data::kB, {s.directions, checked_mul(2, rows)});
  expect_shape(node, Data::kLengths, {s.batch});
  const Ints state = state_extents(s, s.outputs);
  expect_shape(node, Data::kH, {state[0], state[1], state[2]});
  const std::int64_t o = s.outputs;
  node.set_output(0, node.dtype(Data::kX),
                  s.batch_first ? Ints{s.batch, s.steps, s.directions, o}
                                : Ints{s.steps, s.directions, s.batch, o});
  node.set_output(1, node.dtype(Data::kX), state);
}

template <class T>
T activate(Gate gate, T v) {
  switch (gate) {
    case Gate::sigmoid:
      return T(1) / (T(1) + std::exp(-v));
    case Gate::tanh:
      return std::tanh(v);
    case Gate::relu:
      return std::max(v, T(0));
  }
  return v;
}

template <class T>
T clipped(T v, float limit) {
  return limit > 0 ? std::clamp(v, -static_cast<T>(limit), static_cast<T>(limit)) : v;
}

/// Row `j` of weights times a vector.
template <class T>
T row_times(const T* w, std::int64_t j, const T* x, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    sum += static_cast<double>(x[i]) * static_cast<double>(w[j * count + i]);
  }
  return static_cast<T>(sum);
}

/// All operands row-major but the weights `panels`, whose columns lie in panels.
inline Offer panel_offer(const NodeRef& node, std::initializer_list<int> panels) {
  Offer o;
  for (int i = 0; i < node.input_count(); ++i) {
    o.in.push_back(node.has(i) ? Layout::row_major(node.shape(i)) : Layout());
  }
  for (const int i : panels) {
    if (!node.has(i)) continue;
    o.in[at(i)] =
        layout_by_position(node.shape(i), text("$0 $1/", kGatePanel, " $2 $1%", kGatePanel));
  }
  for (int i = 0; i < node.output_count(); ++i) {
    o.out.push_back(node.has_output(i) ? Layout::row_major(node.output(i).shape) : Layout());
  }
  return o;
}

/// Multiplications and additions of `rows` rows of weights, for every step of every sequence.
inline double flops_of(const Sequences& s, std::int64_t rows) {
  return 2.0 * static_cast<double>(s.steps * s.batch * s.directions) * static_cast<double>(rows) *
         static_cast<double>(s.inputs + s.outputs);
}

/// Fraction of peak that kernels reach with `columns` sums a step.
inline double efficiency_of(const Sequences& s, std::int64_t columns, int threads) {
  const std::int64_t groups = groups_of(s, threads), tasks = s.directions * groups;
  const auto rows = static_cast<double>(ceil_div(s.batch, groups));
  // Each step reads all weights of the state from the L2, and takes its rows' sums of them.
  const double of_state = std::min(0.2 + 0.2 * rows, 0.8);
  // In multiplications and additions that take as long: the functions of a gate.
  constexpr double kFunctions = 25;
  const auto inputs = static_cast<double>(s.inputs), outputs = static_cast<double>(s.outputs);
  const double alone = (inputs + outputs) / (inputs / 0.9 + outputs / of_state + kFunctions);
  const std::int64_t rounds = ceil_div(tasks, threads);
  return alone * static_cast<double>(columns * tasks) /
         static_cast<double>(round_up(columns, kGatePanel) * rounds * threads);
}

inline std::size_t scratch_bytes(const Sequences& s, std::int64_t floats) {
  const std::int64_t all = checked_mul(checked_mul(s.directions, s.batch), floats);
  return static_cast<std::size_t>(all) * sizeof(float);
}

}  // namespace stowage::recurrent
