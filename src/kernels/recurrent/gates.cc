// SPDX-License-Identifier: Apache-2.0
// Gates for every instruction set.
#include "kernels/recurrent/gates.h"

#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/recurrent/gates.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::HWY_NAMESPACE {
namespace {

/// Four vectors of sums at a time stay in registers.
void add_panel(const float* HWY_RESTRICT x, std::int64_t count, const float* HWY_RESTRICT w,
               float* HWY_RESTRICT out) {
  const hn::CappedTag<float, 16> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  static_assert(kGatePanel % (4 * 16) == 0);
  for (std::int64_t j = 0; j < kGatePanel; j += 4 * lanes) {
    float* to = out + j;
    V s0 = hn::LoadU(d, to), s1 = hn::LoadU(d, to + lanes), s2 = hn::LoadU(d, to + 2 * lanes),
      s3 = hn::LoadU(d, to + 3 * lanes);
    const float* row = w + j;
    for (std::int64_t k = 0; k < count; ++k, row += kGatePanel) {
      const V xk = hn::Set(d, x[k]);
      s0 = hn::MulAdd(xk, hn::LoadU(d, row), s0);
      s1 = hn::MulAdd(xk, hn::LoadU(d, row + lanes), s1);
      s2 = hn::MulAdd(xk, hn::LoadU(d, row + 2 * lanes), s2);
      s3 = hn::MulAdd(xk, hn::LoadU(d, row + 3 * lanes), s3);
    }
    hn::StoreU(s0, d, to);
    hn::StoreU(s1, d, to + lanes);
    hn::StoreU(s2, d, to + 2 * lanes);
    hn::StoreU(s3, d, to + 3 * lanes);
  }
}

void add_gates_all(const float* x, std::int64_t count, const float* w, std::int64_t panels,
                   float* out) {
  for (std::int64_t p = 0; p < panels; ++p) {
    add_panel(x, count, w + p * count * kGatePanel, out + p * kGatePanel);
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
  for (std::int64_t j = 0; j < n; j += static_cast<std::int64_t>(hn::Lanes(d))) {
    V state = hn::LoadU(d, c + j);
    const auto gate = [&](Gate kind, std::int64_t row, std::int64_t peephole) HWY_ATTR {
      V sum = hn::LoadU(d, sums + row * n + j);
      if (peepholes != nullptr && peephole >= 0) {
        sum = hn::MulAdd(hn::LoadU(d, peepholes + peephole * n + j), state, sum);
      }
      return open_gate(d, kind, clip(sum, hn::Neg(limit), limit));
    };
    const V in = gate(rule.f, 0, 0);
    const V forget = rule.coupled ? hn::Sub(hn::Set(d, 1.0f), in) : gate(rule.f, 2, 2);
    state = hn::MulAdd(forget, state, hn::Mul(in, gate(rule.g, 3, -1)));
    state = clip(state, hn::Neg(cell_limit), cell_limit);
    hn::StoreU(state, d, c + j);
    hn::StoreU(hn::Mul(gate(rule.f, 1, 1), open_gate(d, rule.h, state)), d, h + j);
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

void add_gates(const float* x, std::int64_t count, const float* w, std::int64_t panels,
               float* out) noexcept {
  HWY_DYNAMIC_DISPATCH(add_gates_all)(x, count, w, panels, out);
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
