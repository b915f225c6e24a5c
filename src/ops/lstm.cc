// SPDX-License-Identifier: Apache-2.0
// LSTM, as ONNX defines it. Inputs: x (time batch i), w (direction 4h i), r (direction 4h h), then
// optional bias (direction 8h), lengths (batch), initial h and c (direction batch h) and
// peepholes (direction 3h), and a projection (direction o h), which ONNX has not: h is then its
// product with what the cells give, of o elements, as are y and the columns of r. Outputs: y (time
// direction batch h), last h and c. With `layout` 1 the batch comes first everywhere. Gates are
// input, output, forget, cell.
#include "kernels/recurrent/lstm.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "ops/conv/window.h"
#include "ops/ncnn/rules.h"
#include "ops/recurrent.h"

namespace stowage {

namespace {

using enum Lstm::Input;
using namespace recurrent;

Lstm lstm_of(const NodeRef& node) {
  const Attributes& a = node.attrs();
  auto l = sequences_of<Lstm>(node);
  l.projects = node.has(kProject);
  l.hidden = l.projects ? node.shape(kProject)[2] : l.outputs;
  l.coupled = a.integer("input_forget", 0) != 0;
  l.cell_clip = a.real("cell_clip", 0);
  if (!(l.cell_clip >= 0)) fail(ErrorCode::bad_input, "cell_clip is ", l.cell_clip);
  l.gates = gates_of(a, l.directions, {Gate::sigmoid, Gate::tanh, Gate::tanh});
  return l;
}

void infer(const InferRef& node) {
  expect_operands(node, kInputs);
  if (node.has(kProject)) expect_rank(node, kProject, 3, 3);
  const Lstm l = lstm_of(node);
  infer_sequences(node, l, 4, l.hidden);
  const std::int64_t d = l.directions, h = l.hidden;
  expect_shape(node, kP, {d, checked_mul(3, h)});
  expect_shape(node, kProject, {d, l.outputs, h});
  const Ints state = state_extents(l, h);
  expect_shape(node, kC, {state[0], state[1], state[2]});
  node.set_output(2, node.dtype(kX), state);
}

/// update_cells(), obviously.
template <class T>
void update(const Lstm& l, std::int64_t d, const T* sums, const T* peepholes, T* h, T* c) {
  const std::int64_t n = l.hidden;
  const Gate f = l.gates[at(3 * d)], g = l.gates[at(3 * d + 1)], last = l.gates[at(3 * d + 2)];
  const auto clipped = [&](T v) { return recurrent::clipped(v, l.clip); };
  const auto peep = [&](std::int64_t gate, std::int64_t j, T state) {
    return peepholes == nullptr ? T(0) : peepholes[gate * n + j] * state;
  };
  for (std::int64_t j = 0; j < n; ++j) {
    const T in = activate(f, clipped(sums[j] + peep(0, j, c[j])));
    const T forget =
        l.coupled ? T(1) - in : activate(f, clipped(sums[2 * n + j] + peep(2, j, c[j])));
    c[j] = forget * c[j] + in * activate(g, clipped(sums[3 * n + j]));
    c[j] = recurrent::clipped(c[j], l.cell_clip);
    const T out = activate(f, clipped(sums[n + j] + peep(1, j, c[j])));
    h[j] = out * activate(last, c[j]);
  }
}

template <class T>
void reference_as(const ReferenceArgs& args) {
  const Lstm l = lstm_of(args.node);
  const LstmData<T> data = lstm_data<T>(args);
  const std::int64_t n = l.hidden;
  std::vector<T> h(at(l.outputs)), c(at(n)), raw(at(n)), gates(at(4 * n));
  for (std::int64_t d = 0; d < l.directions; ++d) {
    const T* w = data.w + d * 4 * n * l.inputs;
    const T* r = data.r + d * 4 * n * l.outputs;
    const auto sums = [&](const T* x, const T* state, T* out) {
      for (std::int64_t j = 0; j < 4 * n; ++j) {
        out[j] = row_times(w, j, x, l.inputs) + row_times(r, j, state, l.outputs);
      }
    };
    const auto cells = [&](const T* added, const T* peepholes, T* new_h, T* new_c) {
      update(l, d, added, peepholes, raw.data(), new_c);
      for (std::int64_t j = 0; j < l.outputs; ++j) {
        new_h[j] = l.projects ? row_times(data.projection + d * l.outputs * n, j, raw.data(), n)
                              : raw[at(j)];
      }
    };
    for (std::int64_t b = 0; b < l.batch; ++b) {
      run_lstm_sequence(l, data, d, b, h.data(), c.data(), gates.data(), sums, cells);
    }
  }
}

void reference(const ReferenceArgs& args) {
  if (args.node.dtype(kX) == DType::f64) {
    reference_as<double>(args);
  } else {
    reference_as<float>(args);
  }
}

constexpr const KernelDef* kKernels[] = {&kLstmPanels};

void offers(const OfferRequest& request, std::vector<Offer>& out) {
  const NodeRef& node = request.node;
  const Lstm l = lstm_of(node);
  if (node.dtype(kX) != DType::f32 || l.batch == 0) return;
  Offer o = panel_offer(node, {kW, kR, kProject});
  o.call = {kLstmPanels, l};
  o.flops = flops_of(l, 4 * l.hidden);
  o.efficiency = efficiency_of(l, 4 * l.hidden, request.target.threads);
  if (l.projects) {
    o.flops += 2.0 * static_cast<double>(l.steps * l.batch * l.directions) *
               static_cast<double>(l.outputs) * static_cast<double>(l.hidden);
  }
  o.scratch_bytes = scratch_bytes(l, lstm_scratch(l));
  out.push_back(std::move(o));
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
ValueId gates(ImportNode& node, int first, const Ints& extents) {
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

ValueId one_direction(ImportNode& node, ValueId v) {
  return node.emit("unsqueeze", {v}, {{"axes", Ints{0}}});
}

/// Biases of the input, and none of the recurrence.
ValueId lstm_bias(ImportNode& node, std::int64_t cells) {
  Tensor none(DType::f32, Shape("a", {checked_mul(4, cells)}));
  const ValueId zero = node.constant(std::move(none));
  return one_direction(
      node, node.emit("concat", {gates(node, kBias, {cells}), zero}, {{"axis", std::int64_t{0}}}));
}

/// A state that the file gives is an input of the graph or a constant; a variable begins at zero
/// in every run.
ValueId lstm_state(ImportNode& node, int i) {
  if (!node.has(i) || node.is_state(i)) return kNoValue;
  return one_direction(node, node.in(i));
}

void import_sequence_lstm(ImportNode& node) {
  node.expect(kBias + 4, kLstmInputs);
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
  if (node.activation.op != "tanh") {
    fail(ErrorCode::unsupported, "an LSTM whose activation is not tanh");
  }
  if (node.flag("diagonal_recurrent_tensors")) {
    fail(ErrorCode::unsupported, "an LSTM with diagonal recurrent weights");
  }
  const ValueId x = node.in(kInput);
  const Shape first = node.shape(node.in(kInputWeights));
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
  const bool batch_first = !node.flag("time_major");
  const ValueId steps = batch_first ? node.emit("transpose", {x}, {{"perm", Ints{1, 0, 2}}}) : x;
  const ValueId y = node.emit(
      "lstm", {steps, w, r, b, kNoValue, h, c},
      {{"hidden_size", cells}, {"cell_clip", std::max(node.attrs.real("cell_clip", 0), 0.0f)}});
  const ValueId rows = node.emit("squeeze", {y}, {{"axes", Ints{1}}});
  node.out(batch_first ? node.emit("transpose", {rows}, {{"perm", Ints{1, 0, 2}}}) : rows);
}

/// ONNX's has no projection.
void import_onnx(ImportNode& node) { node.expect(3, kProject, node.output_count()); }

constexpr ForeignName kNames[] = {{"onnx", "LSTM", import_onnx},
                                  {"tflite", "UNIDIRECTIONAL_SEQUENCE_LSTM", import_sequence_lstm},
                                  {"ncnn", "LSTM", ncnn::lstm}};

constexpr OpDef kOps[] = {{.name = "lstm",
                           .aliases = kNames,
                           .infer = infer,
                           .reference = reference,
                           .offers = offers,
                           .kernels = kKernels,
                           .axes = link_nothing}};

}  // namespace

extern const std::span<const OpDef> ops_lstm;
const std::span<const OpDef> ops_lstm = kOps;

}  // namespace stowage
