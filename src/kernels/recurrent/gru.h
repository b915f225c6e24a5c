// SPDX-License-Identifier: Apache-2.0
// GRU and the simple RNN over sequences, with the sums of a step in panels of weights.
#pragma once

#include <cstdint>
#include <vector>

#include "base/checked.h"
#include "kernels/kernel.h"
#include "kernels/recurrent/gates.h"
#include "kernels/recurrent/sequences.h"
#include "kernels/recurrent/walk.h"

namespace stowage {

/// Everything about a GRU but its data. Gates are update, reset, new, as ONNX has them:
///
///   z = f(Wz x + Rz h + bz), r = f(Wr x + Rr h + br)
///   n = g(Wn x + wn + r * (Rn h + rn)), or g(Wn x + wn + Rn (r * h) + rn) unless `reset_after`
///   h = (1 - z) * n + z * h
struct Gru : Sequences {
  bool reset_after = false;
  float clip = 0;           ///< of the sums; 0: none
  std::vector<Gate> gates;  ///< f, g of each direction

  GruRule rule(std::int64_t d) const {
    const Gate* of = gates.data() + 2 * d;
    return {outputs, of[0], of[1], reset_after, clip};
  }

  void fields(Archive& a) {
    sequence_fields(a);
    a("reset_after", reset_after)("clip", clip)("gates", gates);
  }
};

/// Everything about h = f(W x + R h + b) but its data.
struct Rnn : Sequences {
  float clip = 0;           ///< of the sums; 0: none
  std::vector<Gate> gates;  ///< f of each direction

  void fields(Archive& a) {
    sequence_fields(a);
    a("clip", clip)("gates", gates);
  }
};

/// Floats of the working memory of one sequence: h, r * h, and sums over h, over r * h, and those
/// that begin with either bias.
inline std::int64_t gru_scratch(const Gru& g) {
  return 2 * state_stride(g.outputs) + sums_floats(g, 3 * g.outputs, 4);
}

inline std::int64_t rnn_scratch(const Rnn& g) {
  return state_stride(g.outputs) + sums_floats(g, g.outputs, 1);
}

extern const KernelDef kGruPanels, kRnnPanels;

}  // namespace stowage
