// SPDX-License-Identifier: Apache-2.0
// A recurrent step: rows of weights times a vector, then the gates.
#pragma once

#include <cstdint>

namespace stowage {

/// Results that are summed side by side; weights lie in panels of as many columns.
inline constexpr std::int64_t kGatePanel = 64;

/// Rows of floats; none: a null `first`.
struct Rows {
  float* first = nullptr;
  std::int64_t stride = 0;  ///< 0: all are the first

  float* operator[](std::int64_t i) const { return first + i * stride; }

  Rows rows_from(std::int64_t i) const { return {first == nullptr ? first : (*this)[i], stride}; }

  Rows columns_from(std::int64_t j) const { return {first == nullptr ? first : first + j, stride}; }
};

/// to[i][j] = from[i][j] + sum of x[i][k] * w[k][j] for 0 <= k < count, `rows` rows i and all
/// columns of `panels` panels; without `from` the sums begin with 0. `to` may be `from`. The
/// weights of a panel are `count` rows of kGatePanel floats. Products are added in the order of k,
/// and the sums of a row are the same whatever the other rows are.
void add_gates(const float* const* x, std::int64_t rows, std::int64_t count, const float* w,
               std::int64_t panels, Rows from, Rows to) noexcept;

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

/// What makes the new state of a GRU from the sums of its gates (update, reset, new).
struct GruRule {
  std::int64_t hidden = 0;
  Gate f = Gate::sigmoid, g = Gate::tanh;
  bool reset_after = false;  ///< the reset gate is applied to the sums, not to the state
  float clip = 0;            ///< of the sums; 0: none
};

/// out = reset * h, of the sums over x and over h.
void reset_state(const GruRule& rule, const float* of_x, const float* of_h, const float* h,
                 float* out) noexcept;
/// New h. `of_new`: the sums of the new gate over h, or over the result of reset_state. All are
/// read a vector beyond their end; so is h written.
void update_gru(const GruRule& rule, const float* of_x, const float* of_h, const float* of_new,
                float* h) noexcept;

/// h = f(sums), both a vector beyond their end.
void update_rnn(std::int64_t hidden, Gate f, float clip, const float* sums, float* h) noexcept;

}  // namespace stowage
