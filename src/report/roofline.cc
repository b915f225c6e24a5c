// SPDX-License-Identifier: Apache-2.0
#include "report/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "report/kernel_meaning.h"

namespace stowage {

namespace {

using NodesByNumber = std::unordered_map<int, const NodeReport*>;

NodesByNumber nodes_of(const PlanReport& plan) {
  NodesByNumber out;
  for (const NodeReport& node : plan.nodes) out[node.node] = &node;
  return out;
}

const NodeReport* node_of(const NodesByNumber& nodes, const PlanReport::Step& step) {
  const auto at = step.node < 0 ? nodes.end() : nodes.find(step.node);
  return at == nodes.end() ? nullptr : at->second;
}

double us_of(double bytes, const Peaks::Level& level) { return bytes / (level.gb_per_s * 1e3); }

StepLimit limit_of(const NodeReport& node, const Peaks& peaks, const Peaks::Level& weights_lie) {
  StepLimit limit;
  limit.flops = node.flops;
  limit.bytes = node.bytes;
  limit.predicted_us = node.cost_us;
  const double tensors = node.bytes - node.weight_bytes;
  const Peaks::Level& tensors_lie = peaks.level(tensors);
  const double of_tensors = us_of(tensors, tensors_lie);
  const double of_weights = us_of(node.weight_bytes, weights_lie);
  const double arithmetic = node.flops / (peaks.gflops * 1e3);
  limit.us = std::max(of_tensors + of_weights, arithmetic);
  limit.bound = arithmetic >= of_tensors + of_weights ? "arithmetic"
                : of_weights > of_tensors             ? weights_lie.name
                                                      : tensors_lie.name;
  return limit;
}

StepLimit limit_of(const ConversionReport& conversion, const Peaks& peaks) {
  StepLimit limit;
  limit.bytes = static_cast<double>(conversion.bytes);
  limit.predicted_us = conversion.cost_us;
  const Peaks::Level& lies = peaks.level(limit.bytes);
  limit.us = us_of(limit.bytes, lies);
  limit.bound = lies.name;
  return limit;
}

double results_of(const NodeReport& node) {
  double sum = 0;
  for (const NodeReport::Operand& o : node.outputs) sum += static_cast<double>(o.shape.elements());
  return sum;
}

/// The part of the lanes of vectors over channels that hold a channel of the result.
double filled_lanes(const NodeReport& node, int lanes) {
  if (node.outputs.empty() || lanes <= 0) return 1;
  const Shape& shape = node.outputs[0].shape;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape.axes()[static_cast<std::size_t>(i)].name() != "c") continue;
    const std::int64_t channels = shape[i], vectors = (channels + lanes - 1) / lanes;
    return static_cast<double>(channels) /
           static_cast<double>(std::max<std::int64_t>(vectors, 1) * lanes);
  }
  return 1;
}

/// What about the node keeps its kernel from the limit; empty where nothing is known to.
std::string cause(const NodeReport& node, const StepLimit& limit, int lanes) {
  constexpr double kFilled = 0.8, kFewProducts = 48, kLittle = 2;
  if (limit.us < kLittle) return "so little work that beginning and ending it counts";
  if (node.pieces > 0) {
    return fmt::format("moved in {:.0f} pieces of {:.0f} bytes", node.pieces,
                       node.bytes / 2 / node.pieces);
  }
  const std::string_view always = kernel_limit(node.kernel);
  if (!always.empty()) return std::string(always);
  if (!is_product(node.kernel)) return "";
  const double filled = filled_lanes(node, lanes);
  if (filled < kFilled) {
    return fmt::format("its channels fill {:.0f} % of the vectors of {}", 100 * filled, lanes);
  }
  const double products = node.flops / 2 / std::max(results_of(node), 1.0);
  if (products < kFewProducts) {
    return fmt::format("only {:.0f} products for each result, which is stored after them",
                       products);
  }
  return "";
}

std::string why(const NodeReport& node, const StepLimit& limit, double us, int lanes) {
  constexpr double kAsPredicted = 1.25;
  std::string out = cause(node, limit, lanes);
  if (us > kAsPredicted * limit.predicted_us) {
    out += fmt::format("{}{:.1f} times what the planner expects", out.empty() ? "" : "; ",
                       us / std::max(limit.predicted_us, 1e-3));
  } else if (out.empty()) {
    out = fmt::format("as the planner expects of {} for this shape", node.kernel);
  }
  return out;
}

std::string why(const ConversionReport& conversion) {
  return fmt::format("moves {} to {} and computes nothing", conversion.from, conversion.to);
}

}  // namespace

std::vector<StepLimit> step_limits(const PlanReport& plan, const Peaks& peaks) {
  const NodesByNumber nodes = nodes_of(plan);
  const Peaks::Level& weights_lie =
      peaks.level(static_cast<double>(plan.weight_bytes + plan.arena_bytes));
  std::vector<StepLimit> out;
  for (const PlanReport::Step& step : plan.steps) {
    if (const NodeReport* node = node_of(nodes, step); node != nullptr) {
      out.push_back(limit_of(*node, peaks, weights_lie));
    } else if (step.conversion >= 0) {
      out.push_back(limit_of(plan.conversions[static_cast<std::size_t>(step.conversion)], peaks));
    } else {
      out.emplace_back();
    }
  }
  return out;
}

std::vector<FarStep> furthest_steps(const PlanReport& plan, const Peaks& peaks,
                                    std::span<const double> step_us, std::size_t count) {
  const std::vector<StepLimit> limits = step_limits(plan, peaks);
  std::vector<FarStep> out;
  for (std::size_t i = 0; i < std::min(step_us.size(), limits.size()); ++i) {
    if (step_us[i] > limits[i].us) out.push_back({i, step_us[i], limits[i], ""});
  }
  std::ranges::stable_sort(out, std::greater(),
                           [](const FarStep& far) { return far.us - far.limit.us; });
  if (out.size() > count) out.resize(count);
  const NodesByNumber nodes = nodes_of(plan);
  for (FarStep& far : out) {
    const PlanReport::Step& step = plan.steps[far.step];
    if (const NodeReport* node = node_of(nodes, step); node != nullptr) {
      far.why = why(*node, far.limit, far.us, plan.lanes);
    } else if (step.conversion >= 0) {
      far.why = why(plan.conversions[static_cast<std::size_t>(step.conversion)]);
    } else {
      far.why = "a copy on the way of a longer conversion";
    }
  }
  return out;
}

}  // namespace stowage
