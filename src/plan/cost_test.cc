// SPDX-License-Identifier: Apache-2.0
// What the planner expects of kernels.
#include "plan/cost.h"

#include <gtest/gtest.h>

#include "plan/plan.h"
#include "plan/test_net.h"

namespace stowage {
namespace {

/// A machine that multiplies at once.
PlanOptions options_with(double cached_mb, int threads = 1) {
  PlanOptions options;
  options.threads = threads;
  options.rates.call_us = 0;
  options.rates.gflops_per_lane = 1e6;
  options.rates.kernel_gb_per_s = 20;
  options.rates.memory_gb_per_s = 5;
  options.rates.cached_mb = cached_mb;
  return options;
}

TEST(Cost, WeightsThatNoCacheHoldsComeFromMemory) {
  const auto us = [](double cached_mb, int threads) {
    Net net;
    const ValueId y = net.add("matmul", {net.input({1, 512}), net.weights({512, 1024})});
    return make_plan(net.finish({y}), options_with(cached_mb, threads))->nodes[0].cost_us;
  };
  EXPECT_NEAR(us(16, 1), 512 * 1024 * 4 / 20e3, 1);
  EXPECT_NEAR(us(1, 1) / us(16, 1), 4, 0.05);
  // Caches are as many as threads; the memory is one.
  EXPECT_NEAR(us(16, 1) / us(16, 4), 4, 0.05);
  EXPECT_NEAR(us(1, 1) / us(1, 4), 2, 0.05);
}

TEST(Cost, FiltersOfWinogradAreMoreToRead) {
  const auto kernel = [](double cached_mb) {
    Net net;
    const ValueId y = net.conv(net.input({1, 64, 56, 56}), 64, 64);
    PlanOptions options = options_with(cached_mb);
    options.rates.gflops_per_lane = 8;
    options.rates.memory_gb_per_s = 1e-3;
    return make_plan(net.finish({y}), options)->nodes[0].kernel;
  };
  EXPECT_TRUE(kernel(16).starts_with("conv_winograd")) << kernel(16);
  EXPECT_FALSE(kernel(0.01).starts_with("conv_winograd")) << kernel(0.01);
}

// Where lanes are few, the peak is low; what goes element by element is as fast as anywhere.
TEST(Cost, KernelsAreNotSlowerThanTheirReference) {
  constexpr double kElements = 1e6;
  const Rates rates;
  const Offer by_element{.flops = 20 * kElements, .efficiency = 0.001};
  const double reference = plan::reference_us(rates, by_element.flops, kElements);
  for (const int lanes : {1, 4, 16}) {
    const Target target{.lanes = lanes};
    EXPECT_LT(plan::kernel_us(rates, target, by_element, 8 * kElements, 0), reference) << lanes;
    const Offer pieces{.pieces = 1000};
    EXPECT_NEAR(plan::kernel_us(rates, target, pieces, 0, 0), 4 + rates.call_us, 1e-9) << lanes;
  }
}

TEST(Cost, ACopyOfAPartReadsThatPart) {
  const auto bytes = [](std::int64_t extent) {
    Net net;
    Attributes part;
    part.set("starts", Ints{0, 0, 3, 2});
    part.set("ends", Ints{1, 8, 7, 6});
    part.set("axes", Ints{0, 1, 2, 3});
    const ValueId y = net.add("slice", {net.input({1, 8, extent, extent})}, part);
    return make_plan(net.finish({y}))->nodes[0].bytes;
  };
  EXPECT_EQ(bytes(8), bytes(100));
  EXPECT_EQ(bytes(8), 2 * 8 * 4 * 4 * sizeof(float));
}

}  // namespace
}  // namespace stowage
