// SPDX-License-Identifier: Apache-2.0
// Plans in which values lie in the order of the file between operators: the source baseline, and
// the operators that MACE's rule leaves in it.
#pragma once

#include <vector>

#include "plan/offers.h"
#include "plan/solve.h"

namespace stowage::plan {

/// Of each value the layout that is the order of the file: row-major, or channels last where a
/// model in NHWC has a value over n c h w. An index into OfferTable::layouts.
std::vector<int> source_layouts(const Graph& graph, const OfferTable& table);

/// For each node the option that is cheapest when all that it reads and writes lies in source
/// order: conversions into and out of the layouts of its kernel included, constants aside.
std::vector<int> source_choice(const Graph& graph, const OfferTable& table, const Target& target,
                               const Rates& rates);

/// What `choice` costs when nodes marked `isolated` read and write source order, with conversions
/// that serve no other node; those are moves with Move::node set.
Solution evaluate_isolated(const Graph& graph, const OfferTable& table, const Problem& problem,
                           const Target& target, const Rates& rates, const std::vector<int>& choice,
                           const std::vector<bool>& isolated);

}  // namespace stowage::plan
