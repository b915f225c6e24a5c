// SPDX-License-Identifier: Apache-2.0
#include "plan/source_order.h"

#include <algorithm>

#include "base/index.h"

namespace stowage::plan {

namespace {

/// The conversions that a node needs around one of its options.
class Isolated {
 public:
  Isolated(const Graph& graph, const OfferTable& table, const Target& target, const Rates& rates)
      : graph_(graph),
        table_(table),
        target_(target),
        rates_(rates),
        source_(source_layouts(graph, table)) {}

  /// Each layout of a value once, inputs before outputs.
  std::vector<Move> moves(std::size_t i, const Option& option) const {
    const Node& n = graph_.node(table_.order[i]);
    std::vector<Move> out;
    const auto add = [&](ValueId v, int from, int to) {
      const bool known = std::any_of(out.begin(), out.end(), [&](const Move& m) {
        return m.value == v && m.from == from && m.to == to;
      });
      if (from != to && !known) {
        out.push_back({v, from, to, move_cost(v, from, to), static_cast<int>(i)});
      }
    };
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      if (!is_free(n.inputs[k])) add(n.inputs[k], source_[idx(n.inputs[k])], option.in[k]);
    }
    for (std::size_t k = 0; k < n.outputs.size(); ++k) {
      if (!is_free(n.outputs[k])) add(n.outputs[k], option.out[k], source_[idx(n.outputs[k])]);
    }
    return out;
  }

  /// What the option costs with its conversions, seen from outside.
  Problem::Choice seen(std::size_t i, const Option& option) const {
    const Node& n = graph_.node(table_.order[i]);
    Problem::Choice choice{option.cost_us, option.in, option.out};
    for (const Move& m : moves(i, option)) choice.cost += m.cost;
    for (std::size_t k = 0; k < n.inputs.size(); ++k) {
      choice.in[k] = is_free(n.inputs[k]) ? -1 : source_[idx(n.inputs[k])];
    }
    for (std::size_t k = 0; k < n.outputs.size(); ++k) {
      if (!is_free(n.outputs[k])) choice.out[k] = source_[idx(n.outputs[k])];
    }
    return choice;
  }

 private:
  /// Constants are converted before the first run.
  bool is_free(ValueId v) const { return v == kNoValue || graph_.value(v).constant != nullptr; }

  double move_cost(ValueId v, int from, int to) const {
    return conversion_us(rates_, target_, graph_.value(v).shape, table_.format(v, from),
                         table_.format(v, to));
  }

  const Graph& graph_;
  const OfferTable& table_;
  const Target& target_;
  const Rates& rates_;
  const std::vector<int> source_;
};

}  // namespace

std::vector<int> source_layouts(const Graph& graph, const OfferTable& table) {
  std::vector<int> out(table.candidates.size(), 0);
  if (graph.source_format != DataFormat::nhwc) return out;
  const Layout nhwc = Layout::parse("n h w c");
  for (ValueId v(0); v < graph.value_count(); ++v) {
    const Value& value = graph.value(v);
    const auto has = [&](const char* axis) { return value.shape.index_of(Axis(axis)) >= 0; };
    if (value.shape.rank() != 4 || !has("n") || !has("h") || !has("w") || !has("c")) continue;
    out[idx(v)] = std::max(find_candidate(table, graph, v, {nhwc, value.dtype}), 0);
  }
  return out;
}

std::vector<int> source_choice(const Graph& graph, const OfferTable& table, const Target& target,
                               const Rates& rates) {
  const Isolated isolated(graph, table, target, rates);
  std::vector<int> choice;
  for (std::size_t i = 0; i < table.order.size(); ++i) {
    std::vector<double> costs;
    for (const Option& option : table.options[i]) costs.push_back(isolated.seen(i, option).cost);
    choice.push_back(
        static_cast<int>(std::min_element(costs.begin(), costs.end()) - costs.begin()));
  }
  return choice;
}

Solution evaluate_isolated(const Graph& graph, const OfferTable& table, const Problem& problem,
                           const Target& target, const Rates& rates, const std::vector<int>& choice,
                           const std::vector<bool>& isolated) {
  const Isolated nodes(graph, table, target, rates);
  Problem seen = problem;
  for (std::size_t i = 0; i < choice.size(); ++i) {
    if (isolated[i]) {
      const auto at = idx(choice[i]);
      seen.nodes[i].choices[at] = nodes.seen(i, table.options[i][at]);
    }
  }
  Solution out = evaluate(seen, choice);
  for (std::size_t i = 0; i < choice.size(); ++i) {
    if (!isolated[i]) continue;
    const std::vector<Move> own = nodes.moves(i, table.options[i][idx(choice[i])]);
    out.moves.insert(out.moves.end(), own.begin(), own.end());
  }
  return out;
}

}  // namespace stowage::plan
