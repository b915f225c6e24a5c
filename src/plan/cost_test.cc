// SPDX-License-Identifier: Apache-2.0
// What the planner expects of kernels whose time goes into reading weights.
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

}  // namespace
}  // namespace stowage
