// SPDX-License-Identifier: Apache-2.0
// Which layouts a value may have, and how each node may run in them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/op_def.h"
#include "plan/cost.h"

namespace stowage::plan {

/// An offer whose layouts are indices into OfferTable::layouts.
struct Option {
  Offer offer;
  bool reference = false;  ///< the fallback: row-major, scalar
  std::vector<int> in, out;
  double bytes = 0;  ///< read and written, padding included
  double cost_us = 0;
};

/// Every output that there is lies in input 0: the kernel need not be called.
bool lies_in_input(const Node& node, const Offer& offer);

struct OfferTable {
  std::vector<std::vector<Layout>> layouts;  ///< of each value; [0] is row-major
  std::vector<int> caller_layout;            ///< of each value: in which the caller has or wants it
  std::vector<NodeId> order;                 ///< live nodes, topological
  std::vector<std::vector<Option>> options;  ///< of each node of `order`; [0] is row-major
};

/// Asks every node, in sweeps forth and back until no value gains a layout. `caller`: see
/// PlanOptions::layouts. Throws Error(usage) for a name that is no input or output, or a layout
/// that does not fit.
OfferTable collect_offers(Graph& graph, const Target& target, const Rates& rates,
                          const std::map<std::string, Layout>& caller = {});

}  // namespace stowage::plan
