// SPDX-License-Identifier: Apache-2.0
// The planner's solver against brute force, and bounds on the shapes of real networks.
#include "plan/solve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>

#include "stowage/error.h"

namespace stowage::plan {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
using Rng = std::mt19937;

double uniform(Rng& rng, double low, double high) {
  return low + (high - low) * static_cast<double>(rng() % 100000) / 100000;
}

/// `grain` > 0: multiples of it, so that ties occur.
std::vector<double> metric(Rng& rng, int layouts, double grain, bool holes) {
  std::vector<double> out(layouts * layouts, 0.0);
  for (int i = 0; i < layouts * layouts; ++i) {
    if (i % (layouts + 1) == 0) continue;
    out[i] = uniform(rng, 0.5, 3);
    if (grain > 0) out[i] = std::round(out[i] / grain) * grain;
    if (holes && rng() % 5 == 0) out[i] = kInf;
  }
  return out;
}

/// Up to `most` nodes with 1-3 inputs and 1-2 outputs. Choice 0 uses layout 0 everywhere.
Problem random_problem(Rng& rng, int most) {
  Problem p;
  const double grain = rng() % 2 ? 0.5 : 0;
  const bool holes = rng() % 3 == 0;
  const auto new_value = [&](int given) {
    Problem::Value v;
    v.layouts = 1 + rng() % 4;
    v.convert = metric(rng, v.layouts, grain, holes);
    v.given = given;
    if (rng() % 6 == 0) v.wanted.push_back(rng() % v.layouts);
    if (given >= 0 && rng() % 3 == 0) std::fill(v.convert.begin(), v.convert.end(), 0.0);
    // Layout 0 is always within reach.
    for (int l = 1; l < v.layouts; ++l) {
      if (v.convert[l * v.layouts] == kInf) v.convert[l * v.layouts] = 3;
      if (!v.wanted.empty() && v.convert[l] == kInf) v.convert[l] = 3;
    }
    p.values.push_back(v);
    return static_cast<int>(p.values.size()) - 1;
  };
  for (int i = 1 + rng() % 2; i > 0; --i) new_value(0);
  const int nodes = rng() % (most + 1);
  for (int n = 0; n < nodes; ++n) {
    Problem::Node node;
    const int values = static_cast<int>(p.values.size());
    for (int i = rng() % 4; i > 0; --i) {
      node.inputs.push_back(std::max(0, values - 1 - static_cast<int>(rng() % 4)));
    }
    for (int i = rng() % 8 == 0 ? 2 : 1; i > 0; --i) node.outputs.push_back(new_value(-1));
    for (int c = 1 + rng() % 4; c > 0; --c) {
      Problem::Choice choice;
      choice.cost = uniform(rng, 2, 6);
      if (grain > 0) choice.cost = std::round(choice.cost);
      const bool plain = node.choices.empty();
      const auto layout = [&](int v) {
        return plain ? 0 : rng() % 8 == 0 ? -1 : static_cast<int>(rng() % p.values[v].layouts);
      };
      for (int v : node.inputs) choice.in.push_back(layout(v));
      for (int v : node.outputs) choice.out.push_back(layout(v));
      if (!plain && rng() % 12 == 0) choice.cost = kInf;
      node.choices.push_back(choice);
    }
    p.nodes.push_back(node);
  }
  return p;
}

struct Best {
  double cost = kInf;
  std::size_t moves = 0;
};

/// Written for its own sake: enumerates choices, layouts produced, and for each value grows trees
/// one conversion at a time in every order.
double tree_by_hand(const Problem::Value& v, unsigned have, unsigned need) {
  if ((need & ~have) == 0) return 0;
  double best = kInf;
  for (int to = 0; to < v.layouts; ++to) {
    if (have >> to & 1) continue;
    double c = kInf;
    for (int from = 0; from < v.layouts; ++from) {
      if (have >> from & 1) c = std::min(c, v.convert[from * v.layouts + to]);
    }
    if (c < kInf) best = std::min(best, c + tree_by_hand(v, have | 1u << to, need));
  }
  return best;
}

double cost_by_hand(const Problem& p, const std::vector<int>& choice) {
  double sum = 0;
  for (std::size_t n = 0; n < p.nodes.size(); ++n) sum += p.nodes[n].choices[choice[n]].cost;
  for (int v = 0; v < static_cast<int>(p.values.size()); ++v) {
    unsigned need = 0;
    int made = p.values[v].given;
    for (int l : p.values[v].wanted) need |= 1u << l;
    for (std::size_t n = 0; n < p.nodes.size(); ++n) {
      const Problem::Node& node = p.nodes[n];
      const Problem::Choice& c = node.choices[choice[n]];
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i] == v && c.in[i] >= 0) need |= 1u << c.in[i];
      }
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        if (node.outputs[i] == v) made = c.out[i];
      }
    }
    double best = kInf;
    for (int l = 0; l < p.values[v].layouts; ++l) {
      if (made < 0 || made == l) best = std::min(best, tree_by_hand(p.values[v], 1u << l, need));
    }
    sum += best;
  }
  return sum;
}

