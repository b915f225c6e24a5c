// SPDX-License-Identifier: Apache-2.0
// Pruning, integer costs, and the tables that bucket elimination works on.
#include "plan/solve_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "base/text.h"

namespace stowage::plan {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

std::vector<Chains<double>> chains_of(const Problem& problem) {
  std::vector<Chains<double>> out;
  for (const Problem::Value& v : problem.values) out.emplace_back(v.layouts, v.convert, kInf);
  return out;
}

/// Cost above the cheapest choices when every node takes its first choice and every reader has a
/// conversion of its own; infinite when that is impossible.
double first_choice_ceiling(const Problem& problem, const std::vector<Chains<double>>& chains) {
  double sum = 0;
  std::vector<int> produced;
  for (const Problem::Value& value : problem.values) produced.push_back(value.given);
  for (const Problem::Node& node : problem.nodes) {
    double cheapest = kInf;
    for (const Problem::Choice& c : node.choices) cheapest = std::min(cheapest, c.cost);
    if (cheapest == kInf) return kInf;
    sum += node.choices[0].cost - cheapest;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      produced[node.outputs[i]] = std::max(0, node.choices[0].out[i]);
    }
  }
  std::vector<std::set<int>> needed(problem.values.size());
  for (const Problem::Node& node : problem.nodes) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.choices[0].in[i] >= 0) needed[node.inputs[i]].insert(node.choices[0].in[i]);
    }
  }
  for (std::size_t v = 0; v < problem.values.size(); ++v) {
    const Problem::Value& value = problem.values[v];
    needed[v].insert(value.wanted.begin(), value.wanted.end());
    for (int to : needed[v]) sum += chains[v].distance(produced[v], to);
  }
  return sum;
}

double finite_sum(const Problem& problem) {
  double sum = 0;
  for (const Problem::Node& node : problem.nodes) {
    for (const Problem::Choice& c : node.choices) {
      if (c.cost < kInf) sum += std::fabs(c.cost) * 2;
    }
  }
  for (const Problem::Value& value : problem.values) {
    for (double c : value.convert) sum += c < kInf ? c : 0;
  }
  return sum;
}

void check_value(const Problem& problem, int v) {
  const Problem::Value& value = problem.values[v];
  const auto k = static_cast<std::size_t>(std::max(0, value.layouts));
  if (value.layouts > kMostLayouts) {
    fail(ErrorCode::limit, "value ", v, " has ", value.layouts, " layouts, more than ",
         kMostLayouts);
  }
  if (k == 0 || value.convert.size() != k * k) {
    fail(ErrorCode::internal, "value ", v, " has ", value.convert.size(), " conversions among ",
         value.layouts, " layouts");
  }
  for (std::size_t i = 0; i < k * k; ++i) {
    const double c = value.convert[i];
    if (!(c >= 0) || (i % (k + 1) == 0 && c != 0)) {
      fail(ErrorCode::internal, "value ", v, " has a conversion of ", c, " us");
    }
  }
  if (value.given < -1 || value.given >= value.layouts) {
    fail(ErrorCode::internal, "value ", v, " is given in layout ", value.given);
  }
  for (int l : value.wanted) {
    if (l < 0 || l >= value.layouts) {
      fail(ErrorCode::internal, "value ", v, " is wanted in layout ", l);
    }
  }
}

void check_choice(const Problem& problem, const Problem::Node& node, int n,
                  const Problem::Choice& choice) {
  const auto check_side = [&](const std::vector<int>& values, const std::vector<int>& layouts) {
    bool good = layouts.size() == values.size();
    for (std::size_t i = 0; good && i < values.size(); ++i) {
      good = layouts[i] >= -1 && layouts[i] < problem.values[values[i]].layouts;
    }
    if (!good) fail(ErrorCode::internal, "node ", n, " has a choice with unknown layouts");
  };
  check_side(node.inputs, choice.in);
  check_side(node.outputs, choice.out);
  if (std::isnan(choice.cost) || choice.cost == -kInf) {
    fail(ErrorCode::internal, "node ", n, " has a choice of ", choice.cost, " us");
  }
}

