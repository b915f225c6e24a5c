// SPDX-License-Identifier: Apache-2.0
#include "kernels/recurrent/gru.h"

#include <algorithm>

#include "base/thread_pool.h"

namespace stowage {

namespace {

/// f(direction, batch, working memory) for every sequence.
template <class F>
void each_sequence(const Sequences& s, const RecurrentScratch& scratch, const KernelArgs& args,
                   const F& f) noexcept {
  parallel(args.pool, static_cast<std::size_t>(s.directions * s.batch), [&](std::size_t i) {
    const auto task = static_cast<std::int64_t>(i);
    float* memory = reinterpret_cast<float*>(args.scratch) + task * scratch.floats();
    std::fill_n(memory, scratch.floats(), 0.0f);
    f(task / s.batch, task % s.batch, memory);
  });
}

/// Sums begin as the bias, if there is one.
void start(const float* bias, std::int64_t count, const RecurrentScratch& scratch, float* sums) {
  std::fill_n(sums, scratch.sums, 0.0f);
  if (bias != nullptr) std::copy_n(bias, count, sums);
}

void run_gru(const Gru& g, const KernelArgs& args) noexcept {
  const SequenceData<float> data = sequence_data<float>(args);
  const std::int64_t n = g.outputs;
  const RecurrentScratch scratch = gru_scratch(n);
  // Panels of update and reset gates, and the first that the new state has a part in.
  const std::int64_t gate_panels = ceil_div(2 * n, kGatePanel), first = 2 * n / kGatePanel;
  each_sequence(g, scratch, args, [&](std::int64_t d, std::int64_t b, float* memory) {
    float *h = memory, *kept = h + scratch.state, *of_x = kept + scratch.state;
    float *of_h = of_x + scratch.sums, *of_kept = of_h + scratch.sums;
    const float* w = data.w + d * scratch.panels * g.inputs * kGatePanel;
    const float* r = data.r + d * scratch.panels * n * kGatePanel;
    const float* bias = data.b == nullptr ? nullptr : data.b + d * 6 * n;
    const float* h_bias = bias == nullptr ? nullptr : bias + 3 * n;
    const GruRule rule = g.rule(d);
    run_sequence(g, data, d, b, h, [&](const float* x) {
      start(bias, 3 * n, scratch, of_x);
      start(h_bias, 3 * n, scratch, of_h);
      add_gates(x, g.inputs, w, scratch.panels, of_x);
      add_gates(h, n, r, g.reset_after ? scratch.panels : gate_panels, of_h);
      if (g.reset_after) return update_gru(rule, of_x, of_h, of_h + 2 * n, h);
      reset_state(rule, of_x, of_h, h, kept);
      start(h_bias, 3 * n, scratch, of_kept);
      add_gates(kept, n, r + first * n * kGatePanel, scratch.panels - first,
                of_kept + first * kGatePanel);
      update_gru(rule, of_x, of_h, of_kept + 2 * n, h);
    });
  });
}

void run_rnn(const Rnn& g, const KernelArgs& args) noexcept {
  const SequenceData<float> data = sequence_data<float>(args);
  const std::int64_t n = g.outputs;
  const RecurrentScratch scratch = rnn_scratch(n);
  each_sequence(g, scratch, args, [&](std::int64_t d, std::int64_t b, float* memory) {
    float *h = memory, *sums = h + 2 * scratch.state;
    const float* w = data.w + d * scratch.panels * g.inputs * kGatePanel;
    const float* r = data.r + d * scratch.panels * n * kGatePanel;
    const float* bias = data.b == nullptr ? nullptr : data.b + d * 2 * n;
    run_sequence(g, data, d, b, h, [&](const float* x) {
      start(bias, n, scratch, sums);
      for (std::int64_t j = 0; bias != nullptr && j < n; ++j) sums[j] += bias[n + j];
      add_gates(x, g.inputs, w, scratch.panels, sums);
      add_gates(h, n, r, scratch.panels, sums);
      update_rnn(n, g.gates[static_cast<std::size_t>(d)], g.clip, sums, h);
    });
  });
}

}  // namespace

constexpr KernelDef kGruPanels = kernel_def<Gru, run_gru>("gru_panels");
constexpr KernelDef kRnnPanels = kernel_def<Rnn, run_rnn>("rnn_panels");

}  // namespace stowage
