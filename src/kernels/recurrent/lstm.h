// SPDX-License-Identifier: Apache-2.0
// LSTM over sequences: the walk over directions, batches and steps, and the kernel that does the
// sums of a step in panels of weights.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/numbers.h"
#include "kernels/kernel.h"
#include "kernels/recurrent/gates.h"

namespace stowage {

/// Everything about an LSTM but its data.
struct Lstm {
  /// Its operands, as ONNX has them.
  enum Input : int { kX, kW, kR, kB, kLengths, kH, kC, kP, kInputs };

  std::int64_t steps = 0, batch = 0, inputs = 0, hidden = 0, directions = 1;
  bool reverse = false;  ///< of the first direction; the second of two is always reversed
  bool batch_first = false, coupled = false;
  float clip = 0;           ///< of the sums of the gates; 0: none
  float cell_clip = 0;      ///< of the cell's state, as TFLite has it; 0: none
  std::vector<Gate> gates;  ///< f, g, h of each direction

  /// Offset of the inputs of a step.
  std::int64_t x_at(std::int64_t t, std::int64_t b) const {
    return (batch_first ? b * steps + t : t * batch + b) * inputs;
  }

  std::int64_t y_at(std::int64_t t, std::int64_t d, std::int64_t b) const {
    return (batch_first ? (b * steps + t) * directions + d : (t * directions + d) * batch + b) *
           hidden;
  }

  std::int64_t state_at(std::int64_t d, std::int64_t b) const {
    return (batch_first ? b * directions + d : d * batch + b) * hidden;
  }

  CellRule rule(std::int64_t d) const {
    const Gate* of = gates.data() + 3 * d;
    return {hidden, of[0], of[1], of[2], coupled, clip, cell_clip};
  }

  void fields(Archive& a) {
    a("steps", steps)("batch", batch)("inputs", inputs)("hidden", hidden);
    a("directions", directions)("reverse", reverse)("batch_first", batch_first);
    a("coupled", coupled)("clip", clip)("cell_clip", cell_clip)("gates", gates);
  }

  /// The step that is the k-th of a sequence of `length`.
  std::int64_t step(std::int64_t d, std::int64_t k, std::int64_t length) const {
    return reverse || d == 1 ? length - 1 - k : k;
  }
};

/// Pointers of a call; null where absent.
template <class T>
struct LstmData {
  const T *x, *w, *r, *b, *h, *c, *p;
  const std::int32_t* lengths;
  T *y, *y_h, *y_c;
};

/// A sequence of one direction. `sums(x, h, out)` adds up the gates of a step without bias;
/// `cells(gates, peepholes, h, c)` makes the new state of them.
template <class T, class Sums, class Cells>
void run_lstm_sequence(const Lstm& l, const LstmData<T>& data, std::int64_t d, std::int64_t b, T* h,
                       T* c, T* gates, const Sums& sums, const Cells& cells) {
  const std::int64_t n = l.hidden, state = l.state_at(d, b);
  const std::int64_t length =
      data.lengths == nullptr ? l.steps : std::clamp<std::int64_t>(data.lengths[b], 0, l.steps);
  for (std::int64_t j = 0; j < n; ++j) {
    h[j] = data.h == nullptr ? T(0) : data.h[state + j];
    c[j] = data.c == nullptr ? T(0) : data.c[state + j];
  }
  for (std::int64_t k = 0; k < length; ++k) {
    const std::int64_t t = l.step(d, k, length);
    sums(data.x + l.x_at(t, b), h, gates);
    if (data.b != nullptr) {
      const T* bias = data.b + d * 8 * n;
      for (std::int64_t j = 0; j < 4 * n; ++j) gates[j] += bias[j] + bias[4 * n + j];
    }
    cells(gates, data.p == nullptr ? nullptr : data.p + d * 3 * n, h, c);
    if (data.y != nullptr) std::copy_n(h, n, data.y + l.y_at(t, d, b));
  }
  for (std::int64_t t = length; t < l.steps && data.y != nullptr; ++t) {
    std::fill_n(data.y + l.y_at(t, d, b), n, T(0));
  }
  if (data.y_h != nullptr) std::copy_n(h, n, data.y_h + state);
  if (data.y_c != nullptr) std::copy_n(c, n, data.y_c + state);
}

/// `args` has input<T>(i) and output<T>(i), and lists that may be shorter.
template <class T, class Args>
LstmData<T> lstm_data(const Args& args) {
  const auto in = [&]<class E>(std::size_t i) -> const E* {
    return i < args.in.size() ? args.template input<E>(i) : nullptr;
  };
  const auto out = [&](std::size_t i) -> T* {
    return i < args.out.size() ? args.template output<T>(i) : nullptr;
  };
  return {in.template operator()<T>(Lstm::kX),
          in.template operator()<T>(Lstm::kW),
          in.template operator()<T>(Lstm::kR),
          in.template operator()<T>(Lstm::kB),
          in.template operator()<T>(Lstm::kH),
          in.template operator()<T>(Lstm::kC),
          in.template operator()<T>(Lstm::kP),
          in.template operator()<std::int32_t>(Lstm::kLengths),
          out(0),
          out(1),
          out(2)};
}

/// Floats of the working memory of one sequence: h, c, and whole panels of gates. All have room for
/// the vectors that update_cells reads and writes: roundup(4n, 64) >= 3n + roundup(n, 16).
struct LstmScratch {
  std::int64_t state, gates;

  explicit LstmScratch(std::int64_t hidden)
      : state(round_up(hidden, static_cast<std::int64_t>(kAlignment / sizeof(float)))),
        gates(round_up(4 * hidden, kGatePanel)) {}

  std::int64_t floats() const { return 2 * state + gates; }
};

extern const KernelDef kLstmPanels;

}  // namespace stowage
