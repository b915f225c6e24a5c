// SPDX-License-Identifier: Apache-2.0
// Exact where the tables stay small, else a search over regions which are solved exactly.
#include "plan/solve.h"

#include <algorithm>
#include <compare>
#include <limits>
#include <numeric>

#include "base/text.h"
#include "plan/solve_model.h"
#include "plan/trees.h"

namespace stowage::plan {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// At once; then below what a search has found, which leaves far fewer rows of the same tables.
constexpr BucketLimits kExact{std::size_t{1} << 18, std::size_t{1} << 20, false};
constexpr BucketLimits kBelow{std::size_t{1} << 22, std::size_t{1} << 22, false};
constexpr BucketLimits kBound{std::size_t{1} << 12, 0, true};
constexpr BucketLimits kRegion{std::size_t{1} << 13, std::size_t{1} << 16, false};
constexpr std::size_t kSearchWork = std::size_t{1} << 18;

/// Of conversions. Of equally cheap ones the fewest are the best.
struct Price {
  double cost = 0;
  int moves = 0;

  friend auto operator<=>(const Price&, const Price&) = default;

  friend Price operator+(Price a, Price b) { return {a.cost + b.cost, a.moves + b.moves}; }
};

/// Converts value `v`, produced in layout `produced` (-1: where that costs least), into all of
/// `need`.
void convert(const Problem& problem, int v, unsigned need, int produced, Solution& out) {
  const Problem::Value& value = problem.values[v];
  std::vector<Price> prices;
  for (int i = 0; i < value.layouts * value.layouts; ++i) {
    prices.push_back({value.convert[i], i % (value.layouts + 1) == 0 ? 0 : 1});
  }
  std::vector<int> wanted;
  for (int l = 0; l < value.layouts; ++l) {
    if (need >> l & 1) wanted.push_back(l);
  }
  const unsigned all = (1u << wanted.size()) - 1;
  const Chains<Price> chains(value.layouts, std::move(prices), Price{kInf, 0});
  const Trees<Price> trees(chains, std::move(wanted));
  if (produced < 0) {
    produced = 0;
    for (int p = 1; p < value.layouts; ++p) {
      if (trees.cost(p, all) < trees.cost(produced, all)) produced = p;
    }
  }
  out.produced[v] = produced;
  if (!(trees.cost(produced, all).cost < kInf)) {
    out.cost = kInf;
    return;
  }
  trees.walk(produced, all, [&](int from, int to) {
    const double cost = value.convert[from * value.layouts + to];
    out.moves.push_back({v, from, to, cost, -1});
    out.cost += cost;
  });
}

/// Solutions that cannot be proved: descent from several starts, then whole regions at once.
class Search {
 public:
  explicit Search(const Model& model) : model_(model), touched_(model.nodes.size()) {
    for (std::size_t n = 0; n < model.nodes.size(); ++n) {
      auto& list = touched_[n];
      for (const auto* values : {&model.nodes[n].reads, &model.nodes[n].writes}) {
        for (int v : *values) {
          if (!model.values[v].free) list.push_back(v);
        }
      }
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
  }

  /// Node after node the choice that is cheapest given what is decided, until nothing improves.
  /// Undecided nodes count for nothing, so an undecided start makes it the greedy forward rule.
  void descend(std::vector<int>& choice) const {
    for (int pass = 0; pass < 64; ++pass) {
      bool changed = false;
      for (int n = 0; n < static_cast<int>(choice.size()); ++n) {
        changed = settle(n, choice) || changed;
      }
      if (!changed) return;
    }
  }

  /// The choice of every node that has `layout` in the most places.
  std::vector<int> preferring(const Problem& problem, int layout) const {
    std::vector<int> out(model_.nodes.size(), 0);
    for (std::size_t n = 0; n < out.size(); ++n) {
      const auto& choices = model_.nodes[n].choices;
      std::pair<std::ptrdiff_t, Key> best{1, {}};
      for (std::size_t c = 0; c < choices.size(); ++c) {
        const Problem::Choice& original = problem.nodes[n].choices[choices[c].original];
        const auto places = std::count(original.in.begin(), original.in.end(), layout) +
                            std::count(original.out.begin(), original.out.end(), layout);
        const std::pair rank{-places, choices[c].key};
        if (rank < best) best = rank, out[n] = static_cast<int>(c);
      }
    }
    return out;
  }

  /// Opens regions, each solved exactly with everything else as it is, while work is left.
  void improve(std::vector<int>& choice) {
    Key cost = model_.cost(choice);
    for (bool changed = true; changed && work_ < kSearchWork;) {
      const Key before = cost;
      for (const std::vector<int>& region : regions()) {
        if (work_ >= kSearchWork) break;
        reopen(region, choice, cost);
      }
      changed = cost < before;
    }
  }

 private:
  bool settle(int n, std::vector<int>& choice) const {
    const auto& choices = model_.nodes[n].choices;
    const int before = choice[n];
    int best = before;
    Key best_key = kInfinite + kInfinite;
    for (int c = -1; c < static_cast<int>(choices.size()); ++c) {
      // The present choice goes first, so that it stays where nothing is better.
      const int tried = c < 0 ? before : c;
      if (tried < 0 || (c == before)) continue;
      choice[n] = tried;
      Key sum = choices[tried].key;
      for (int v : touched_[n]) {
        sum = sum + model_.value_cost(v, choice);
        if (!(sum < kInfinite)) {
          sum = kInfinite;
          break;
        }
      }
      if (sum < best_key) best_key = sum, best = tried;
    }
    choice[n] = best;
    return best != before;
  }

  /// Windows of the node list, small ones first, and the surroundings of values with many readers.
  std::vector<std::vector<int>> regions() const {
    const int n = static_cast<int>(model_.nodes.size());
    std::vector<std::vector<int>> out;
    for (const Model::Value& value : model_.values) {
      if (value.free || value.readers.size() < 3) continue;
      std::vector<int> region = value.readers;
      if (value.producer >= 0) region.push_back(value.producer);
      std::sort(region.begin(), region.end());
      out.push_back(std::move(region));
    }
    for (int width = 8; width < 2 * n && width <= 64; width *= 2) {
      for (int begin = 0; begin < n; begin += width / 2) {
        std::vector<int> region(std::min(width, n - begin));
        std::iota(region.begin(), region.end(), begin);
        out.push_back(std::move(region));
      }
    }
    // Everything but the nodes that join many values.
    std::vector<int> slim;
    for (int i = 0; i < n; ++i) {
      if (touched_[i].size() <= 3) slim.push_back(i);
    }
    out.push_back(std::move(slim));
    return out;
  }

  void reopen(const std::vector<int>& region, std::vector<int>& choice, Key& cost) {
    if (region.empty()) return;
    std::vector<char> open(model_.nodes.size(), 0);
    for (int n : region) open[n] = model_.nodes[n].choices.size() > 1;
    Model::Tables tables = model_.tables(open, choice);
    work_ += tables.domain.size() * 16 + model_.values.size();
    const BucketResult found = eliminate(tables.domain, std::move(tables.factors), kRegion);
    work_ += found.work;
    if (!found.done) {
      if (region.size() < 4) return;
      const auto middle = region.begin() + region.size() / 2;
      reopen({region.begin(), middle}, choice, cost);
      reopen({middle, region.end()}, choice, cost);
      return;
    }
    std::vector<int> next = choice;
    for (std::size_t i = 0; i < tables.variables.size(); ++i) {
      next[tables.variables[i]] = found.states[i];
    }
    const Key now = model_.cost(next);
    if (now < cost) cost = now, choice = std::move(next);
  }

  const Model& model_;
  std::vector<std::vector<int>> touched_;  // the values of each node that may cost anything
  std::size_t work_ = 0;
};

struct Found {
  std::vector<int> choice;  // of the model; empty: nothing possible
  Key bound;
  bool exact = false;
};

Found find(const Problem& problem, const Model& model) {
  const std::vector<char> all(model.nodes.size(), 1);
  Model::Tables tables = model.tables(all, {});
  const auto choices_of = [&](const BucketResult& r) {
    return std::vector<int>(r.states.begin(), r.states.begin() + model.nodes.size());
  };
  BucketResult result = eliminate(tables.domain, tables.factors, kExact);
  if (result.done) return {choices_of(result), result.bound, true};
  result = eliminate(tables.domain, tables.factors, kBound);
  Search search(model);
  std::vector<std::vector<int>> starts;
  starts.push_back(choices_of(result));
  starts.emplace_back(model.nodes.size(), 0);
  starts.emplace_back(model.nodes.size(), -1);
  int layouts = 0;
  for (const Problem::Value& v : problem.values) layouts = std::max(layouts, v.layouts);
  for (int l = 0; l < layouts; ++l) starts.push_back(search.preferring(problem, l));
  for (std::vector<int>& start : starts) search.descend(start);
  std::stable_sort(starts.begin(), starts.end(),
                   [&](const auto& a, const auto& b) { return model.cost(a) < model.cost(b); });
  BucketLimits below = kBelow;
  below.ceiling = model.cost(starts[0]);
  BucketResult exact = eliminate(tables.domain, std::move(tables.factors), below);
  if (exact.done) return {choices_of(exact), exact.bound, true};
  search.improve(starts[0]);
  return {starts[0], result.bound, false};
}

}  // namespace

Solution evaluate(const Problem& problem, const std::vector<int>& choice) {
  check(problem);
  Solution out;
  out.choice = choice;
  if (choice.size() != problem.nodes.size()) {
    fail(ErrorCode::internal, choice.size(), " choices for ", problem.nodes.size(), " nodes");
  }
  std::vector<unsigned> need(problem.values.size(), 0);
  for (std::size_t v = 0; v < problem.values.size(); ++v) {
    out.produced.push_back(problem.values[v].given);
    for (int l : problem.values[v].wanted) need[v] |= 1u << l;
  }
  for (std::size_t n = 0; n < problem.nodes.size(); ++n) {
    const Problem::Node& node = problem.nodes[n];
    if (choice[n] < 0 || choice[n] >= static_cast<int>(node.choices.size())) {
      fail(ErrorCode::internal, "node ", n, " has no choice ", choice[n]);
    }
    const Problem::Choice& c = node.choices[choice[n]];
    out.cost += c.cost;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (c.in[i] >= 0) need[node.inputs[i]] |= 1u << c.in[i];
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) out.produced[node.outputs[i]] = c.out[i];
  }
  for (std::size_t v = 0; v < problem.values.size(); ++v) {
    convert(problem, static_cast<int>(v), need[v], out.produced[v], out);
  }
  return out;
}

Solution solve(const Problem& problem) {
  check(problem);
  const Model model(problem);
  const Found found = find(problem, model);
  const Solution first = evaluate(problem, std::vector<int>(problem.nodes.size(), 0));
  std::vector<int> choice;
  for (std::size_t n = 0; n < problem.nodes.size(); ++n) {
    choice.push_back(model.nodes[n].choices[found.choice[n]].original);
  }
  Solution out = evaluate(problem, choice);
  // Sums of doubles may differ from the integers in the last digits.
  if (first.cost < out.cost) out = first;
  if (out.cost == kInf) {
    fail(ErrorCode::unsupported, "no choice of layouts can be reached by conversions");
  }
  out.optimal = found.exact || !(found.bound < model.cost(found.choice));
  out.lower_bound =
      out.optimal ? out.cost : std::min(out.cost, model.microseconds_below(found.bound));
  return out;
}

}  // namespace stowage::plan
