// SPDX-License-Identifier: Apache-2.0
// LSTM, as ONNX defines it. Inputs: x (time batch i), w (direction 4h i), r (direction 4h h), then
// optional bias (direction 8h), lengths (batch), initial h and c (direction batch h) and
// peepholes (direction 3h). Outputs: y (time direction batch h), last h and c. With `layout` 1 the
// batch comes first everywhere. Gates are input, output, forget, cell.
#include "kernels/recurrent/lstm.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "ops/conv/window.h"
#include "ops/elements.h"
#include "ops/ncnn/rules.h"
#include "ops/shapes.h"

namespace stowage {

namespace {

using enum Lstm::Input;

Gate gate_of(const std::string& name) {
  std::string lower = name;
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  if (lower == "sigmoid") return Gate::sigmoid;
  if (lower == "tanh") return Gate::tanh;
  if (lower == "relu") return Gate::relu;
  fail(ErrorCode::unsupported, "the activation ", name);
}

void expect_shape(const NodeRef& node, int i, std::initializer_list<std::int64_t> extents) {
  if (!node.has(i)) return;
  if (!std::ranges::equal(node.shape(i).extents(), extents)) {
    fail(ErrorCode::bad_input, "input ", i, " has the shape ", node.shape(i).extents(), ", not ",
         std::span<const std::int64_t>(extents.begin(), extents.size()));
  }
}

Lstm lstm_of(const NodeRef& node) {
  const Attributes& a = node.attrs();
  const Shape& x = node.shape(kX);
  Lstm l;
  l.batch_first = a.integer("layout", 0) != 0;
  l.steps = x[l.batch_first ? 1 : 0];
  l.batch = x[l.batch_first ? 0 : 1];
  l.inputs = x[2];
  l.hidden = node.shape(kR)[2];
  l.directions = node.shape(kW)[0];
  l.reverse = a.string("direction", "forward") == "reverse";
  l.coupled = a.integer("input_forget", 0) != 0;
  l.clip = a.real("clip", 0);
  l.cell_clip = a.real("cell_clip", 0);
  std::vector<std::string> names(at(3 * l.directions), "tanh");
  for (std::size_t i = 0; i < names.size(); i += 3) names[i] = "sigmoid";
  const auto given = a.map().find("activations");
  if (given != a.map().end()) {
    const auto* list = std::get_if<std::vector<std::string>>(&given->second);
    if (list == nullptr || list->size() != names.size()) {
      fail(ErrorCode::bad_input, "activations must be ", names.size(), " names");
    }
    names = *list;
  }
  for (const std::string& name : names) l.gates.push_back(gate_of(name));
  return l;
}

void infer(const InferRef& node) {
  node.expect_inputs(3, kInputs);
  node.expect_dtype(kX, {DType::f32, DType::f64});
  expect_rank(node, kX, 3, 3);
  expect_rank(node, kW, 3, 3);
  expect_rank(node, kR, 3, 3);
  for (const int i : {kW, kR, kB, kH, kC, kP}) {
    if (node.has(i)) node.expect_dtype(i, {node.dtype(kX)});
  }
  if (node.has(kLengths)) node.expect_dtype(kLengths, {DType::i32});
  const std::string direction = node.attrs().string("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional") {
    fail(ErrorCode::bad_input, "the direction is '", direction, "'");
  }
  const std::int64_t directions = direction == "bidirectional" ? 2 : 1;
  expect_shape(node, kW, {directions, node.shape(kW)[1], node.shape(kX)[2]});
  const Lstm l = lstm_of(node);
  const std::int64_t d = l.directions, h = l.hidden;
  if (h < 1 || node.attrs().integer("hidden_size", h) != h) {
    fail(ErrorCode::bad_input, "hidden_size is ", node.attrs().integer("hidden_size", h),
         ", the weights have ", h);
  }
  if (!(l.clip >= 0)) fail(ErrorCode::bad_input, "clip is ", l.clip);
  if (!(l.cell_clip >= 0)) fail(ErrorCode::bad_input, "cell_clip is ", l.cell_clip);
  expect_shape(node, kW, {d, checked_mul(4, h), l.inputs});
  expect_shape(node, kR, {d, 4 * h, h});
  expect_shape(node, kB, {d, checked_mul(8, h)});
  expect_shape(node, kLengths, {l.batch});
  expect_shape(node, kP, {d, 3 * h});
  const Ints state = l.batch_first ? Ints{l.batch, d, h} : Ints{d, l.batch, h};
  for (const int i : {kH, kC}) expect_shape(node, i, {state[0], state[1], state[2]});
  const Ints y = l.batch_first ? Ints{l.batch, l.steps, d, h} : Ints{l.steps, d, l.batch, h};
  node.set_output(0, node.dtype(kX), y);
  node.set_output(1, node.dtype(kX), state);
  node.set_output(2, node.dtype(kX), state);
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

/// update_cells(), obviously.
template <class T>
void update(const Lstm& l, std::int64_t d, const T* sums, const T* peepholes, T* h, T* c) {
  const std::int64_t n = l.hidden;
  const Gate f = l.gates[at(3 * d)], g = l.gates[at(3 * d + 1)], last = l.gates[at(3 * d + 2)];
  const auto limit = static_cast<T>(l.clip), cell_limit = static_cast<T>(l.cell_clip);
  const auto clipped = [&](T v) { return limit > 0 ? std::clamp(v, -limit, limit) : v; };
  const auto peep = [&](std::int64_t gate, std::int64_t j, T state) {
    return peepholes == nullptr ? T(0) : peepholes[gate * n + j] * state;
  };
  for (std::int64_t j = 0; j < n; ++j) {
    const T in = activate(f, clipped(sums[j] + peep(0, j, c[j])));
    const T forget =
        l.coupled ? T(1) - in : activate(f, clipped(sums[2 * n + j] + peep(2, j, c[j])));
    c[j] = forget * c[j] + in * activate(g, clipped(sums[3 * n + j]));
    if (cell_limit > 0) c[j] = std::clamp(c[j], -cell_limit, cell_limit);
    const T out = activate(f, clipped(sums[n + j] + peep(1, j, c[j])));
    h[j] = out * activate(last, c[j]);
  }
}

template <class T>
void reference_as(const ReferenceArgs& args) {
  const Lstm l = lstm_of(args.node);
  const LstmData<T> data = lstm_data<T>(args);
  const std::int64_t n = l.hidden;
  std::vector<T> h(at(n)), c(at(n)), gates(at(4 * n));
  for (std::int64_t d = 0; d < l.directions; ++d) {
    const T* w = data.w + d * 4 * n * l.inputs;
    const T* r = data.r + d * 4 * n * n;
    const auto sums = [&](const T* x, const T* state, T* out) {
      for (std::int64_t j = 0; j < 4 * n; ++j) {
        double sum = 0;
        for (std::int64_t i = 0; i < l.inputs; ++i) {
          sum += static_cast<double>(x[i]) * static_cast<double>(w[j * l.inputs + i]);
        }
        for (std::int64_t i = 0; i < n; ++i) {
          sum += static_cast<double>(state[i]) * static_cast<double>(r[j * n + i]);
        }
        out[j] = static_cast<T>(sum);
      }
    };
    const auto cells = [&](const T* added, const T* peepholes, T* new_h, T* new_c) {
      update(l, d, added, peepholes, new_h, new_c);
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
  Offer o;
  o.call = {kLstmPanels, l};
  for (int i = 0; i < node.input_count(); ++i) {
    o.in.push_back(node.has(i) ? Layout::row_major(node.shape(i)) : Layout());
  }
  for (const int i : {kW, kR}) {
    o.in[at(i)] =
        layout_by_position(node.shape(i), text("$0 $1/", kGatePanel, " $2 $1%", kGatePanel));
  }
  for (int i = 0; i < node.output_count(); ++i) {
    o.out.push_back(node.has_output(i) ? Layout::row_major(node.output(i).shape) : Layout());
  }
  o.flops = 8.0 * static_cast<double>(l.steps * l.batch * l.directions) *
            static_cast<double>(l.hidden) * static_cast<double>(l.inputs + l.hidden);
  o.efficiency = 0.1;  // every weight is read once a step
  const std::int64_t floats =
      checked_mul(checked_mul(l.directions, l.batch), LstmScratch(l.hidden).floats());
  o.scratch_bytes = static_cast<std::size_t>(floats) * sizeof(float);
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

constexpr ForeignName kNames[] = {{"onnx", "LSTM"},
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
