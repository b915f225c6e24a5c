// SPDX-License-Identifier: Apache-2.0
// A plan as a JSON object, which is printed as it is and in the page.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "stowage/plan.h"

namespace stowage {

using Json = nlohmann::ordered_json;

/// `step_us` are measured times of PlanReport::steps, or nothing.
Json plan_object(const PlanReport& plan, const std::string& model, std::span<const double> step_us);

/// Bytes that are no UTF-8 are replaced, never an exception.
std::string json_lines(const Json& json);

}  // namespace stowage