/// What choice `a` costs where it stands for choice `b`, with conversions around it.
double instead_of(const Problem::Choice& b, const Problem::Choice& a, const Problem::Node& node,
                  const std::vector<Chains<double>>& chains) {
  double sum = a.cost;
  for (std::size_t i = 0; i < node.inputs.size() && sum < b.cost; ++i) {
    if (a.in[i] < 0) continue;
    sum += b.in[i] < 0 ? kInf : chains[node.inputs[i]].distance(b.in[i], a.in[i]);
  }
  for (std::size_t i = 0; i < node.outputs.size() && sum < b.cost; ++i) {
    if (a.out[i] < 0) continue;
    sum += b.out[i] < 0 ? kInf : chains[node.outputs[i]].distance(a.out[i], b.out[i]);
  }
  return sum;
}

bool covers(unsigned set, unsigned need) { return (need & ~set) == 0; }

Key cover(const Model::Value& value, int produced, unsigned set) {
  return value.cover->cost(value.produced[produced], set);
}

/// Without the sets of which a larger one costs the same, whatever is produced.
std::vector<unsigned> useful(const Model::Value& value, const std::vector<int>& produced,
                             const std::set<unsigned>& sets) {
  std::vector<unsigned> out;
  for (unsigned s : sets) {
    const bool useless = std::any_of(sets.begin(), sets.end(), [&](unsigned larger) {
      return larger != s && covers(larger, s) &&
             std::all_of(produced.begin(), produced.end(),
                         [&](int p) { return !(cover(value, p, s) < cover(value, p, larger)); });
    });
    if (!useless) out.push_back(s);
  }
  return out;
}

}  // namespace

void check(const Problem& problem) {
  const int values = static_cast<int>(problem.values.size());
  for (int v = 0; v < values; ++v) check_value(problem, v);
  std::vector<char> made(problem.values.size(), 0);
  for (int v = 0; v < values; ++v) made[v] = problem.values[v].given >= 0;
  for (int n = 0; n < static_cast<int>(problem.nodes.size()); ++n) {
    const Problem::Node& node = problem.nodes[n];
    if (node.choices.empty()) fail(ErrorCode::internal, "node ", n, " has no choice");
    for (const auto* list : {&node.inputs, &node.outputs}) {
      for (int v : *list) {
        if (v < 0 || v >= values) fail(ErrorCode::internal, "node ", n, " uses value ", v);
      }
    }
    for (int v : node.outputs) {
      if (made[v]++) fail(ErrorCode::internal, "value ", v, " is made twice");
    }
    for (const Problem::Choice& c : node.choices) check_choice(problem, node, n, c);
  }
  for (int v = 0; v < values; ++v) {
    if (!made[v]) fail(ErrorCode::internal, "value ", v, " is neither given nor produced");
  }
}

Model::Model(const Problem& problem) : nodes(problem.nodes.size()), values(problem.values.size()) {
  for (const Problem::Value& v : problem.values) terms_ += v.layouts;
  terms_ += problem.nodes.size();
  const std::vector<Chains<double>> chains = chains_of(problem);
  ceiling_ = first_choice_ceiling(problem, chains);
  if (!(ceiling_ < kInf)) ceiling_ = finite_sum(problem);
  // All terms together stay below 2^59. A power of two keeps sums of short fractions exact.
  if (ceiling_ > 0) {
    scale_ = std::ldexp(1.0, 58 - static_cast<int>(std::bit_width(terms_)) -
                                 std::max(-900, std::ilogb(ceiling_) + 1));
  }
  for (int n = 0; n < static_cast<int>(nodes.size()); ++n) add_node(problem, chains, n);
  for (int v = 0; v < static_cast<int>(values.size()); ++v) add_value(problem, v);
}

Key Model::quantise(double microseconds) const {
  // What costs more than all first choices together is in no good solution.
  if (!(microseconds <= ceiling_ * (1 + 1e-9))) return kInfinite;
  return {std::llround(microseconds * scale_), 0};
}

double Model::microseconds_below(Key key) const {
  const double rounding = 0.5 * static_cast<double>(terms_);
  return base_ + std::max(0.0, static_cast<double>(key.cost) - rounding) / scale_;
}