Best brute_force(const Problem& p) {
  Best best;
  std::vector<int> choice(p.nodes.size(), 0);
  for (;;) {
    const Solution s = evaluate(p, choice);
    const double slack = 1e-9 * std::max(1.0, s.cost);
    if (s.cost < best.cost - slack || (s.cost < best.cost + slack && s.moves.size() < best.moves)) {
      best = {std::min(best.cost, s.cost), s.moves.size()};
    }
    std::size_t n = 0;
    while (n < choice.size() && ++choice[n] == static_cast<int>(p.nodes[n].choices.size())) {
      choice[n++] = 0;
    }
    if (n == choice.size()) return best;
  }
}

/// Conversions start from what exists, none is made twice, and everybody finds his layout.
void expect_consistent(const Problem& p, const Solution& s) {
  std::vector<unsigned> have(p.values.size(), 0);
  double sum = 0;
  ASSERT_EQ(s.produced.size(), p.values.size());
  for (std::size_t v = 0; v < p.values.size(); ++v) {
    ASSERT_GE(s.produced[v], 0);
    have[v] = 1u << s.produced[v];
    if (p.values[v].given >= 0) {
      EXPECT_EQ(s.produced[v], p.values[v].given);
    }
  }
  for (const Move& m : s.moves) {
    EXPECT_TRUE(have[m.value] >> m.from & 1);
    EXPECT_FALSE(have[m.value] >> m.to & 1);
    EXPECT_EQ(m.cost, p.values[m.value].convert[m.from * p.values[m.value].layouts + m.to]);
    EXPECT_LT(m.cost, kInf);
    have[m.value] |= 1u << m.to;
    sum += m.cost;
  }
  for (std::size_t n = 0; n < p.nodes.size(); ++n) {
    const Problem::Node& node = p.nodes[n];
    const Problem::Choice& c = node.choices[s.choice[n]];
    sum += c.cost;
    for (std::size_t i = 0; i < c.in.size(); ++i) {
      if (c.in[i] >= 0) {
        EXPECT_TRUE(have[node.inputs[i]] >> c.in[i] & 1);
      }
    }
    for (std::size_t i = 0; i < c.out.size(); ++i) {
      if (c.out[i] >= 0) {
        EXPECT_EQ(s.produced[node.outputs[i]], c.out[i]);
      }
    }
  }
  for (std::size_t v = 0; v < p.values.size(); ++v) {
    for (int l : p.values[v].wanted) EXPECT_TRUE(have[v] >> l & 1);
  }
  EXPECT_NEAR(sum, s.cost, 1e-9 * std::max(1.0, s.cost));
}

bool same(const Solution& a, const Solution& b) {
  const auto same_move = [](const Move& x, const Move& y) {
    return x.value == y.value && x.from == y.from && x.to == y.to && x.cost == y.cost;
  };
  return a.choice == b.choice && a.produced == b.produced && a.cost == b.cost &&
         a.lower_bound == b.lower_bound && a.optimal == b.optimal &&
         std::equal(a.moves.begin(), a.moves.end(), b.moves.begin(), b.moves.end(), same_move);
}

