// SPDX-License-Identifier: Apache-2.0
#include "kernels/peaks.h"

#include <gtest/gtest.h>

#include <vector>

namespace stowage {
namespace {

TEST(PeakLoops, DoWhatTheySay) {
  for (const std::int64_t groups : {1, 2, 5}) {
    const std::int64_t count = groups * kPeakGroup;
    const auto size = static_cast<std::size_t>(count);
    std::vector<float> x(size), y(size), z(size, -1.0f);
    float sum = 0;
    for (std::size_t i = 0; i < size; ++i) {
      x[i] = static_cast<float>(i % 17);
      y[i] = static_cast<float>(i % 5);
      sum += x[i];
    }
    EXPECT_EQ(read_all(x.data(), count), sum) << count;
    triad(z.data(), x.data(), y.data(), count);
    for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(z[i], x[i] / 2 + y[i]) << i;
  }
}

TEST(PeakLoops, MultiplyAddsAreAsManyAsTheyAreCountedFor) {
  // Every chain starts from its number, in all lanes, and is multiplied and added to in each step.
  constexpr int kSteps = 7, kChains = 12;
  const std::int64_t lanes = multiply_adds_flops() / (2 * kChains);
  ASSERT_EQ(lanes * 2 * kChains, multiply_adds_flops());
  double sum = 0;
  for (int chain = 0; chain < kChains; ++chain) {
    double value = chain;
    for (int s = 0; s < kSteps; ++s) value = value * 0.999 + 0.001;
    sum += value * static_cast<double>(lanes);
  }
  EXPECT_NEAR(multiply_adds(kSteps), sum, 1e-4 * sum);
}

}  // namespace
}  // namespace stowage
