// SPDX-License-Identifier: Apache-2.0
// Data formats of the model's inputs and outputs, as the caller gives and wants them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "stowage/model.h"

namespace stowage::plan {

/// PlanOptions::layouts, and the layouts that PlanOptions::formats stands for. Throws Error(usage)
/// for a format of something that is no input or output, or that has no data format.
std::map<std::string, Layout> caller_layouts(const Graph& graph, const PlanOptions& options);

/// One entry a value: the caller says that it is no batch of images.
std::vector<bool> said_none(const Graph& graph, const PlanOptions& options);

}  // namespace stowage::plan
