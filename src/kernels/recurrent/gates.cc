// SPDX-License-Identifier: Apache-2.0
// Gates for every instruction set.
#include "kernels/recurrent/gates.h"

#include <limits>

#include "base/checked.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/recurrent/gates.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/math-inl.h"
#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::HWY_NAMESPACE {
namespace {

// Accumulators, a row of weights and one x must fit into the registers. A tile of few rows has more
// vectors, so that enough sums are under way that none waits for the one before.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64
constexpr int kMostRows = 8;

constexpr int vectors_of(int rows) { return rows <= 6 ? 4 : 2; }
#else
constexpr int kMostRows = 6;

constexpr int vectors_of(int rows) { return rows == 1 ? 8 : rows <= 2 ? 4 : 2; }
#endif

// In a loop of one pass GCC makes weights operands of the products, and tiles of two or three rows
// then load each weight as often.
#undef STOWAGE_UNROLL_TWICE
#if defined(__clang__)
#define STOWAGE_UNROLL_TWICE
#else
#define STOWAGE_UNROLL_TWICE _Pragma("GCC unroll 2")
#endif

/// Rows of one panel.
struct PanelSums {
  const float* const* x;
  std::int64_t count;
  const float* w;
  Rows from, to;
};

template <int R>
void add_tile(const PanelSums& p) {
  constexpr int kVectors = vectors_of(R);
  static_assert(kGatePanel % (kVectors * kLanes) == 0);
  const float* x[R];
  STOWAGE_UNROLL
  for (int i = 0; i < R; ++i) x[i] = p.x[i];
  for (std::int64_t j = 0; j < kGatePanel; j += kVectors * kLanes) {
    V sums[R][kVectors];
    STOWAGE_UNROLL
    for (int i = 0; i < R; ++i) {
      STOWAGE_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        sums[i][v] =
            p.from.first == nullptr ? hn::Zero(kTag) : hn::LoadU(kTag, p.from[i] + j + v * kLanes);
      }
    }
    const float* row = p.w + j;
    STOWAGE_UNROLL_TWICE
    for (std::int64_t k = 0; k < p.count; ++k, row += kGatePanel) {
      V w[kVectors];
      STOWAGE_UNROLL
      for (int v = 0; v < kVectors; ++v) w[v] = hn::LoadU(kTag, row + v * kLanes);
      STOWAGE_UNROLL
      for (int i = 0; i < R; ++i) {
        const V xk = hn::Set(kTag, x[i][k]);
        STOWAGE_UNROLL
        for (int v = 0; v < kVectors; ++v) sums[i][v] = hn::MulAdd(xk, w[v], sums[i][v]);
      }
    }
    STOWAGE_UNROLL
    for (int i = 0; i < R; ++i) {
      STOWAGE_UNROLL
      for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[i][v], kTag, p.to[i] + j + v * kLanes);
    }
  }
}

/// The tile of `rows` <= R rows.
template <int R>
void add_rows(const PanelSums& p, std::int64_t rows) {
  if constexpr (R > 1) {
    if (rows < R) return add_rows<R - 1>(p, rows);
  }
  add_tile<R>(p);
}

void add_gates_all(const float* const* x, std::int64_t rows, std::int64_t count, const float* w,
                   std::int64_t panels, Rows from, Rows to) {
  const std::int64_t tiles = ceil_div(rows, kMostRows);
  for (std::int64_t p = 0; p < panels; ++p, w += count * kGatePanel) {
    const Rows panel_from = from.columns_from(p * kGatePanel),
               panel_to = to.columns_from(p * kGatePanel);
    for (std::int64_t t = 0; t < tiles; ++t) {
      const std::int64_t first = t * rows / tiles, end = (t + 1) * rows / tiles;
      add_rows<kMostRows>(
          {x + first, count, w, panel_from.rows_from(first), panel_to.rows_from(first)},
          end - first);
    }
  }
}

template <class D, class V>
HWY_INLINE V open_gate(D d, Gate gate, V x) {
  switch (gate) {
    case Gate::sigmoid:
      return sigmoid(d, x);
    case Gate::tanh:
      return tanh(d, x);
    case Gate::relu:
      return at_least(x, hn::Zero(d));
  }
  return x;
}

void update_cells_all(const CellRule& rule, const float* sums, const float* peepholes, float* h,
                      float* c) {
  const hn::CappedTag<float, 16> d;
  using V = hn::Vec<decltype(d)>;
  constexpr float kNone = std::numeric_limits<float>::infinity();
  const std::int64_t n = rule.hidden;
  const V limit = hn::Set(d, rule.clip > 0 ? rule.clip : kNone);
  const V cell_limit = hn::Set(d, rule.cell_clip > 0 ? rule.cell_clip : kNone);
  const auto gate = [&](Gate kind, std::int64_t row, std::int64_t peephole, std::int64_t j,
                        V state) HWY_ATTR {
    V sum = hn::LoadU(d, sums + row * n + j);
    if (peepholes != nullptr && peephole >= 0) {
      sum = hn::MulAdd(hn::LoadU(d, peepholes + peephole * n + j), state, sum);
    }
    return open_gate(d, kind, clip(sum, hn::Neg(limit), limit));
  };
  // Outputs wait for the new state, so they have a loop of their own: in each there is enough to do
  // beside every chain of functions.
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t j = 0; j < n; j += lanes) {
    V state = hn::LoadU(d, c + j);
    const V in = gate(rule.f, 0, 0, j, state);
    const V forget = rule.coupled ? hn::Sub(hn::Set(d, 1.0f), in) : gate(rule.f, 2, 2, j, state);
    state = hn::MulAdd(forget, state, hn::Mul(in, gate(rule.g, 3, -1, j, state)));
    hn::StoreU(clip(state, hn::Neg(cell_limit), cell_limit), d, c + j);
  }
  for (std::int64_t j = 0; j < n; j += lanes) {
    const V state = hn::LoadU(d, c + j);
    hn::StoreU(hn::Mul(gate(rule.f, 1, 1, j, state), open_gate(d, rule.h, state)), d, h + j);
  }
}

