// SPDX-License-Identifier: Apache-2.0
// What it would cost to run one operator in another layout than the plan does.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"

namespace stowage::plan {

struct WhyNot {
  std::string node, op, layout;
  NodeReport chosen;   ///< as the plan runs it
  double cost_us = 0;  ///< of the whole plan

  /// Some kernel has this layout on the node's first input or output.
  bool offered = false;
  bool is_chosen = false;  ///< and the plan has it already
  // The best plan in which it does, when it is offered and not chosen:
  NodeReport forced;
  double forced_us = 0;                        ///< of the whole plan
  std::vector<ConversionReport> added, saved;  ///< conversions, against the plan
  std::vector<std::string> followers;          ///< other nodes that would run otherwise
};

/// `node` is a name, or #N: the N-th of the plan. `layout` is in any known spelling; n, c, h and w
/// stand for the axes of a value of rank 4 that has no such names. The graph is not changed.
/// Throws Error(usage) for an unknown node or a layout that does not fit.
WhyNot why_not(std::shared_ptr<Graph> graph, const PlanOptions& options, std::string_view node,
               std::string_view layout);

/// In words and numbers.
std::string explain(const WhyNot& answer);

}  // namespace stowage::plan
