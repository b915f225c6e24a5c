// SPDX-License-Identifier: Apache-2.0
// add_gates for every instruction set.
#include "ops/lstm/gates.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/lstm/gates.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();

namespace stowage::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

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

}  // namespace
}  // namespace stowage::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace stowage {

HWY_EXPORT(add_gates_all);

void add_gates(const float* x, std::int64_t count, const float* w, std::int64_t panels,
               float* out) noexcept {
  HWY_DYNAMIC_DISPATCH(add_gates_all)(x, count, w, panels, out);
}

}  // namespace stowage
#endif