/// Nodes and values in another order.
Problem shuffled(const Problem& p, Rng& rng) {
  std::vector<int> to(p.values.size());
  std::iota(to.begin(), to.end(), 0);
  std::shuffle(to.begin(), to.end(), rng);
  Problem out;
  out.values.resize(p.values.size());
  for (std::size_t v = 0; v < to.size(); ++v) out.values[to[v]] = p.values[v];
  out.nodes = p.nodes;
  for (Problem::Node& node : out.nodes) {
    for (int& v : node.inputs) v = to[v];
    for (int& v : node.outputs) v = to[v];
  }
  std::shuffle(out.nodes.begin(), out.nodes.end(), rng);
  return out;
}

TEST(Solve, EqualsBruteForce) {
  Rng rng(7);
  for (int round = 0; round < 600; ++round) {
    SCOPED_TRACE(round);
    const Problem p = random_problem(rng, round < 300 ? 5 : 8);
    const Solution s = solve(p);
    const Best best = brute_force(p);
    ASSERT_NEAR(s.cost, best.cost, 1e-9 * std::max(1.0, best.cost));
    EXPECT_TRUE(s.optimal);
    EXPECT_EQ(s.lower_bound, s.cost);
    expect_consistent(p, s);
    // Free moves of constants do not count in ties.
    const auto dear =
        std::count_if(s.moves.begin(), s.moves.end(), [](const Move& m) { return m.cost > 0; });
    EXPECT_LE(dear, static_cast<std::ptrdiff_t>(best.moves));
    EXPECT_TRUE(same(s, solve(p)));
    if (HasFatalFailure()) return;
  }
}

TEST(Solve, EvaluateEqualsTreesByHand) {
  Rng rng(8);
  for (int round = 0; round < 300; ++round) {
    const Problem p = random_problem(rng, 8);
    std::vector<int> choice;
    for (const Problem::Node& n : p.nodes) choice.push_back(rng() % n.choices.size());
    const Solution s = evaluate(p, choice);
    const double expected = cost_by_hand(p, choice);
    if (expected == kInf) {
      ASSERT_EQ(s.cost, kInf);
    } else {
      ASSERT_NEAR(s.cost, expected, 1e-9 * std::max(1.0, expected));
      expect_consistent(p, s);
    }
  }
}

TEST(Solve, NamesAndOrderMeanNothing) {
  Rng rng(9);
  for (int round = 0; round < 100; ++round) {
    const Problem p = random_problem(rng, 30);
    const Problem q = shuffled(p, rng);
    const Solution a = solve(p), b = solve(q);
    ASSERT_TRUE(a.optimal && b.optimal);
    EXPECT_NEAR(a.cost, b.cost, 1e-9 * std::max(1.0, a.cost));
  }
}

/// The shapes of networks: operators in order, each with the operators it reads (-1: the input).
class Shape {
 public:
  int op(std::vector<int> reads) {
    ops.push_back(std::move(reads));
    return static_cast<int>(ops.size()) - 1;
  }

  int chain(int from, int length) {
    for (int i = 0; i < length; ++i) from = op({from});
    return from;
  }

  std::vector<std::vector<int>> ops;
};

Shape res_net() {
  Shape s;
  int x = s.op({-1});
  for (int i = 0; i < 16; ++i) x = s.op({s.chain(x, 3), x});
  return s;
}

Shape mobile_net() {
  Shape s;
  int x = s.op({-1});
  for (int i = 0; i < 17; ++i) {
    const int y = s.chain(x, 6);
    x = i % 3 == 2 ? y : s.op({y, x});
  }
  return s;
}

Shape inception() {
  Shape s;
  int x = s.op({-1});
  for (int i = 0; i < 9; ++i) {
    const int a = s.chain(x, 1), b = s.chain(x, 2), c = s.chain(x, 3), d = s.chain(x, 2);
    x = s.op({a, b, c, d});
  }
  return s;
}

Shape u_net() {
  Shape s;
  std::vector<int> skips;
  int x = s.op({-1});
  for (int i = 0; i < 5; ++i) {
    skips.push_back(s.chain(x, 2));
    x = s.op({skips.back()});
  }
  for (; !skips.empty(); skips.pop_back()) x = s.op({s.chain(x, 2), skips.back()});
  return s;
}

