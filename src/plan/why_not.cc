// SPDX-License-Identifier: Apache-2.0
// What it would cost to run a node in another layout: the plan solved again with that choice alone.
#include <algorithm>
#include <charconv>
#include <optional>

#include "base/index.h"
#include "base/text.h"
#include "base/trail.h"
#include "plan/build.h"
#include "plan/report.h"
#include "plan/words.h"
#include "stowage/plan.h"

namespace stowage {

namespace {

using plan::Decision;
using plan::layouts_of;
using plan::OfferTable;
using plan::Option;
using plan::printable;
using plan::Problem;
using plan::size_of;
using plan::Solution;
using plan::time_of;

/// Position in the order of the plan.
std::size_t find_node(const Graph& graph, const std::vector<NodeId>& order, std::string_view name) {
  if (name.starts_with('#')) {
    std::size_t number = 0;
    const auto [end, problem] = std::from_chars(name.data() + 1, name.data() + name.size(), number);
    if (problem == std::errc() && end == name.data() + name.size() && number >= 1 &&
        number <= order.size()) {
      return number - 1;
    }
  }
  std::string like;
  int count = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::string& have = graph.node(order[i]).name;
    if (have == name) return i;
    if (have.find(name) != std::string::npos && ++count <= 5) {
      like += text(like.empty() ? "" : ", ", "'", have, "'");
    }
  }
  if (!like.empty()) fail(ErrorCode::usage, "the plan has no node '", name, "'; it has ", like);
  fail(ErrorCode::usage, "the plan has no node '", name, "'; nodes may also be named #1 to #",
       order.size());
}

/// The layout over the axes of the value: as written, else with n c h w for its four axes.
std::optional<Layout> over_axes(const Layout& layout, const Shape& shape) {
  const std::vector<Axis> used = layout.axes();
  const auto all_in = [&](auto&& has) { return std::all_of(used.begin(), used.end(), has); };
  if (all_in([&](Axis a) { return shape.index_of(a) >= 0; })) return layout;
  const Axis pictures[] = {Axis("n"), Axis("c"), Axis("h"), Axis("w")};
  const auto is_picture_axis = [&](Axis a) {
    return std::find(std::begin(pictures), std::end(pictures), a) != std::end(pictures);
  };
  if (shape.rank() != 4 || !all_in(is_picture_axis)) return std::nullopt;
  return layout.renamed(pictures, shape.axes());
}

/// Index of the layout among those of the value: -1 none has its bytes, -2 it cannot be bound.
int index_of(const OfferTable& table, const Graph& graph, ValueId v, const Layout& layout) {
  const Value& value = graph.value(v);
  const auto own = over_axes(layout, value.shape);
  if (!own) return -2;
  try {
    return find_candidate(table, graph, v, {*own, value.dtype});
  } catch (const Error&) {
    return -2;
  }
}

/// The first operand that is there and is no constant, and its place.
std::optional<std::size_t> first_operand(const Graph& graph, const std::vector<ValueId>& values) {
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (values[k] != kNoValue && graph.value(values[k]).constant == nullptr) return k;
  }
  return std::nullopt;
}

/// Reports of a solution, in a plan that has nothing else.
Plan reported(const Graph& graph, const Decision& d, const Solution& solution) {
  Plan plan;
  plan::report(plan, graph, d, solution);
  return plan;
}

/// What `a` has and `b` has not.
std::vector<ConversionReport> difference(const std::vector<ConversionReport>& a,
                                         const std::vector<ConversionReport>& b) {
  std::vector<ConversionReport> out;
  std::copy_if(a.begin(), a.end(), std::back_inserter(out), [&](const ConversionReport& x) {
    return std::none_of(b.begin(), b.end(), [&](const ConversionReport& y) {
      return x.value == y.value && x.from == y.from && x.to == y.to;
    });
  });
  return out;
}

}  // namespace

