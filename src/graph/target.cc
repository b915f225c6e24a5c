// SPDX-License-Identifier: Apache-2.0
// What this machine offers: the lanes of the instruction set that dynamic dispatch chooses.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "graph/target.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "graph/op_def.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::HWY_NAMESPACE {
namespace {

int f32_lanes() {
  const hwy::HWY_NAMESPACE::ScalableTag<float> d;
  return static_cast<int>(hwy::HWY_NAMESPACE::Lanes(d));
}

}  // namespace
}  // namespace stowage::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace stowage {

HWY_EXPORT(f32_lanes);

Target host_target(int threads) {
  Target target;
  target.lanes = HWY_DYNAMIC_DISPATCH(f32_lanes)();
  target.threads = threads;
  return target;
}

}  // namespace stowage
#endif