Shape ssd() {
  Shape s;
  std::vector<int> classes, boxes;
  int x = s.op({-1});
  for (int i = 0; i < 6; ++i) {
    x = s.chain(x, 2);
    classes.push_back(s.chain(x, 2));
    boxes.push_back(s.chain(x, 2));
  }
  s.op({s.op(classes), s.op(boxes)});
  return s;
}

Shape transformer() {
  Shape s;
  int x = s.op({-1});
  for (int i = 0; i < 12; ++i) {
    const int h = s.op({x}), q = s.chain(h, 2), k = s.chain(h, 2), v = s.chain(h, 2);
    x = s.op({x, s.op({s.op({s.chain(s.op({q, k}), 1), v})})});
    x = s.op({x, s.chain(x, 4)});
  }
  return s;
}

/// DenseNet-121's blocks: 6, 12, 24 and 16 layers.
Shape dense_net(bool n_ary) {
  Shape s;
  int x = s.op({-1});
  for (int layers : {6, 12, 24, 16}) {
    std::vector<int> all = {x};
    for (int i = 0; i < layers; ++i) {
      const int in = n_ary ? s.op(all) : x;
      all.push_back(s.chain(in, 4));
      x = n_ary ? in : s.op({x, all.back()});
    }
    x = s.chain(n_ary ? s.op(all) : x, 3);
  }
  return s;
}

Shape hr_net() {
  Shape s;
  std::vector<int> branches;
  for (int i = 0; i < 3; ++i) branches.push_back(s.op({-1}));
  for (int stage = 0; stage < 4; ++stage) {
    std::vector<int> next;
    for (int i = 0; i < 3; ++i) {
      std::vector<int> reads;
      for (int b : branches) reads.push_back(s.op({b}));
      next.push_back(s.op(reads));
    }
    branches = next;
  }
  s.op(branches);
  return s;
}

Shape bi_fpn() {
  Shape s;
  std::vector<int> p;
  for (int i = 0; i < 5; ++i) p.push_back(s.op({-1}));
  for (int round = 0; round < 3; ++round) {
    std::vector<int> down(5), out(5);
    down[4] = p[4];
    for (int i : {3, 2, 1}) down[i] = s.op({s.op({p[i], s.op({down[i + 1]})})});
    out[0] = s.op({p[0], s.op({down[1]})});
    for (int i : {1, 2, 3}) out[i] = s.op({s.op({p[i], down[i], s.op({out[i - 1]})})});
    out[4] = s.op({p[4], s.op({out[3]})});
    p = out;
  }
  s.op(p);
  return s;
}

/// Costs as in real networks: odd operators and joins take any layout, the others run in two or
/// three, may write another one, and read weights which are converted for nothing.
Problem dressed(const Shape& shape, int layouts, Rng& rng) {
  Problem p;
  const auto new_value = [&](int given, bool free) {
    Problem::Value v;
    v.layouts = layouts;
    v.convert = free ? std::vector<double>(layouts * layouts, 0.0) : metric(rng, layouts, 0, false);
    v.given = given;
    p.values.push_back(v);
    return static_cast<int>(p.values.size()) - 1;
  };
  const int input = new_value(0, false);
  std::vector<int> out;
  for (std::size_t o = 0; o < shape.ops.size(); ++o) {
    Problem::Node node;
    for (int r : shape.ops[o]) node.inputs.push_back(r < 0 ? input : out[r]);
    const std::size_t reads = node.inputs.size();
    const bool any = reads > 1 || o % 2 == 1;
    const double base = any ? uniform(rng, 0.2, 1) : uniform(rng, 4, 12);
    if (any) {
      for (int l = 0; l < layouts; ++l) {
        node.choices.push_back({base, std::vector<int>(reads, l), {l}});
      }
    } else {
      node.inputs.push_back(new_value(0, true));
      std::vector<int> order(layouts);
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin() + 1, order.end(), rng);
      const int kinds = std::min<int>(layouts, 2 + rng() % 2);
      for (int i = 0; i < kinds; ++i) {
        const double cost = base * uniform(rng, 1, 1.5);
        node.choices.push_back({cost, {order[i], order[i]}, {order[i]}});
        node.choices.push_back({cost * 1.05, {order[i], order[i]}, {order[(i + 1) % kinds]}});
      }
    }
    out.push_back(new_value(-1, false));
    node.outputs = {out.back()};
    p.nodes.push_back(node);
  }
  p.values[out.back()].wanted = {0};
  return p;
}

