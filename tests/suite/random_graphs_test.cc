// SPDX-License-Identifier: Apache-2.0
#include "tests/suite/random_graphs.h"

#include <gtest/gtest.h>

namespace stowage::random_graphs {
namespace {

/// Twenty-five seeds from 25 i on. `./dev random COUNT FIRST_SEED` runs more.
class RandomGraphs : public testing::TestWithParam<int> {};

TEST_P(RandomGraphs, AgreeWithTheirReferences) {
  for (int i = 0; i < 25; ++i) {
    const auto seed = static_cast<std::uint64_t>(25 * GetParam() + i);
    EXPECT_EQ(run_seed(seed), "") << "./dev random 1 " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGraphs, testing::Range(0, 4));

TEST(RandomGraphsSeed, IsAlwaysTheSameGraph) {
  for (std::uint64_t seed : {3u, 14u, 15u}) {
    EXPECT_EQ(describe(make_case(seed)), describe(make_case(seed)));
  }
}

}  // namespace
}  // namespace stowage::random_graphs
