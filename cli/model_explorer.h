// SPDX-License-Identifier: Apache-2.0
// A plan for Model Explorer (github.com/google-ai-edge/model-explorer): a graph, as its
// GraphCollection, and overlays for it, as its ModelNodeData.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "stowage/plan.h"

namespace stowage::cli {

/// {"label", "graphs": [{"id", "nodes"}]}: a node for each operator, conversion, model input and
/// model output.
Json explorer_graph(const PlanReport& plan, const std::string& model);

/// {graph: {"name", "results": {node: {"value", ...}}}}: the layout in which a node leaves its
/// result, in the colours of the page.
Json explorer_layouts(const PlanReport& plan, const std::string& model);

/// Likewise microseconds: predicted, or measured where `step_us` has those of PlanReport::steps.
Json explorer_times(const PlanReport& plan, const std::string& model,
                    std::span<const double> step_us = {});

/// Writes the graph to `path` and the overlays beside it: for "m.json" "m.layout.json",
/// "m.predicted.json" and, with measured times, "m.measured.json". Returns the paths. All of them
/// are written before one appears.
std::vector<std::string> write_model_explorer(const std::string& path, const PlanReport& plan,
                                              const std::string& model,
                                              std::span<const double> step_us = {});

}  // namespace stowage::cli
