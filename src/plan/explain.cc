// SPDX-License-Identifier: Apache-2.0
// The plan as a person wants it: what was chosen, what lost, what moves and why.
#include <algorithm>

#include "base/text.h"
#include "plan/plan.h"
#include "plan/words.h"

namespace stowage {

namespace {

using plan::fixed;
using plan::printable;
using plan::size_of;
using plan::time_of;

std::string padded(std::string s, std::size_t width) {
  s.resize(std::max(s.size(), width), ' ');
  return s;
}

std::string shape_of(const std::vector<NodeReport::Operand>& list) {
  if (list.empty()) return "nothing";
  return text(list[0].shape.extents(), " ", data_format_name(list[0].data_format));
}

/// What is given and wanted, in which data format.
std::string ports(const Plan& plan) {
  std::string out = text("source format ", data_format_name(plan.source_format), "\n");
  const auto list = [&](std::string_view kind, const std::vector<PlanPort>& all,
                        std::string_view verb) {
    for (const PlanPort& given : all) {
      out += text(kind, " '", printable(given.port.name), "'  ", given.port.shape.extents(), " ",
                  data_format_name(given.port.data_format));
      if (given.layout != Layout::row_major(given.port.shape)) {
        out += text(", ", verb, " in ", given.layout.spelling());
      }
      out += "\n";
    }
  };
  list("input ", plan.inputs, "given");
  list("output", plan.outputs, "wanted");
  return out;
}

/// ", measured 3.20 us", where that was done.
std::string measured_text(std::span<const double> us, std::size_t i) {
  return i < us.size() && us[i] >= 0 ? text(", measured ", time_of(us[i])) : "";
}

std::string move_line(const Plan& plan, std::size_t i, const MeasuredTimes& measured) {
  const ConversionReport& c = plan.conversions[i];
  return text("'", printable(c.value), "'  ", c.from, " -> ", c.to, "  ",
              size_of(static_cast<double>(c.bytes)), "  ", time_of(c.cost_us),
              measured_text(measured.conversions, i));
}

void node(std::string& out, std::size_t at, const Plan& plan, const MeasuredTimes& measured) {
  const NodeReport& n = plan.nodes[at];
  out += text(at + 1, " ", n.op, " '", printable(n.name), "'  ", shape_of(n.inputs), " -> ",
              shape_of(n.outputs), "  ", category_name(n.category));
  if (plan.planner == "rule") {
    out += text(", ", rule_format(n, plan.source_format));
  }
  out += "\n";
  const std::string layouts = plan::layouts_of(n);
  std::size_t left = layouts.size(), middle = n.kernel.size();
  for (const NodeReport::Lost& lost : n.lost) {
    left = std::max(left, lost.layouts.size());
    middle = std::max(middle, lost.kernel.size());
  }
  const auto line = [&](std::string_view verb, const std::string& how, const std::string& kernel,
                        double cost, const std::string& behind) {
    out += text("    ", verb, "  ", padded(how, left), "  ", padded(kernel, middle), "  ",
                time_of(cost), behind, "\n");
  };
  line("chose", layouts, n.kernel, n.cost_us, measured_text(measured.nodes, at));
  for (const NodeReport::Lost& lost : n.lost) {
    line("lost ", lost.layouts, lost.kernel, lost.cost_us, "");
  }
  const auto moved = [&](std::string_view verb, const std::vector<NodeReport::Operand>& operands,
                         std::string ConversionReport::*side) {
    for (std::size_t i = 0; i < plan.conversions.size(); ++i) {
      const ConversionReport& c = plan.conversions[i];
      const bool ours = std::any_of(operands.begin(), operands.end(), [&](const auto& o) {
        return o.name == c.value && o.layout == c.*side;
      });
      if (ours && (c.node == kNoNode || c.node == n.node))
        out += text("    ", verb, "  ", move_line(plan, i, measured), "\n");
    }
  };
  moved("in   ", n.inputs, &ConversionReport::to);
  moved("out  ", n.outputs, &ConversionReport::from);
}

/// "12.5 % below the rule's 2.30 ms", or "as much as ...".
std::string against(double cost, double other, std::string_view whose) {
  const double percent = other > 0 ? 100 * (1 - cost / other) : 0;
  if (percent > -0.05 && percent < 0.05) return text("as much as ", whose, ", ", time_of(other));
  return text(fixed(std::abs(percent), 1), percent > 0 ? " % below " : " % above ", whose, ", ",
              time_of(other));
}

void summary(std::string& out, const Plan& plan) {
  std::size_t moved = 0, relabels = 0;
  double move_us = 0;
  for (const ConversionReport& c : plan.conversions) moved += c.bytes, move_us += c.cost_us;
  for (const NodeReport& n : plan.nodes) relabels += n.kernel == "relabel";
  const double share = plan.touched_bytes > 0 ? 100 * static_cast<double>(moved) /
                                                    static_cast<double>(plan.touched_bytes)
                                              : 0;
  out += text("conversions: ", plan.conversions.size(), ", ", size_of(static_cast<double>(moved)),
              " moved of ", size_of(static_cast<double>(plan.touched_bytes)), " touched (",
              fixed(share, 1), " %), ", time_of(move_us), "\n");
  out += text("operators: ", plan.nodes.size(), ", of which ", relabels, " move no byte\n");
  out += text("memory: weights ", size_of(static_cast<double>(plan.weight_bytes)), ", arena ",
              size_of(static_cast<double>(plan.arena_bytes)), "\n");
  out += text("predicted: ", time_of(plan.cost_us), " (", plan.planner, ", ", plan.threads,
              plan.threads == 1 ? " thread)" : " threads)");
  if (plan.lower_bound_us < plan.cost_us * (1 - 1e-9)) {
    out +=
        text(", at most ", fixed(100 * (plan.cost_us / std::max(plan.lower_bound_us, 1e-9) - 1), 1),
             " % over the optimum");
  }
  out += text("\n    ", against(plan.cost_us, plan.rule_cost_us, "MACE's rule"), "\n    ",
              against(plan.cost_us, plan.source_cost_us, "source order everywhere"), "\n");
}

}  // namespace

std::string explain(const Plan& plan, std::span<const double> step_us) {
  MeasuredTimes measured;
  if (!step_us.empty()) measured = measured_times(report(plan), step_us);
  std::string out = ports(plan);
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) node(out, i, plan, measured);
  if (!plan.conversions.empty()) out += "moves\n";
  for (std::size_t i = 0; i < plan.conversions.size(); ++i) {
    out += text("    ", move_line(plan, i, measured), "  (", printable(plan.conversions[i].reason),
                ")\n");
  }
  for (const std::string& kernel : plan.avoided) {
    out += text("avoided on ", printable(plan.device ? plan.device->name : ""), ": ", kernel,
                " (failed selftest, or left out by wish)\n");
  }
  summary(out, plan);
  if (!step_us.empty()) {
    out += text("measured: ", time_of(measured.us), ", ",
                against(measured.us, measured.predicted_us, "what was predicted for it"), "\n");
  }
  return out;
}

}  // namespace stowage
