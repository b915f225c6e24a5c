// SPDX-License-Identifier: Apache-2.0
// A plan in ten lines.
#pragma once

#include <string>

#include "stowage/plan.h"

namespace stowage::cli {

std::string plan_summary(const PlanReport& plan, const std::string& model);

}  // namespace stowage::cli
