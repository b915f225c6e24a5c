// SPDX-License-Identifier: Apache-2.0
// GRU and the simple RNN, as ONNX defines them. Inputs: x (time batch i), w (direction g*h i), r
// (direction g*h h), then optional bias (direction 2*g*h), lengths (batch), initial h (direction
// batch h), where g is 3 for a GRU, whose gates are update, reset, new, and 1 for an RNN. Outputs:
// y (time direction batch h) and the last h. With `layout` 1 the batch comes first everywhere.
#include "kernels/recurrent/gru.h"

#include <vector>

#include "kernels/layouts.h"
#include "ops/ncnn/rules.h"
#include "ops/recurrent.h"

namespace stowage {

namespace {

using Data = SequenceData<float>;
using namespace recurrent;

constexpr int kMostInputs = Data::kH + 1;

Gru gru_of(const NodeRef& node) {
  auto g = sequences_of<Gru>(node);
  g.reset_after = node.attrs().integer("linear_before_reset", 0) != 0;
  g.gates = gates_of(node.attrs(), g.directions, {Gate::sigmoid, Gate::tanh});
  return g;
}

Rnn rnn_of(const NodeRef& node) {
  auto g = sequences_of<Rnn>(node);
  g.gates = gates_of(node.attrs(), g.directions, {Gate::tanh});
  return g;
}

void infer_gru(const InferRef& node) {
  expect_operands(node, kMostInputs);
  const Gru g = gru_of(node);
  infer_sequences(node, g, 3, g.outputs);
}

void infer_rnn(const InferRef& node) {
  expect_operands(node, kMostInputs);
  const Rnn g = rnn_of(node);
  infer_sequences(node, g, 1, g.outputs);
}

/// The next h of a GRU, by its definition.
template <class T>
void update(const Gru& g, const SequenceData<T>& data, std::int64_t d, const T* x, T* h) {
  const std::int64_t n = g.outputs;
  const T* w = data.w + d * 3 * n * g.inputs;
  const T* r = data.r + d * 3 * n * n;
  const Gate f = g.gates[at(2 * d)], last = g.gates[at(2 * d + 1)];
  const auto bias = [&](std::int64_t row) {
    return data.b == nullptr ? T(0) : data.b[d * 6 * n + row];
  };
  const auto of_x = [&](std::int64_t row) { return row_times(w, row, x, g.inputs) + bias(row); };
  const auto of_state = [&](std::int64_t row, const T* state) {
    return row_times(r, row, state, n) + bias(3 * n + row);
  };
  const auto gate = [&](std::int64_t row) {
    return activate(f, clipped(of_x(row) + of_state(row, h), g.clip));
  };
  std::vector<T> reset(at(n)), kept(at(n)), next(at(n));
  for (std::int64_t j = 0; j < n; ++j) {
    reset[at(j)] = gate(n + j);
    kept[at(j)] = reset[at(j)] * h[j];
  }
  for (std::int64_t j = 0; j < n; ++j) {
    const T of_h =
        g.reset_after ? reset[at(j)] * of_state(2 * n + j, h) : of_state(2 * n + j, kept.data());
    const T fresh = activate(last, clipped(of_x(2 * n + j) + of_h, g.clip));
    const T z = gate(j);
    next[at(j)] = (T(1) - z) * fresh + z * h[j];
  }
  std::ranges::copy(next, h);
}

template <class T>
void update(const Rnn& g, const SequenceData<T>& data, std::int64_t d, const T* x, T* h) {
  const std::int64_t n = g.outputs;
  std::vector<T> next(at(n));
  for (std::int64_t j = 0; j < n; ++j) {
    T sum = row_times(data.w + d * n * g.inputs, j, x, g.inputs) +
            row_times(data.r + d * n * n, j, h, n);
    if (data.b != nullptr) sum += data.b[d * 2 * n + j] + data.b[d * 2 * n + n + j];
    next[at(j)] = activate(g.gates[at(d)], clipped(sum, g.clip));
  }
  std::ranges::copy(next, h);
}

template <auto Of>
void reference(const ReferenceArgs& args) {
  const auto g = Of(args.node);
  const auto as = [&]<class T>() {
    const SequenceData<T> data = sequence_data<T>(args);
    std::vector<T> h(at(g.outputs));
    for (std::int64_t d = 0; d < g.directions; ++d) {
      for (std::int64_t b = 0; b < g.batch; ++b) {
        run_sequence(g, data, d, b, h.data(), [&](const T* x) { update(g, data, d, x, h.data()); });
      }
    }
  };
  if (args.node.dtype(Data::kX) == DType::f64) {
    as.template operator()<double>();
  } else {
    as.template operator()<float>();
  }
}

template <auto Of, const KernelDef& Kernel, auto Scratch, int Gates>
void offers(const OfferRequest& request, std::vector<Offer>& out) {
  const NodeRef& node = request.node;
  const auto g = Of(node);
  if (node.dtype(Data::kX) != DType::f32 || g.batch == 0) return;
  Offer o = panel_offer(node, {Data::kW, Data::kR});
  o.call = {Kernel, g};
  o.flops = flops_of(g, Gates * g.outputs);
  o.efficiency = efficiency_of(g, Gates * g.outputs, request.target.threads);
  o.scratch_bytes = scratch_bytes(g, Scratch(g));
  out.push_back(std::move(o));
}

constexpr const KernelDef* kGruKernels[] = {&kGruPanels};
constexpr const KernelDef* kRnnKernels[] = {&kRnnPanels};

constexpr OpDef kOps[] = {{.name = "gru",
                           .aliases = named<Onnx<"GRU">, Ncnn<"GRU", ncnn::gru>>,
                           .infer = infer_gru,
                           .reference = reference<gru_of>,
                           .offers = offers<gru_of, kGruPanels, gru_scratch, 3>,
                           .kernels = kGruKernels,
                           .axes = link_nothing},
                          {.name = "rnn",
                           .aliases = named<Onnx<"RNN">, Ncnn<"RNN", ncnn::rnn>>,
                           .infer = infer_rnn,
                           .reference = reference<rnn_of>,
                           .offers = offers<rnn_of, kRnnPanels, rnn_scratch, 1>,
                           .kernels = kRnnKernels,
                           .axes = link_nothing}};

}  // namespace

extern const std::span<const OpDef> ops_gru;
const std::span<const OpDef> ops_gru = kOps;

}  // namespace stowage