/// Keeps the cheapest of the choices with the same layouts, and none that another with conversions
/// around it beats. Layouts stay as they are until add_value numbers them.
void Model::add_node(const Problem& problem, const std::vector<Chains<double>>& chains, int n) {
  const Problem::Node& from = problem.nodes[n];
  Node& node = nodes[n];
  for (int v : from.inputs) {
    if (std::find(node.reads.begin(), node.reads.end(), v) == node.reads.end()) {
      node.reads.push_back(v);
      values[v].readers.push_back(n);
    }
  }
  node.writes = from.outputs;
  for (int v : node.writes) values[v].producer = n;
  double cheapest = kInf;
  for (const Problem::Choice& c : from.choices) cheapest = std::min(cheapest, c.cost);
  if (cheapest == kInf) fail(ErrorCode::internal, "node ", n, " has no choice of finite cost");
  base_ += cheapest;
  std::map<std::pair<std::vector<unsigned>, std::vector<int>>, int> seen;
  for (int i = 0; i < static_cast<int>(from.choices.size()); ++i) {
    const Problem::Choice& c = from.choices[i];
    Choice choice;
    choice.original = i;
    choice.key = quantise(c.cost - cheapest);
    if (!(choice.key < kInfinite)) continue;
    // By more than the sums are inexact: what costs the same stays.
    const bool beaten = std::ranges::any_of(from.choices, [&](const Problem::Choice& other) {
      return &other != &c && instead_of(c, other, from, chains) < c.cost * (1 - 1e-9);
    });
    if (beaten) continue;
    choice.key.ties = i;
    choice.need.assign(node.reads.size(), 0);
    for (std::size_t k = 0; k < c.in.size(); ++k) {
      if (c.in[k] < 0) continue;
      const auto at = std::find(node.reads.begin(), node.reads.end(), from.inputs[k]);
      choice.need[at - node.reads.begin()] |= 1u << c.in[k];
    }
    choice.out = c.out;
    const auto [same, fresh] =
        seen.try_emplace({choice.need, choice.out}, static_cast<int>(node.choices.size()));
    if (fresh) {
      node.choices.push_back(std::move(choice));
    } else if (choice.key < node.choices[same->second].key) {
      node.choices[same->second] = std::move(choice);
    }
  }
}

void Model::add_value(const Problem& problem, int v) {
  const Problem::Value& from = problem.values[v];
  Value& value = values[v];
  const int k = from.layouts;
  unsigned needed = 0;
  for (int l : from.wanted) value.wanted |= 1u << l;
  needed = value.wanted;
  for (int n : value.readers) {
    const auto& reads = nodes[n].reads;
    const auto at = std::find(reads.begin(), reads.end(), v) - reads.begin();
    for (const Choice& c : nodes[n].choices) needed |= c.need[at];
  }
  unsigned produced = 0;
  std::size_t written_at = 0;
  if (value.producer < 0) {
    produced = 1u << from.given;
  } else {
    const auto& writes = nodes[value.producer].writes;
    written_at = std::find(writes.begin(), writes.end(), v) - writes.begin();
    for (const Choice& c : nodes[value.producer].choices) {
      produced |= c.out[written_at] < 0 ? (1u << k) - 1 : 1u << c.out[written_at];
    }
  }
  // Number the layouts that are needed, then everything that speaks of them.
  std::vector<int> bit(k, -1);
  for (int l = 0; l < k; ++l) {
    if (needed >> l & 1) bit[l] = value.bits++;
    if (produced >> l & 1) value.produced.push_back(l);
  }
  const auto renumber = [&](unsigned set) {
    unsigned out = 0;
    for (int l = 0; l < k; ++l) {
      if (set >> l & 1) out |= 1u << bit[l];
    }
    return out;
  };
  value.wanted = renumber(value.wanted);
  for (int n : value.readers) {
    const auto& reads = nodes[n].reads;
    const auto at = std::find(reads.begin(), reads.end(), v) - reads.begin();
    for (Choice& c : nodes[n].choices) c.need[at] = renumber(c.need[at]);
  }
  if (value.producer >= 0) {
    for (Choice& c : nodes[value.producer].choices) {
      int& out = c.out[written_at];
      if (out >= 0) out = std::popcount(produced & ((1u << out) - 1));
    }
  }
  std::vector<Key> convert;
  for (const double cost : from.convert) {
    convert.push_back(quantise(cost));
    if (convert.back().cost > 0) convert.back().ties = std::int64_t{1} << 32;
  }
  std::vector<int> layouts;
  for (int l = 0; l < k; ++l) {
    if (bit[l] >= 0) layouts.push_back(l);
  }
  const Chains<Key> chains(k, std::move(convert), kInfinite);
  value.free = true;
  for (int p : value.produced) {
    for (int l : layouts) value.free = value.free && chains.distance(p, l) == Key{};
  }
  value.cover = std::make_unique<const Cover>(chains, std::move(layouts));
}

