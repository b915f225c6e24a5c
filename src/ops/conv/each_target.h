// SPDX-License-Identifier: Apache-2.0
// Runs a test once for every instruction set that this machine and this build have. Tests only.
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

namespace stowage::op_test {

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

}  // namespace stowage::op_test