WhyNot why_not(std::shared_ptr<Graph> graph, const PlanOptions& options, std::string_view node,
               std::string_view layout) {
  const Layout wanted = Layout::parse(layout);
  const Decision d = plan::decide(*graph, options);
  const std::size_t at = find_node(*graph, d.table.order, node);
  const Node& n = graph->node(d.table.order[at]);
  const auto in = first_operand(*graph, n.inputs), out = first_operand(*graph, n.outputs);
  const int in_layout = in ? index_of(d.table, *graph, n.inputs[*in], wanted) : -2;
  const int out_layout = out ? index_of(d.table, *graph, n.outputs[*out], wanted) : -2;
  if (in_layout == -2 && out_layout == -2) {
    const ValueId v = in ? n.inputs[*in] : n.outputs.at(0);
    fail(ErrorCode::usage, "'", n.name, "' works on ", graph->value(v).shape.text(), ", and '",
         wanted.text(), "' is over other axes");
  }
  const auto has = [&](const Option& o) {
    return (in_layout >= 0 && o.in[*in] == in_layout) ||
           (out_layout >= 0 && o.out[*out] == out_layout);
  };

  WhyNot answer;
  answer.node = n.name;
  answer.op = std::string(n.op->name);
  answer.layout = wanted.spelling();
  answer.cost_us = d.chosen.cost;
  const Plan plan = reported(*graph, d, d.chosen);
  answer.chosen = plan.nodes[at];
  const auto& options_of_node = d.table.options[at];
  answer.is_chosen = has(options_of_node[idx(d.chosen.choice[at])]);
  answer.offered = std::any_of(options_of_node.begin(), options_of_node.end(), has);
  if (!answer.offered || answer.is_chosen) return answer;

  Problem problem = d.problem;
  std::vector<int> original;  // of the choices that are left
  auto& choices = problem.nodes[at].choices;
  choices.clear();
  for (std::size_t k = 0; k < options_of_node.size(); ++k) {
    if (!has(options_of_node[k])) continue;
    original.push_back(static_cast<int>(k));
    choices.push_back(d.problem.nodes[at].choices[k]);
  }
  Solution forced = plan::solve(problem);
  forced.choice[at] = original[idx(forced.choice[at])];
  const Plan other = reported(*graph, d, forced);
  answer.forced = other.nodes[at];
  answer.forced_us = forced.cost;
  answer.added = difference(other.conversions, plan.conversions);
  answer.saved = difference(plan.conversions, other.conversions);
  for (std::size_t i = 0; i < forced.choice.size(); ++i) {
    if (i != at && forced.choice[i] != d.chosen.choice[i]) {
      answer.followers.push_back(plan.nodes[i].name);
    }
  }
  return answer;
}

namespace {

std::string moves(const std::vector<ConversionReport>& list, std::string_view verb) {
  std::string out;
  for (const ConversionReport& c : list) {
    out += text("    ", verb, "  '", printable(c.value), "'  ", c.from, " -> ", c.to, "  ",
                size_of(static_cast<double>(c.bytes)), "  ", time_of(c.cost_us), "\n");
  }
  return out;
}

}  // namespace

std::string explain(const WhyNot& a) {
  const std::string who = text(a.op, " '", printable(a.node), "'");
  const std::string now =
      text(layouts_of(a.chosen), "  ", a.chosen.kernel, "  ", time_of(a.chosen.cost_us));
  if (!a.offered) {
    std::string out = text(who, ": no kernel offers ", a.layout, " on its first input or output\n",
                           "    chose  ", now, "\n");
    for (const NodeReport::Lost& lost : a.chosen.lost) {
      out +=
          text("    offers ", lost.layouts, "  ", lost.kernel, "  ", time_of(lost.cost_us), "\n");
    }
    return out;
  }
  if (a.is_chosen)
    return text(who, ": the plan does run it in ", a.layout, "\n    chose  ", now, "\n");
  std::string out =
      text(who, " in ", a.layout, " would make the plan ",
           time_of(std::max(a.forced_us - a.cost_us, 0.0)), " slower: ", time_of(a.forced_us),
           " instead of ", time_of(a.cost_us), "\n");
  out += text("    chose  ", now, "\n    forced ", layouts_of(a.forced), "  ", a.forced.kernel,
              "  ", time_of(a.forced.cost_us), "\n");
  out += moves(a.added, "adds  ");
  out += moves(a.saved, "saves ");
  if (a.added.empty() && a.saved.empty()) out += "    no conversion more or less\n";
  if (!a.followers.empty()) {
    out +=
        text("    ", a.followers.size(),
             a.followers.size() == 1 ? " other operator" : " other operators", " would follow: ");
    for (std::size_t i = 0; i < std::min<std::size_t>(a.followers.size(), 5); ++i) {
      out += text(i == 0 ? "" : ", ", "'", printable(a.followers[i]), "'");
    }
    out += a.followers.size() > 5 ? ", ...\n" : "\n";
  }
  return out;
}

}  // namespace stowage
