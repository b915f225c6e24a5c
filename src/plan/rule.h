// SPDX-License-Identifier: Apache-2.0
// MACE's way to give a model its data formats: three lists of operators and one pass forward,
// without costs. Kept as a baseline and as an explanation.
#pragma once

#include <string_view>
#include <vector>

#include "plan/offers.h"

namespace stowage::plan {

/// The list on which MACE has the operator that ours becomes (OpDef::mace). What it does not know
/// is source, as there.
Category rule_category(const OpDef& op);

/// MACE's propagation, one entry a node of `order`: true is AUTO, the format of the runtime;
/// false the order of the source.
///
/// Fixed operators are AUTO. A transposable one is AUTO when every input that is not constant
/// comes from an AUTO node, or from a model input that has a data format. Nothing else is.
/// `none`: of each value, whether the caller says that it has no data format; may be empty.
std::vector<bool> rule_formats(const Graph& graph, const std::vector<NodeId>& order,
                               const std::vector<bool>& none = {});

/// An option for each node. AUTO (`is_auto`): the cheapest whose operands all lie in channel blocks
/// as wide as the target's vectors; without one, the cheapest whose results do; without one, a
/// fixed operator takes the cheapest there is. All others: that of `source`, see source_choice.
/// Values whose axes are not n, c, h and w stay row-major.
std::vector<int> rule_choice(const Graph& graph, const OfferTable& table, const Target& target,
                             const std::vector<bool>& is_auto, const std::vector<int>& source);

}  // namespace stowage::plan
