// SPDX-License-Identifier: Apache-2.0
// A recurrent step: rows of weights times a vector, then the gates.
#pragma once

#include <cstdint>

namespace stowage {

/// Results that are summed side by side; weights lie in panels of as many columns.
inline constexpr std::int64_t kGatePanel = 64;

/// out[j] += sum of x[k] * w[k][j] for 0 <= k < count and all columns of `panels` panels. The
/// weights of a panel are `count` rows of kGatePanel floats. `out` is aligned to 64 bytes.
void add_gates(const float* x, std::int64_t count, const float* w, std::int64_t panels,
               float* out) noexcept;

enum class Gate : char { sigmoid, tanh, relu };

/// What makes the new state of a cell from the sums of its four gates (input, output, forget,
/// cell).
struct CellRule {
  std::int64_t hidden = 0;
  Gate f = Gate::sigmoid, g = Gate::tanh, h = Gate::tanh;
  bool coupled = false;  ///< the forget gate is 1 minus the input gate
  float clip = 0;        ///< of the sums; 0: none
  float cell_clip = 0;   ///< of the cell's state; 0: none
};

/// New h and c from `sums`, `hidden` floats for each gate. `peepholes`: those of input, output,
/// forget gate, or null. All are read a vector beyond their end; so are h and c written.
void update_cells(const CellRule& rule, const float* sums, const float* peepholes, float* h,
                  float* c) noexcept;

}  // namespace stowage