struct Network {
  std::string name;
  Shape shape;
  bool exact;
};

std::vector<Network> networks() {
  return {{"ResNet-50", res_net(), true},
          {"MobileNet-v2", mobile_net(), true},
          {"Inception", inception(), true},
          {"U-Net", u_net(), true},
          {"SSD", ssd(), true},
          {"Transformer", transformer(), true},
          {"DenseNet-121 in pairs", dense_net(false), true},
          {"DenseNet-121 n-ary", dense_net(true), false},
          {"HRNet", hr_net(), true},
          {"BiFPN", bi_fpn(), true}};
}

TEST(Solve, NetworksStayWithinTheirBounds) {
  for (const Network& net : networks()) {
    for (int layouts : {1, 2, 3, 4, 6}) {
      SCOPED_TRACE(net.name + " with " + std::to_string(layouts) + " layouts");
      Rng rng(3);
      const Problem p = dressed(net.shape, layouts, rng);
      const Solution s = solve(p);
      const Solution source = evaluate(p, std::vector<int>(p.nodes.size(), 0));
      expect_consistent(p, s);
      EXPECT_LE(s.cost, source.cost);
      EXPECT_LE(s.lower_bound, s.cost);
      EXPECT_GT(s.lower_bound, 0);
      EXPECT_EQ(s.optimal, s.lower_bound == s.cost);
      EXPECT_TRUE(s.optimal || !net.exact);
      EXPECT_LE(s.cost, 1.05 * s.lower_bound) << s.cost / s.lower_bound;
      // No single node would rather choose otherwise.
      if (layouts == 4) {
        for (std::size_t n = 0; n < p.nodes.size(); n += 7) {
          for (std::size_t c = 0; c < p.nodes[n].choices.size(); ++c) {
            std::vector<int> other = s.choice;
            other[n] = static_cast<int>(c);
            EXPECT_GE(evaluate(p, other).cost, s.cost - 1e-9 * s.cost);
          }
        }
        EXPECT_TRUE(same(s, solve(p)));
      }
    }
  }
}

Problem::Value value(int layouts, std::vector<double> convert, int given = -1,
                     std::vector<int> wanted = {}) {
  return {layouts, std::move(convert), given, std::move(wanted)};
}

TEST(Solve, Degenerate) {
  EXPECT_EQ(solve({}).cost, 0);
  EXPECT_TRUE(solve({}).optimal);

  Problem p;  // an input that is also an output
  p.values = {value(2, {0, 2, 3, 0}, 0, {0, 1})};
  EXPECT_EQ(solve(p).cost, 2);

  // A value without readers takes the cheapest choice; one written in any layout goes where it is
  // wanted.
  p.nodes = {{{0}, {1}, {{5, {0}, {0}}, {4, {0}, {1}}}}};
  p.values.push_back(value(2, {0, 2, 3, 0}));
  EXPECT_EQ(solve(p).cost, 2 + 4);
  p.values[1].wanted = {0};
  EXPECT_EQ(solve(p).cost, 2 + 5);
  p.nodes[0].choices.push_back({4.5, {-1}, {-1}});
  EXPECT_EQ(solve(p).cost, 2 + 4.5);
  EXPECT_EQ(solve(p).produced[1], 0);
}

TEST(Solve, OneNodeReadsAValueTwice) {
  Problem p;
  p.values = {value(3, {0, 2, 9, 9, 0, 1, 9, 9, 0}, 0), value(1, {0})};
  p.nodes = {{{0, 0}, {1}, {{9, {0, 0}, {0}}, {1, {1, 2}, {0}}}}};
  const Solution s = solve(p);
  EXPECT_EQ(s.cost, 1 + 2 + 1);  // 0 to 1 to 2: the chain serves both
  ASSERT_EQ(s.moves.size(), 2u);
  EXPECT_EQ(s.moves[1].from, 1);
}

