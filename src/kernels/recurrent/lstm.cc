// SPDX-License-Identifier: Apache-2.0
#include "kernels/recurrent/lstm.h"

#include "base/thread_pool.h"

namespace stowage {

namespace {

void run(const Lstm& l, const KernelArgs& args) noexcept {
  const LstmData<float> data = lstm_data<float>(args);
  const LstmScratch scratch(l.hidden);
  const std::int64_t panels = scratch.gates / kGatePanel;
  const auto sequence = [&](std::size_t i) {
    const auto task = static_cast<std::int64_t>(i);
    const std::int64_t d = task / l.batch, b = task % l.batch;
    float* h = reinterpret_cast<float*>(args.scratch) + task * scratch.floats();
    const float* w = data.w + d * panels * l.inputs * kGatePanel;
    const float* r = data.r + d * panels * l.hidden * kGatePanel;
    const auto sums = [&](const float* x, const float* state, float* out) {
      std::fill_n(out, scratch.gates, 0.0f);
      add_gates(x, l.inputs, w, panels, out);
      add_gates(state, l.hidden, r, panels, out);
    };
    std::fill_n(h, 2 * scratch.state, 0.0f);
    const auto cells = [&](const float* gates, const float* peepholes, float* new_h, float* new_c) {
      update_cells(l.rule(d), gates, peepholes, new_h, new_c);
    };
    run_lstm_sequence(l, data, d, b, h, h + scratch.state, h + 2 * scratch.state, sums, cells);
  };
  const auto sequences = static_cast<std::size_t>(l.directions * l.batch);
  parallel(args.pool, sequences, sequence);
}

}  // namespace

constexpr KernelDef kLstmPanels = kernel_def<Lstm, run>("lstm_panels");

}  // namespace stowage
