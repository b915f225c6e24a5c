// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "plan/offers.h"
#include "stowage/plan.h"

namespace stowage {

double flops(const std::shared_ptr<Graph>& graph) {
  Target target = host_target(1);
  target.exact = true;  // the sums that the model asks for, not what a transform leaves of them
  const plan::OfferTable table = plan::collect_offers(*graph, target, {});
  double sum = 0;
  for (const auto& options : table.options) {
    std::optional<double> least;
    for (const plan::Option& option : options) {
      if (!option.reference)
        least = std::min(least.value_or(option.offer.flops), option.offer.flops);
    }
    sum += least.value_or(0);
  }
  return sum;
}

}  // namespace stowage
