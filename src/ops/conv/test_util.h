// SPDX-License-Identifier: Apache-2.0
// What the tests of the heavy operators share. For tests only.
#pragma once

#include <gtest/gtest.h>

#include "kernels/test_util.h"
#include "ops/op_test_util.h"

namespace stowage::op_test {

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
