// SPDX-License-Identifier: Apache-2.0
#include "kernels/recurrent/lstm.h"

#include "base/thread_pool.h"

namespace stowage {

namespace {

void run(const Lstm& l, const KernelArgs& args) noexcept {
  const LstmData<float> data = lstm_data<float>(args);
  const LstmScratch scratch(l);
  const std::int64_t panels = scratch.gates / kGatePanel;
  const auto sequence = [&](std::size_t i) {
    const auto task = static_cast<std::int64_t>(i);
    const std::int64_t d = task / l.batch, b = task % l.batch;
    float* h = reinterpret_cast<float*>(args.scratch) + task * scratch.floats();
    float* c = h + scratch.h;
    float* cells_out = c + scratch.cells;
    const float* w = data.w + d * panels * l.inputs * kGatePanel;
    const float* r = data.r + d * panels * l.outputs * kGatePanel;
    const float* projection = l.projects ? data.projection + d * scratch.h * l.hidden : nullptr;
    const auto sums = [&](const float* x, const float* state, float* out) {
      std::fill_n(out, scratch.gates, 0.0f);
      add_gates(x, l.inputs, w, panels, out);
      add_gates(state, l.outputs, r, panels, out);
    };
    std::fill_n(h, scratch.h + 2 * scratch.cells, 0.0f);
    const auto cells = [&](const float* gates, const float* peepholes, float* new_h, float* new_c) {
      update_cells(l.rule(d), gates, peepholes, l.projects ? cells_out : new_h, new_c);
      if (!l.projects) return;
      std::fill_n(new_h, scratch.h, 0.0f);
      add_gates(cells_out, l.hidden, projection, scratch.h / kGatePanel, new_h);
    };
    run_lstm_sequence(l, data, d, b, h, c, cells_out + scratch.cells, sums, cells);
  };
  const auto sequences = static_cast<std::size_t>(l.directions * l.batch);
  parallel(args.pool, sequences, sequence);
}

}  // namespace

constexpr KernelDef kLstmPanels = kernel_def<Lstm, run>("lstm_panels");

}  // namespace stowage