/// A gate of the sum of two vectors.
template <class D>
HWY_INLINE hn::Vec<D> open_sum(D d, Gate gate, float limit, const float* a, const float* b) {
  const hn::Vec<D> bound = hn::Set(d, limit > 0 ? limit : std::numeric_limits<float>::infinity());
  return open_gate(d, gate, clip(hn::Add(hn::LoadU(d, a), hn::LoadU(d, b)), hn::Neg(bound), bound));
}

void reset_state_all(const GruRule& rule, const float* of_x, const float* of_h, const float* h,
                     float* out) {
  const hn::CappedTag<float, 16> d;
  const std::int64_t n = rule.hidden;
  for (std::int64_t j = 0; j < n; j += static_cast<std::int64_t>(hn::Lanes(d))) {
    const auto reset = open_sum(d, rule.f, rule.clip, of_x + n + j, of_h + n + j);
    hn::StoreU(hn::Mul(reset, hn::LoadU(d, h + j)), d, out + j);
  }
}

void update_gru_all(const GruRule& rule, const float* of_x, const float* of_h, const float* of_new,
                    float* h) {
  const hn::CappedTag<float, 16> d;
  using V = hn::Vec<decltype(d)>;
  const std::int64_t n = rule.hidden;
  const V limit = hn::Set(d, rule.clip > 0 ? rule.clip : std::numeric_limits<float>::infinity());
  for (std::int64_t j = 0; j < n; j += static_cast<std::int64_t>(hn::Lanes(d))) {
    const V update = open_sum(d, rule.f, rule.clip, of_x + j, of_h + j);
    V sum = hn::LoadU(d, of_new + j);
    if (rule.reset_after) {
      sum = hn::Mul(sum, open_sum(d, rule.f, rule.clip, of_x + n + j, of_h + n + j));
    }
    sum = hn::Add(sum, hn::LoadU(d, of_x + 2 * n + j));
    const V fresh = open_gate(d, rule.g, clip(sum, hn::Neg(limit), limit));
    const V kept = hn::Mul(update, hn::LoadU(d, h + j));
    hn::StoreU(hn::MulAdd(hn::Sub(hn::Set(d, 1.0f), update), fresh, kept), d, h + j);
  }
}

void update_rnn_all(std::int64_t hidden, Gate f, float bound, const float* sums, float* h) {
  const hn::CappedTag<float, 16> d;
  const auto limit = hn::Set(d, bound > 0 ? bound : std::numeric_limits<float>::infinity());
  for (std::int64_t j = 0; j < hidden; j += static_cast<std::int64_t>(hn::Lanes(d))) {
    const auto sum = clip(hn::LoadU(d, sums + j), hn::Neg(limit), limit);
    hn::StoreU(open_gate(d, f, sum), d, h + j);
  }
}

}  // namespace
}  // namespace stowage::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace stowage {

HWY_EXPORT(add_gates_all);
HWY_EXPORT(update_cells_all);
HWY_EXPORT(reset_state_all);
HWY_EXPORT(update_gru_all);
HWY_EXPORT(update_rnn_all);

void add_gates(const float* const* x, std::int64_t rows, std::int64_t count, const float* w,
               std::int64_t panels, Rows from, Rows to) noexcept {
  HWY_DYNAMIC_DISPATCH(add_gates_all)(x, rows, count, w, panels, from, to);
}

void update_cells(const CellRule& rule, const float* sums, const float* peepholes, float* h,
                  float* c) noexcept {
  HWY_DYNAMIC_DISPATCH(update_cells_all)(rule, sums, peepholes, h, c);
}

void reset_state(const GruRule& rule, const float* of_x, const float* of_h, const float* h,
                 float* out) noexcept {
  HWY_DYNAMIC_DISPATCH(reset_state_all)(rule, of_x, of_h, h, out);
}

void update_gru(const GruRule& rule, const float* of_x, const float* of_h, const float* of_new,
                float* h) noexcept {
  HWY_DYNAMIC_DISPATCH(update_gru_all)(rule, of_x, of_h, of_new, h);
}

void update_rnn(std::int64_t hidden, Gate f, float clip, const float* sums, float* h) noexcept {
  HWY_DYNAMIC_DISPATCH(update_rnn_all)(hidden, f, clip, sums, h);
}

}  // namespace stowage
#endif
