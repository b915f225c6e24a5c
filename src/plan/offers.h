// SPDX-License-Identifier: Apache-2.0
// Which layouts a value may have, and how each node may run in them.
#pragma once

#include <vector>

#include "graph/op_def.h"
#include "plan/cost.h"

namespace stowage::plan {

/// An offer whose layouts are indices into OfferTable::layouts.
struct Option {
  Offer offer;
  bool reference = false;   ///< the fallback: row-major, scalar
  std::vector<int> in, out;
  double bytes = 0;         ///< read and written, padding included
  double cost_us = 0;
};

struct OfferTable {
  std::vector<std::vector<Layout>> layouts;   ///< of each value; [0] is row-major
  std::vector<NodeId> order;                  ///< live nodes, topological
  std::vector<std::vector<Option>> options;   ///< of each node of `order`; [0] is row-major
};

/// Asks every node, in sweeps forth and back until no value gains a layout.
OfferTable collect_offers(Graph& graph, const Target& target, const Rates& rates);

}  // namespace stowage::plan
