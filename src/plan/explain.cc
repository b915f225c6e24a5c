// SPDX-License-Identifier: Apache-2.0
// The plan as a person wants it: what was chosen, what lost, what moves and why.
#include <algorithm>
#include <cstdio>

#include "base/text.h"
#include "plan/plan.h"

namespace stowage {

namespace {

std::string fixed(double v, int digits) {
  char buffer[64];
  std::snprintf(buffer, sizeof(buffer), "%.*f", digits, v);
  return buffer;
}

std::string time_of(double us) {
  return us < 1000 ? fixed(us, us < 10 ? 2 : 1) + " us" : fixed(us / 1000, 2) + " ms";
}

std::string size_of(double bytes) {
  if (bytes < 1024) return fixed(bytes, 0) + " B";
  if (bytes < 1024 * 1024) return fixed(bytes / 1024, 1) + " KiB";
  return fixed(bytes / (1024 * 1024), 1) + " MiB";
}

void operand(std::string& out, const std::vector<NodeReport::Operand>& list) {
  if (list.empty()) {
    out += "nothing";
    return;
  }
  append_text(out, list[0].shape);
}

void node(std::string& out, std::size_t number, const NodeReport& n) {
  append_text(out, number);
  out += text(" ", n.op, " '", n.name, "'  ");
  operand(out, n.inputs);
  out += " -> ";
  operand(out, n.outputs);
  out += text("  ", category_name(n.category), "\n");
  const auto layout = [](const std::vector<NodeReport::Operand>& list) {
    return list.empty() ? std::string("none") : list[0].layout;
  };
  out += text("    chose  ", layout(n.inputs), " -> ", layout(n.outputs), "  ", n.kernel, "  ",
              time_of(n.cost_us), "\n");
  for (const NodeReport::Lost& lost : n.lost) {
    out += text("    lost   ", lost.layouts, "  ", lost.kernel, "  ", time_of(lost.cost_us), "\n");
  }
}

}  // namespace

std::string explain(const Plan& plan) {
  std::string out;
  for (std::size_t i = 0; i < plan.nodes.size(); ++i) node(out, i + 1, plan.nodes[i]);
  std::size_t moved = 0;
  for (const ConversionReport& c : plan.conversions) moved += c.bytes;
  if (!plan.conversions.empty()) out += "moves\n";
  for (const ConversionReport& c : plan.conversions) {
    out += text("    '", c.value, "'  ", c.from, " -> ", c.to, "  ",
                size_of(static_cast<double>(c.bytes)), "  ", time_of(c.cost_us), "  (", c.reason,
                ")\n");
  }
  out += text("conversions: ", plan.conversions.size(), ", ", size_of(static_cast<double>(moved)),
              " moved of ", size_of(static_cast<double>(plan.touched_bytes)), " touched\n");
  out += text("memory: weights ", size_of(static_cast<double>(plan.weight_bytes)), ", arena ",
              size_of(static_cast<double>(plan.arena_bytes)), "\n");
  out += text("predicted: ", time_of(plan.cost_us), ", source order everywhere ",
              time_of(plan.source_cost_us));
  if (plan.lower_bound_us < plan.cost_us * (1 - 1e-9)) {
    out += text(", at most ", fixed(100 * (plan.cost_us / std::max(plan.lower_bound_us, 1e-9) - 1), 1),
                " % over the optimum");
  }
  out += "\n";
  return out;
}

}  // namespace stowage
