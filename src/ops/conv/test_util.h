// SPDX-License-Identifier: Apache-2.0
// What the tests of the heavy operators share. For tests only.
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include "ops/op_test_util.h"

namespace stowage::op_test {

/// Runs a test once for every instruction set that this machine and this build have.
template <class F>
void for_each_target(F&& test) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
    test();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

/// Passes infer shapes again and again: the second time must find what the first one left.
inline void expect_infer_repeats(const OpCase& c) {
  OpGraph g(c);
  const Shape before = g.ref().output().shape;
  infer_node(g.graph, g.id);
  const Shape after = g.ref().output().shape;
  ASSERT_EQ(before.rank(), after.rank());
  for (int i = 0; i < before.rank(); ++i) EXPECT_EQ(before[i], after[i]) << "axis " << i;
}

}  // namespace stowage::op_test
