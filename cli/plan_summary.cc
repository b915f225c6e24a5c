// SPDX-License-Identifier: Apache-2.0
#include "cli/plan_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "cli/cli.h"
#include "report/plan_tally.h"

namespace stowage::cli {
namespace {

/// Layouts and kernels that have a line or a place in one; the others are summed up.
constexpr std::size_t kMostLayouts = 4, kMostKernels = 4;

std::string time_text(double us) {
  return us >= 1000 ? fmt::format("{:.2f} ms", us / 1000) : fmt::format("{:.1f} us", us);
}

std::string size_text(std::size_t bytes) {
  const auto size = static_cast<double>(bytes);
  if (size < 1024) return fmt::format("{} B", bytes);
  if (size < 1024 * 1024) return fmt::format("{:.1f} KiB", size / 1024);
  return fmt::format("{:.1f} MiB", size / (1024 * 1024));
}

std::string counted(std::size_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

std::string layouts_line(const PlanReport& plan) {
  std::vector<LayoutTally> all = tally_layouts(plan);
  std::erase_if(all, [](const LayoutTally& t) { return t.tensors == 0; });
  std::string out;
  int others = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i >= kMostLayouts && all.size() > kMostLayouts + 1) {
      others += all[i].tensors;
      continue;
    }
    out += fmt::format("{}{} x {}", i == 0 ? "" : ", ", all[i].tensors, all[i].layout);
  }
  if (others > 0) {
    out += fmt::format(", {} in {} other layouts", others, all.size() - kMostLayouts);
  }
  return out.empty() ? "none" : out;
}

std::string conversions_line(const PlanReport& plan) {
  if (plan.conversions.empty()) return "none";
  std::size_t bytes = 0;
  double us = 0;
  for (const ConversionReport& c : plan.conversions) bytes += c.bytes, us += c.cost_us;
  return fmt::format("{}, {}, {} ({:.1f} % of the time)", plan.conversions.size(), size_text(bytes),
                     time_text(us), percent(us, plan.cost_us));
}

std::string kernels_lines(const PlanReport& plan) {
  const std::vector<KernelTally> all = tally_kernels(plan);
  const std::size_t shown = std::min(all.size(), kMostKernels);
  std::size_t width = 0;
  for (std::size_t i = 0; i < shown; ++i) width = std::max(width, all[i].kernel.size());
  std::string out;
  for (std::size_t i = 0; i < shown; ++i) {
    out +=
        fmt::format("{:<13}{:<{}}  {:>5.1f} %  {:>9}  {}\n", i == 0 ? "kernels" : "", all[i].kernel,
                    width, percent(all[i].cost_us, plan.cost_us), time_text(all[i].cost_us),
                    counted(static_cast<std::size_t>(all[i].operators), "operator"));
  }
  if (all.size() > shown) {
    double rest = 0;
    for (std::size_t i = shown; i < all.size(); ++i) rest += all[i].cost_us;
    out +=
        fmt::format("{:<13}{:<{}}  {:>5.1f} %  {:>9}\n", "", counted(all.size() - shown, "other"),
                    width, percent(rest, plan.cost_us), time_text(rest));
  }
  return out;
}

/// "MACE's rule 5.70 ms (6.5 % more)"
std::string against(std::string_view whose, double other, double cost) {
  const double more = percent(other - cost, cost);
  const std::string how = std::abs(more) < 0.05 ? "the same"
                                                : fmt::format("{:.1f} % {}", std::abs(more),
                                                              more > 0 ? "more" : "less");
  return fmt::format("{} {} ({})", whose, time_text(other), how);
}

/// "measured     6.71 ms, predicted for it 6.40 ms (4.6 % less)", or nothing.
std::string measured_line(const PlanReport& plan, std::span<const double> step_us) {
  if (step_us.empty()) return "";
  const MeasuredTimes measured = measured_times(plan, step_us);
  return fmt::format("measured     {}, {}\n", time_text(measured.us),
                     against("predicted for it", measured.predicted_us, measured.us));
}

}  // namespace

std::string plan_summary(const PlanReport& plan, const std::string& model,
                         std::span<const double> step_us) {
  const auto relabels =
      std::count_if(plan.nodes.begin(), plan.nodes.end(),
                    [](const NodeReport& node) { return node.kernel == "relabel"; });
  return fmt::format(
      "model        {}: {}, {} without moving a byte; source format {}\n"
      "layouts      {}\n"
      "conversions  {}\n"
      "{}"
      "memory       weights {}, arena {}\n"
      "predicted    {} ({}, {})\n"
      "{}"
      "against      {}, {}\n",
      one_line(model), counted(plan.nodes.size(), "operator"), relabels,
      data_format_name(plan.source_format), layouts_line(plan), conversions_line(plan),
      kernels_lines(plan), size_text(plan.weight_bytes), size_text(plan.arena_bytes),
      time_text(plan.cost_us), plan.planner,
      counted(static_cast<std::size_t>(plan.threads), "thread"), measured_line(plan, step_us),
      against("MACE's rule", plan.rule_cost_us, plan.cost_us),
      against("source order", plan.source_cost_us, plan.cost_us));
}

}  // namespace stowage::cli