Cover::Cover(Chains<Key> chains, std::vector<int> needed)
    : chains_(std::move(chains)), needed_(std::move(needed)) {
  constexpr std::size_t kMostBits = 8;
  if (needed_.size() <= kMostBits) all_.emplace(chains_, needed_);
}

Key Cover::cost(int produced, unsigned set) const {
  if (all_) return all_->cost(produced, set);
  const auto [known, fresh] = of_.try_emplace(set);
  if (fresh) {
    std::vector<int> wanted;
    for (std::size_t i = 0; i < needed_.size(); ++i) {
      if (set >> i & 1) wanted.push_back(needed_[i]);
    }
    const unsigned whole = (1u << wanted.size()) - 1;
    const Trees<Key> trees(chains_, std::move(wanted));
    for (int p = 0; p < chains_.formats(); ++p) known->second.push_back(trees.cost(p, whole));
  }
  return known->second[produced];
}

Key Model::value_cost(int v, const std::vector<int>& choice) const {
  const Value& value = values[v];
  if (value.free) return {};
  unsigned need = value.wanted;
  for (int n : value.readers) {
    if (choice[n] < 0) continue;
    const auto& reads = nodes[n].reads;
    const auto at = std::find(reads.begin(), reads.end(), v) - reads.begin();
    need |= nodes[n].choices[choice[n]].need[at];
  }
  int p = -1;
  if (value.producer < 0) {
    p = 0;
  } else if (choice[value.producer] >= 0) {
    const auto& writes = nodes[value.producer].writes;
    const auto at = std::find(writes.begin(), writes.end(), v) - writes.begin();
    p = nodes[value.producer].choices[choice[value.producer]].out[at];
  }
  if (p >= 0) return cover(value, p, need);
  Key best = kInfinite;
  for (std::size_t i = 0; i < value.produced.size(); ++i) {
    best = std::min(best, cover(value, static_cast<int>(i), need));
  }
  return best;
}

Key Model::cost(const std::vector<int>& choice) const {
  Key sum;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (choice[n] >= 0) sum = sum + nodes[n].choices[choice[n]].key;
  }
  for (int v = 0; v < static_cast<int>(values.size()); ++v) {
    const Key key = value_cost(v, choice);
    if (!(key < kInfinite)) return kInfinite;
    sum = sum + key;
  }
  return sum;
}

Model::Tables Model::tables(const std::vector<char>& open, const std::vector<int>& choice) const {
  Tables out;
  std::vector<int> variable(nodes.size(), -1);
  std::set<int> touched;
  for (int n = 0; n < static_cast<int>(nodes.size()); ++n) {
    if (!open[n]) continue;
    const Node& node = nodes[n];
    variable[n] = static_cast<int>(out.variables.size());
    out.variables.push_back(n);
    out.domain.push_back(static_cast<int>(node.choices.size()));
    Factor unary{{variable[n]}, {}};
    for (std::size_t c = 0; c < node.choices.size(); ++c) {
      unary.rows.push_back({c, node.choices[c].key});
    }
    out.factors.push_back(std::move(unary));
    touched.insert(node.reads.begin(), node.reads.end());
    touched.insert(node.writes.begin(), node.writes.end());
  }
  for (int v = 0; v < static_cast<int>(values.size()); ++v) {
    if (touched.count(v) == 0 && values[v].wanted == 0) continue;
    if (!values[v].free) add_value_tables(v, variable, choice, out);
  }
  return out;
}

