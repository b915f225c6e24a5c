// SPDX-License-Identifier: Apache-2.0
#include "kernels/recurrent/lstm.h"

namespace stowage {

namespace {

void run(const Lstm& l, const KernelArgs& args) noexcept {
  const LstmData<float> data = lstm_data<float>(args);
  const std::int64_t n = l.hidden, panels = ceil_div(4 * n, kGatePanel);
  each_task(l, data, lstm_scratch(l), args, [&](SequenceTask task) {
    const std::int64_t d = task.direction();
    const Rows h = task.take(state_stride(l.outputs)), c = task.take(state_stride(n));
    const Rows raw = l.projects ? task.take(state_stride(n)) : h;
    const float* b = data.b == nullptr ? nullptr : data.b + d * 8 * n;
    const Rows bias = task.take_bias(b, b == nullptr ? b : b + 4 * n, 4 * n);
    const float* peepholes = data.p == nullptr ? nullptr : data.p + d * 3 * n;
    const GateWeights r(data.r, d, l.outputs, panels);
    const GateWeights projection(data.projection, d, n, ceil_div(l.outputs, kGatePanel));
    const CellRule rule = l.rule(d);
    task.load_states(data.c, n, c);
    task.walk({data.w, d, l.inputs, panels}, bias, h, [&](Rows sums, std::int64_t rows) {
      task.add(h, rows, r, sums, sums);
      for (std::int64_t i = 0; i < rows; ++i) update_cells(rule, sums[i], peepholes, raw[i], c[i]);
      if (l.projects) task.add(raw, rows, projection, {}, h);
    });
    task.store_states(c, n, data.y_c);
  });
}

}  // namespace

constexpr KernelDef kLstmPanels = kernel_def<Lstm, run>("lstm_panels");

}  // namespace stowage
