// SPDX-License-Identifier: Apache-2.0
// Pages of plans say what a kernel is: all that the operators choose among.
#include "report/kernel_meaning.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "graph/op_def.h"

namespace stowage {
namespace {

TEST(KernelMeaning, EveryKernelThatIsNotCalledAsAnOperatorHasOne) {
  for (const auto* family : op_families()) {
    for (const OpDef& op : *family) {
      for (const auto kernels : {op.kernels, op.device_kernels}) {
        for (const KernelDef* kernel : kernels) {
          const bool own = kernel->name.starts_with("test_") || find_op(kernel->name) != nullptr;
          EXPECT_TRUE(own || !kernel_meaning(kernel->name).empty())
              << kernel->name << " of " << op.name << ": add it to src/report/kernel_meaning.cc";
        }
      }
    }
  }
  for (const char* kernel : {"reference", "relabel"}) {
    EXPECT_FALSE(kernel_meaning(kernel).empty()) << kernel;
  }
  EXPECT_EQ(kernel_meaning("no such kernel"), "");
}

}  // namespace
}  // namespace stowage