TEST(Solve, AConversionIsSharedAndPassesThroughLayoutsNobodyReads) {
  Problem p;
  p.values = {value(3, {0, 9, 1, 9, 0, 9, 9, 1, 0}, 0), value(1, {0}), value(1, {0})};
  for (int out : {1, 2}) p.nodes.push_back({{0}, {out}, {{8, {0}, {0}}, {5, {1}, {0}}}});
  const Solution s = solve(p);
  EXPECT_EQ(s.choice, (std::vector<int>{1, 1}));
  EXPECT_EQ(s.cost, 5 + 5 + 2);
}

TEST(Solve, TiesGoToFewerMovesThenToTheEarlierChoice) {
  Problem p;
  p.values = {value(2, {0, 1, 1, 0}, 0), value(2, {0, 1, 1, 0})};
  p.nodes = {{{0}, {1}, {{2, {1}, {0}}, {3, {0}, {0}}, {3, {0}, {1}}}}};
  EXPECT_EQ(solve(p).choice, std::vector<int>{1});
}

TEST(Solve, ConstantsFollowForNothing) {
  Problem p;
  p.values = {value(3, std::vector<double>(9, 0.0), 0), value(1, {0})};
  p.nodes = {{{0}, {1}, {{3, {0}, {0}}, {2, {1}, {0}}, {1, {2}, {0}}}}};
  EXPECT_EQ(solve(p).cost, 1);
  EXPECT_EQ(solve(p).choice, std::vector<int>{2});
}

TEST(Solve, UnsupportedConversionsAreNeverChosen) {
  Problem p;
  p.values = {value(2, {0, kInf, kInf, 0}, 0), value(1, {0})};
  p.nodes = {{{0}, {1}, {{100, {0}, {0}}, {1, {1}, {0}}, {kInf, {0}, {0}}}}};
  EXPECT_EQ(solve(p).choice, std::vector<int>{0});
  // Also where the first choice is not possible.
  std::swap(p.nodes[0].choices[0], p.nodes[0].choices[1]);
  EXPECT_EQ(solve(p).choice, std::vector<int>{1});
  p.values[0].wanted = {1};
  EXPECT_THROW(solve(p), Error);
}

TEST(Solve, NonsenseIsRefused) {
  Problem good;
  good.values = {value(2, {0, 1, 1, 0}, 0), value(1, {0})};
  good.nodes = {{{0}, {1}, {{1, {0}, {0}}}}};
  EXPECT_EQ(solve(good).cost, 1);
  const std::vector<std::function<void(Problem&)>> harms = {
      [](Problem& p) { p.nodes[0].choices.clear(); },
      [](Problem& p) { p.nodes[0].inputs[0] = 2; },
      [](Problem& p) { p.nodes[0].outputs[0] = 0; },
      [](Problem& p) { p.nodes[0].choices[0].in[0] = 2; },
      [](Problem& p) { p.nodes[0].choices[0].in.clear(); },
      [](Problem& p) { p.nodes[0].choices[0].cost = std::nan(""); },
      [](Problem& p) { p.nodes[0].choices[0].cost = kInf; },
      [](Problem& p) { p.values[0].convert.pop_back(); },
      [](Problem& p) { p.values[0].convert[1] = -1; },
      [](Problem& p) { p.values[0].convert[0] = 1; },
      [](Problem& p) { p.values[0].given = 2; },
      [](Problem& p) { p.values[0].given = -1; },
      [](Problem& p) { p.values[0].wanted = {2}; },
      [](Problem& p) { p.values[0] = value(40, std::vector<double>(1600, 0.0), 0); },
  };
  for (std::size_t i = 0; i < harms.size(); ++i) {
    Problem p = good;
    harms[i](p);
    EXPECT_THROW(solve(p), Error) << i;
  }
}

}  // namespace
}  // namespace stowage::plan
