// SPDX-License-Identifier: Apache-2.0
// What bench --layers tells: the measured time of each step beside the prediction and the limits of
// the machine.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "stowage/machine.h"
#include "stowage/plan.h"

namespace stowage::cli {

/// Every step in the order in which they run, the sums of each kernel, and the five steps with most
/// time above the limits of the machine. `us` are measured, of each of PlanReport::steps. Without
/// Peaks, as of a device, times and shares alone.
std::string layers_text(const PlanReport& plan, const std::vector<double>& us,
                        const std::optional<Peaks>& peaks);

/// Likewise as `layers`, `kernels`, and with Peaks `peaks` and `furthest`.
void put_layers(Json& json, const PlanReport& plan, const std::vector<double>& us,
                const std::optional<Peaks>& peaks);

}  // namespace stowage::cli
