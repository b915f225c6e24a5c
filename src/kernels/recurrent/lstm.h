// SPDX-License-Identifier: Apache-2.0
// LSTM over sequences, with the sums of a step in panels of weights.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/numbers.h"
#include "kernels/kernel.h"
#include "kernels/recurrent/gates.h"
#include "kernels/recurrent/sequences.h"
#include "kernels/recurrent/walk.h"

namespace stowage {

/// Everything about an LSTM but its data.
struct Lstm : Sequences {
  /// Its operands, as ONNX has them, and a projection (direction o hidden) behind them.
  enum Input : int { kX, kW, kR, kB, kLengths, kH, kC, kP, kProject, kInputs };

  std::int64_t hidden = 0;  ///< cells; without a projection as many as outputs
  bool projects = false;    ///< h is a product of the cells' outputs
  bool coupled = false;
  float clip = 0;           ///< of the sums of the gates; 0: none
  float cell_clip = 0;      ///< of the cell's state, as TFLite has it; 0: none
  std::vector<Gate> gates;  ///< f, g, h of each direction

  CellRule rule(std::int64_t d) const {
    const Gate* of = gates.data() + 3 * d;
    return {hidden, of[0], of[1], of[2], coupled, clip, cell_clip};
  }

  void fields(Archive& a) {
    sequence_fields(a);
    a("hidden", hidden)("projects", projects)("coupled", coupled);
    a("clip", clip)("cell_clip", cell_clip)("gates", gates);
  }
};

/// Pointers of a call; null where absent.
template <class T>
struct LstmData : SequenceData<T> {
  const T *c, *p, *projection;
  T* y_c;
};

/// A sequence of one direction, by the definition. `sums(x, h, out)` adds up the gates of a step
/// without bias; `cells(gates, peepholes, h, c)` makes the new state of them.
template <class T, class Sums, class Cells>
void run_lstm_sequence(const Lstm& l, const LstmData<T>& data, std::int64_t d, std::int64_t b, T* h,
                       T* c, T* gates, const Sums& sums, const Cells& cells) {
  const std::int64_t n = l.hidden, state = l.state_at(d, b, n);
  for (std::int64_t j = 0; j < n; ++j) c[j] = data.c == nullptr ? T(0) : data.c[state + j];
  run_sequence(l, data, d, b, h, [&](const T* x) {
    sums(x, h, gates);
    if (data.b != nullptr) {
      const T* bias = data.b + d * 8 * n;
      for (std::int64_t j = 0; j < 4 * n; ++j) gates[j] += bias[j] + bias[4 * n + j];
    }
    cells(gates, data.p == nullptr ? nullptr : data.p + d * 3 * n, h, c);
  });
  if (data.y_c != nullptr) std::copy_n(c, n, data.y_c + state);
}

/// `args` has input<T>(i) and output<T>(i), and lists that may be shorter.
template <class T, class Args>
LstmData<T> lstm_data(const Args& args) {
  return {sequence_data<T>(args), input_of<T>(args, Lstm::kC), input_of<T>(args, Lstm::kP),
          input_of<T>(args, Lstm::kProject), output_of<T>(args, 2)};
}

/// Floats of the working memory of one sequence: h, c, the cells' outputs, and sums.
inline std::int64_t lstm_scratch(const Lstm& l) {
  return state_stride(l.outputs) + 2 * state_stride(l.hidden) + sums_floats(l, 4 * l.hidden, 1);
}

extern const KernelDef kLstmPanels;

}  // namespace stowage
