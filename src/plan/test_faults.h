// SPDX-License-Identifier: Apache-2.0
// Faults planted into good plans, and what verify says of each.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <string>

#include "plan/plan.h"
#include "stowage/error.h"

namespace stowage {

struct Fault {
  const char* what;
  void (*plant)(Plan&);
  const char* words;  ///< a part of what verify says
};

/// `make_plan()` gives a new plan that verify lets pass.
template <class F>
void expect_verify_sees(std::span<const Fault> faults, F&& make_plan) {
  for (const Fault& fault : faults) {
    SCOPED_TRACE(fault.what);
    const auto plan = make_plan();
    verify(*plan);
    fault.plant(*plan);
    try {
      verify(*plan);
      ADD_FAILURE() << "nothing is seen";
    } catch (const Error& e) {
      EXPECT_NE(e.sentence().find(fault.words), std::string::npos) << e.what();
    }
  }
}

}  // namespace stowage
