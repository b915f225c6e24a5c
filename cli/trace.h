// SPDX-License-Identifier: Apache-2.0
// Measured runs in the Trace Event Format of Chrome, which Perfetto (ui.perfetto.dev) opens.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "stowage/plan.h"

namespace stowage::cli {

/// `runs` are the microseconds of PlanReport::steps, of each run. Complete events of runs and,
/// within them, of steps, one after the other; the bytes of the arena that are in use as a counter;
/// and for the first run each part of the arena as an asynchronous event, from the step that writes
/// it to the last one that reads it.
Json trace(const PlanReport& plan, const std::string& model,
           std::span<const std::vector<double>> runs);

}  // namespace stowage::cli
