// SPDX-License-Identifier: Apache-2.0
// What an operator was asked to do, in words.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "stowage/plan.h"

namespace stowage::plan {

/// NodeReport::details of a node whose shapes are inferred: facts win over attributes of the same
/// name.
std::vector<NodeReport::Detail> details_of(const Graph& graph, const Node& node);

}  // namespace stowage::plan
