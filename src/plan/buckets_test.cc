// SPDX-License-Identifier: Apache-2.0
// Bucket elimination against enumeration, with room and without.
#include "plan/buckets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace stowage::plan {
namespace {

struct Case {
  std::vector<int> domain;
  std::vector<Factor> factors;
};

/// Sparse random tables over up to three of the variables; the first state is always allowed.
Case random_case(std::mt19937& rng) {
  Case out;
  const int n = 1 + rng() % 7;
  for (int v = 0; v < n; ++v) out.domain.push_back(1 + rng() % 5);
  for (int f = rng() % 12; f > 0; --f) {
    std::vector<int> all(n);
    for (int v = 0; v < n; ++v) all[v] = v;
    std::shuffle(all.begin(), all.end(), rng);
    Factor factor;
    factor.scope.assign(all.begin(), all.begin() + std::min<int>(n, rng() % 4));
    int bits = 0;
    for (int v : factor.scope) bits += state_bits(out.domain[v]);
    for (std::uint64_t at = 0; at < std::uint64_t{1} << bits; ++at) {
      bool inside = true;
      int shift = 0;
      for (int v : factor.scope) {
        const int width = state_bits(out.domain[v]);
        const auto state = at >> shift & ((std::uint64_t{1} << width) - 1);
        inside = inside && state < static_cast<std::uint64_t>(out.domain[v]);
        shift += width;
      }
      if (inside && (at == 0 || rng() % 4 != 0)) {
        factor.rows.push_back({at, {static_cast<int>(rng() % 20), static_cast<int>(rng() % 3)}});
      }
    }
    out.factors.push_back(std::move(factor));
  }
  return out;
}

Key sum_at(const Case& c, const std::vector<int>& states) {
  Key sum;
  for (const Factor& f : c.factors) {
    std::uint64_t at = 0;
    int shift = 0;
    for (int v : f.scope) {
      at |= static_cast<std::uint64_t>(states[v]) << shift;
      shift += state_bits(c.domain[v]);
    }
    const auto row =
        std::find_if(f.rows.begin(), f.rows.end(), [&](const auto& r) { return r.at == at; });
    if (row == f.rows.end()) return kInfinite;
    sum = sum + row->key;
  }
  return sum;
}

Key enumerate(const Case& c) {
  Key best = kInfinite;
  std::vector<int> states(c.domain.size(), 0);
  for (;;) {
    best = std::min(best, sum_at(c, states));
    std::size_t v = 0;
    while (v < states.size() && ++states[v] == c.domain[v]) states[v++] = 0;
    if (v == states.size()) return best;
  }
}

TEST(Buckets, EqualEnumeration) {
  std::mt19937 rng(5);
  for (int round = 0; round < 500; ++round) {
    const Case c = random_case(rng);
    const BucketResult r = eliminate(c.domain, c.factors, {1 << 20, 1 << 24, false});
    ASSERT_TRUE(r.done && r.exact);
    ASSERT_EQ(r.bound, enumerate(c)) << round;
    ASSERT_EQ(sum_at(c, r.states), r.bound);
  }
}

TEST(Buckets, ACeilingThatIsReachedChangesNothing) {
  std::mt19937 rng(7);
  std::size_t all = 0, kept = 0;
  for (int round = 0; round < 500; ++round) {
    const Case c = random_case(rng);
    BucketLimits limits{1 << 20, 1 << 24, false};
    const BucketResult free = eliminate(c.domain, c.factors, limits);
    limits.ceiling = free.bound;
    const BucketResult below = eliminate(c.domain, c.factors, limits);
    ASSERT_TRUE(below.done && below.exact);
    ASSERT_EQ(below.bound, free.bound);
    ASSERT_EQ(sum_at(c, below.states), below.bound);
    all += free.work;
    kept += below.work;
  }
  EXPECT_LT(kept, all);
}

TEST(Buckets, SplitTablesBoundFromBelow) {
  std::mt19937 rng(6);
  int loose = 0;
  for (int round = 0; round < 500; ++round) {
    const Case c = random_case(rng);
    const Key best = enumerate(c);
    const BucketResult r = eliminate(c.domain, c.factors, {8, 0, true});
    ASSERT_TRUE(r.done);
    ASSERT_LE(r.bound, best);
    if (r.exact) {
      ASSERT_EQ(sum_at(c, r.states), best);
    }
    loose += r.bound < best;
    const BucketResult refused = eliminate(c.domain, c.factors, {8, 0, false});
    EXPECT_TRUE(!refused.done || refused.bound == best);
  }
  EXPECT_GT(loose, 0);
}

TEST(Buckets, ImpossibleIsInfinite) {
  const Factor left{{0, 1}, {{0, {}}, {3, {}}}}, right{{0, 1}, {{1, {}}, {2, {}}}};
  const BucketResult r = eliminate({2, 2}, {left, right}, {64, 1024, false});
  EXPECT_TRUE(r.done);
  EXPECT_FALSE(r.bound < kInfinite);
}

TEST(Buckets, WideScopesAndLargeDomains) {
  // A star of large domains: its joins have more common bits than a direct index takes.
  const int states = 700;
  std::vector<Factor> factors;
  for (int leaf : {2, 3}) {
    Factor f{{0, 1, leaf}, {}};
    for (std::uint64_t s = 0; s < states; ++s) {
      const std::int64_t cost = leaf == 2 ? static_cast<std::int64_t>(s) : 2 * (states - 1 - s);
      f.rows.push_back({s | (states - 1 - s) << 10 | s << 20, {cost, 0}});
    }
    std::sort(f.rows.begin(), f.rows.end(),
              [](const auto& a, const auto& b) { return a.at < b.at; });
    factors.push_back(std::move(f));
  }
  const BucketResult r =
      eliminate({states, states, states, states}, factors, {1 << 20, 1 << 24, true});
  EXPECT_TRUE(r.exact);
  EXPECT_EQ(r.bound.cost, states - 1);
  EXPECT_EQ(r.states, (std::vector<int>{states - 1, 0, states - 1, states - 1}));
}

}  // namespace
}  // namespace stowage::plan
