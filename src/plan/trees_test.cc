// SPDX-License-Identifier: Apache-2.0
// Trees of conversions against a search over all sets of formats.
#include "plan/trees.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "plan/solve.h"

namespace stowage::plan {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// cost[set]: of making exactly the formats of `set` out of `root`, one conversion at a time.
std::vector<double> by_sets(int formats, const std::vector<double>& convert, int root) {
  std::vector<double> cost(std::size_t{1} << formats, kInf);
  cost[1u << root] = 0;
  for (unsigned set = 0; set < cost.size(); ++set) {
    for (int from = 0; from < formats; ++from) {
      if (!(set >> from & 1)) continue;
      for (int to = 0; to < formats; ++to) {
        if (set >> to & 1) continue;
        double& next = cost[set | 1u << to];
        next = std::min(next, cost[set] + convert[static_cast<std::size_t>(from * formats + to)]);
      }
    }
  }
  return cost;
}

TEST(Trees, CostAndReachWhatASearchDoes) {
  std::mt19937 rng(5);
  for (int round = 0; round < 300; ++round) {
    const int formats = 1 + static_cast<int>(rng() % 9);
    std::vector<double> convert;
    for (int i = 0; i < formats * formats; ++i) {
      const bool hole = round % 3 == 0 && rng() % 4 == 0;
      const double cost = hole ? kInf : static_cast<double>(1 + rng() % 64);
      convert.push_back(i % (formats + 1) == 0 ? 0 : cost);
    }
    std::vector<int> wanted;
    for (int f = 0; f < formats; ++f) {
      if (rng() % 2) wanted.push_back(f);
    }
    const Chains<double> chains(formats, convert, kInf);
    const Trees<double> trees(chains, wanted);
    for (int root = 0; root < formats; ++root) {
      const std::vector<double> search = by_sets(formats, convert, root);
      for (unsigned set = 0; set < 1u << wanted.size(); ++set) {
        unsigned need = 0;
        for (std::size_t i = 0; i < wanted.size(); ++i) {
          if (set >> i & 1) need |= 1u << wanted[i];
        }
        double best = kInf;
        for (unsigned have = 0; have < search.size(); ++have) {
          if ((need & ~have) == 0) best = std::min(best, search[have]);
        }
        ASSERT_EQ(trees.cost(root, set), best) << "round " << round << " root " << root;
        if (best == kInf) continue;
        unsigned have = 1u << root;
        double sum = 0;
        trees.walk(root, set, [&](int from, int to) {
          EXPECT_TRUE(have >> from & 1);
          have |= 1u << to;
          sum += convert[static_cast<std::size_t>(from * formats + to)];
        });
        EXPECT_EQ(sum, best);
        EXPECT_EQ(need & ~have, 0u);
      }
    }
  }
}

/// A value that one of several nodes reads in one of more layouts than have a table of their own.
TEST(Solve, ManyLayouts) {
  std::mt19937 rng(7);
  for (int round = 0; round < 2; ++round) {
    Problem p;
    Problem::Value value;
    value.layouts = kMostLayouts;
    for (int i = 0; i < kMostLayouts * kMostLayouts; ++i) {
      value.convert.push_back(i % (kMostLayouts + 1) == 0 ? 0 : 1 + static_cast<double>(rng() % 9));
    }
    value.given = 0;
    p.values.push_back(value);
    for (int reader = 0; reader < 3; ++reader) {
      Problem::Node node;
      node.inputs = {0};
      for (int layout = 0; layout < kMostLayouts; ++layout) {
        node.choices.push_back({static_cast<double>(rng() % 9), {layout}, {}});
      }
      p.nodes.push_back(node);
    }
    double best = kInf;
    for (int a = 0; a < kMostLayouts; ++a) {
      for (int b = 0; b < kMostLayouts; ++b) {
        for (int c = 0; c < kMostLayouts; ++c) best = std::min(best, evaluate(p, {a, b, c}).cost);
      }
    }
    const Solution s = solve(p);
    EXPECT_TRUE(s.optimal);
    EXPECT_EQ(s.cost, best);
  }
}

}  // namespace
}  // namespace stowage::plan