/// Two variables, the layout produced and the set of layouts needed, tied to the nodes that decide
/// them. Where only one node decides, its own variable takes the cost.
void Model::add_value_tables(int v, const std::vector<int>& variable,
                             const std::vector<int>& choice, Tables& out) const {
  const Value& value = values[v];
  std::vector<int> options;  // layouts it may be produced in, indices
  const int producer = value.producer;
  const bool chosen = producer >= 0 && variable[producer] >= 0;
  std::size_t written_at = 0;
  if (producer >= 0) {
    const auto& writes = nodes[producer].writes;
    written_at = std::find(writes.begin(), writes.end(), v) - writes.begin();
  }
  const int fixed = producer < 0 ? 0
                    : chosen     ? -1
                                 : nodes[producer].choices[choice[producer]].out[written_at];
  for (int p = 0; p < static_cast<int>(value.produced.size()); ++p) {
    if (fixed < 0 || p == fixed) options.push_back(p);
  }

  struct Reader {
    int node;
    std::size_t at;
  };

  std::vector<Reader> readers;
  std::set<unsigned> sets;
  unsigned always = value.wanted;
  for (int n : value.readers) {
    const auto& reads = nodes[n].reads;
    const std::size_t at = std::find(reads.begin(), reads.end(), v) - reads.begin();
    if (variable[n] < 0) {
      always |= nodes[n].choices[choice[n]].need[at];
    } else {
      readers.push_back({n, at});
    }
  }
  sets.insert(always);
  for (const Reader& r : readers) {
    std::set<unsigned> more;
    for (const Choice& c : nodes[r.node].choices) {
      for (unsigned s : sets) more.insert(s | c.need[r.at]);
    }
    sets.swap(more);
  }
  const std::vector<unsigned> domain = useful(value, options, sets);
  const auto new_variable = [&](std::size_t states) {
    out.domain.push_back(static_cast<int>(states));
    return static_cast<int>(out.domain.size()) - 1;
  };
  int p_variable = -1, s_variable = -1;
  if (chosen && options.size() > 1) p_variable = new_variable(options.size());
  if (domain.size() > 1) s_variable = new_variable(domain.size());
  Factor table;
  int p_bits = 0;
  if (p_variable >= 0) {
    table.scope.push_back(p_variable);
    p_bits = state_bits(static_cast<int>(options.size()));
  }
  if (s_variable >= 0) table.scope.push_back(s_variable);
  for (std::size_t s = 0; s < domain.size(); ++s) {
    Key any = kInfinite;
    for (std::size_t p = 0; p < options.size(); ++p) {
      const Key key = cover(value, options[p], domain[s]);
      any = std::min(any, key);
      if (p_variable >= 0 && key < kInfinite) table.rows.push_back({s << p_bits | p, key});
    }
    if (p_variable < 0 && any < kInfinite) table.rows.push_back({s, any});
  }
  out.factors.push_back(std::move(table));
  if (p_variable >= 0) {
    Factor tie{{p_variable, variable[producer]}, {}};
    const auto& choices = nodes[producer].choices;
    for (std::size_t c = 0; c < choices.size(); ++c) {
      for (std::size_t p = 0; p < options.size(); ++p) {
        const int produced = choices[c].out[written_at];
        if (produced < 0 || produced == options[p]) tie.rows.push_back({c << p_bits | p, {}});
      }
    }
    out.factors.push_back(std::move(tie));
  }
  if (s_variable < 0) return;
  const int s_bits = state_bits(static_cast<int>(domain.size()));
  for (const Reader& r : readers) {
    Factor tie{{s_variable, variable[r.node]}, {}};
    const auto& choices = nodes[r.node].choices;
    for (std::size_t c = 0; c < choices.size(); ++c) {
      for (std::size_t s = 0; s < domain.size(); ++s) {
        if (covers(domain[s], choices[c].need[r.at])) tie.rows.push_back({c << s_bits | s, {}});
      }
    }
    out.factors.push_back(std::move(tie));
  }
}

}  // namespace stowage::plan
