// SPDX-License-Identifier: Apache-2.0
// Which layouts a value may have, and how each node may run in them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/op_def.h"
#include "plan/cost.h"
#include "stowage/convert.h"

namespace stowage::plan {

/// An offer whose formats are indices into OfferTable::candidates of each value.
struct Option {
  Offer offer;
  bool reference = false;  ///< the fallback: row-major, scalar
  std::vector<int> in, out;
  double bytes = 0;         ///< read and written, padding included
  double weight_bytes = 0;  ///< of the operands that are constants
  double cost_us = 0;
};

/// Every output that there is lies in input 0: the kernel need not be called.
bool lies_in_input(const Node& node, const Offer& offer);

struct OfferTable {
  FormatTable formats;
  std::vector<std::vector<int>> candidates;  ///< of each value, in `formats`; [0] is row-major
  std::vector<int> caller_layout;            ///< of each value: in which the caller has or wants it
  std::vector<bool> has_readers;             ///< of each value: nodes, that is
  std::vector<NodeId> order;                 ///< live nodes, topological
  std::vector<std::vector<Option>> options;  ///< of each node of `order`; [0] is row-major
  std::vector<std::string> avoided;          ///< kernels offered, but in DeviceTarget::avoid

  const Format& format(ValueId value, int candidate) const {
    const auto v = static_cast<std::size_t>(value), c = static_cast<std::size_t>(candidate);
    return formats[candidates[v][c]];
  }
};

/// From one candidate of a value to another.
Conversion conversion(const OfferTable& table, const Graph& graph, ValueId value, int from, int to);

/// The same bytes in the same place: of images, the same texels.
bool same_bytes(const Format& a, const Format& b, const Shape& shape);

/// The candidate of `value` with the bytes of `format`, or -1.
int find_candidate(const OfferTable& table, const Graph& graph, ValueId value,
                   const Format& format);

/// Asks every node, in sweeps forth and back until no value gains a layout. `caller`: see
/// PlanOptions::layouts. Throws Error(usage) for a name that is no input or output, or a layout
/// that does not fit.
OfferTable collect_offers(Graph& graph, const Target& target, const Rates& rates,
                          const std::map<std::string, Layout>& caller = {});

}  // namespace stowage::plan
