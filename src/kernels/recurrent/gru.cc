// SPDX-License-Identifier: Apache-2.0
#include "kernels/recurrent/gru.h"

namespace stowage {

namespace {

void run_gru(const Gru& g, const KernelArgs& args) noexcept {
  const SequenceData<float> data = sequence_data<float>(args);
  const std::int64_t n = g.outputs, panels = ceil_div(3 * n, kGatePanel);
  // Panels of update and reset gates, and the first that the new state has a part in.
  const std::int64_t gate_panels = ceil_div(2 * n, kGatePanel), first = 2 * n / kGatePanel;
  each_task(g, data, gru_scratch(g), args, [&](SequenceTask task) {
    const std::int64_t d = task.direction(), stride = sums_stride(3 * n);
    const Rows h = task.take(state_stride(n)), kept = task.take(state_stride(n));
    const Rows of_h = task.take(stride), of_kept = task.take(stride);
    const float* b = data.b == nullptr ? nullptr : data.b + d * 6 * n;
    const Rows x_bias = task.take_bias(b, nullptr, 3 * n);
    const Rows h_bias = task.take_bias(b == nullptr ? b : b + 3 * n, nullptr, 3 * n);
    const GateWeights r(data.r, d, n, panels);
    const GateWeights of_gates = r.part(0, gate_panels), of_new = r.part(first, panels - first);
    const std::int64_t new_column = first * kGatePanel;
    const GruRule rule = g.rule(d);
    task.walk({data.w, d, g.inputs, panels}, x_bias, h, [&](Rows of_x, std::int64_t rows) {
      task.add(h, rows, g.reset_after ? r : of_gates, h_bias, of_h);
      if (!g.reset_after) {
        for (std::int64_t i = 0; i < rows; ++i) reset_state(rule, of_x[i], of_h[i], h[i], kept[i]);
        task.add(kept, rows, of_new, h_bias.columns_from(new_column),
                 of_kept.columns_from(new_column));
      }
      const Rows sums = g.reset_after ? of_h : of_kept;
      for (std::int64_t i = 0; i < rows; ++i) {
        update_gru(rule, of_x[i], of_h[i], sums[i] + 2 * n, h[i]);
      }
    });
  });
}

void run_rnn(const Rnn& g, const KernelArgs& args) noexcept {
  const SequenceData<float> data = sequence_data<float>(args);
  const std::int64_t n = g.outputs, panels = ceil_div(n, kGatePanel);
  each_task(g, data, rnn_scratch(g), args, [&](SequenceTask task) {
    const std::int64_t d = task.direction();
    const Rows h = task.take(state_stride(n));
    const float* b = data.b == nullptr ? nullptr : data.b + d * 2 * n;
    const Rows bias = task.take_bias(b, b == nullptr ? b : b + n, n);
    const GateWeights r(data.r, d, n, panels);
    const Gate f = g.gates[static_cast<std::size_t>(d)];
    task.walk({data.w, d, g.inputs, panels}, bias, h, [&](Rows sums, std::int64_t rows) {
      task.add(h, rows, r, sums, sums);
      for (std::int64_t i = 0; i < rows; ++i) update_rnn(n, f, g.clip, sums[i], h[i]);
    });
  });
}

}  // namespace

constexpr KernelDef kGruPanels = kernel_def<Gru, run_gru>("gru_panels");
constexpr KernelDef kRnnPanels = kernel_def<Rnn, run_rnn>("rnn_panels");

}  // namespace stowage
