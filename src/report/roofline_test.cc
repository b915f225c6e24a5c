// SPDX-License-Identifier: Apache-2.0
#include "report/roofline.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace stowage {
namespace {

/// A flop takes 10 ps; a byte 10, 20 or 100.
Peaks peaks() {
  Peaks out;
  out.gflops = 100;
  out.levels = {{"L2", 1'000'000, 100},
                {"L3", 10'000'000, 50},
                {"memory", std::numeric_limits<std::size_t>::max(), 10}};
  return out;
}

/// A plan of one step.
PlanReport plan_of(NodeReport node) {
  PlanReport plan;
  plan.lanes = 8;
  node.node = 7;
  plan.steps.push_back({PlanReport::Step::Kind::call, "step", "op", node.kernel, 7, -1});
  plan.nodes.push_back(std::move(node));
  return plan;
}

NodeReport node(std::string kernel, double flops, double bytes, double weight_bytes = 0) {
  NodeReport out;
  out.kernel = std::move(kernel);
  out.flops = flops;
  out.bytes = bytes;
  out.weight_bytes = weight_bytes;
  out.cost_us = 100;
  return out;
}

TEST(Roofline, ALimitIsTheLongerOfArithmeticAndBytes) {
  const struct {
    double flops, bytes, weight_bytes;
    std::size_t model_bytes;
    double us;
    const char* bound;
  } cases[] = {
      {1e7, 1e5, 0, 0, 100, "arithmetic"},
      {1e4, 1e5, 0, 0, 1, "L2"},
      {1e4, 1e6, 0, 0, 10, "L2"},
      {1e4, 2e6, 0, 0, 40, "L3"},
      {1e4, 2e7, 0, 0, 2000, "memory"},
      // Weights are where the model fits, tensors where they fit themselves.
      {1e4, 5e5, 4e5, 20'000'000, 41, "memory"},
      {1e4, 5e5, 1e5, 2'000'000, 6, "L2"},
      {0, 0, 0, 0, 0, "arithmetic"},
  };

  for (const auto& c : cases) {
    PlanReport plan = plan_of(node("k", c.flops, c.bytes, c.weight_bytes));
    plan.weight_bytes = c.model_bytes;
    const std::vector<StepLimit> limits = step_limits(plan, peaks());
    ASSERT_EQ(limits.size(), 1u);
    EXPECT_NEAR(limits[0].us, c.us, 1e-9) << c.flops << " " << c.bytes;
    EXPECT_EQ(limits[0].bound, c.bound) << c.flops << " " << c.bytes;
    EXPECT_EQ(limits[0].predicted_us, 100);
  }
}

TEST(Roofline, ConversionsAreStepsToo) {
  PlanReport plan;
  ConversionReport conversion;
  conversion.from = "NCHW";
  conversion.to = "NHWC";
  conversion.bytes = 100'000;
  conversion.cost_us = 3;
  plan.conversions.push_back(conversion);
  plan.steps.push_back({PlanReport::Step::Kind::convert, "x", "", "", -1, 0});
  plan.steps.push_back({PlanReport::Step::Kind::convert, "x", "", "", -1, -1});
  const std::vector<StepLimit> limits = step_limits(plan, peaks());
  ASSERT_EQ(limits.size(), 2u);
  EXPECT_NEAR(limits[0].us, 1, 1e-9);
  EXPECT_EQ(limits[0].predicted_us, 3);
  EXPECT_EQ(limits[1].us, 0) << "nothing is known of it";
  const double us[] = {5, 2};
  const std::vector<FarStep> far = furthest_steps(plan, peaks(), us, 5);
  ASSERT_EQ(far.size(), 2u);
  EXPECT_EQ(far[0].why, "moves NCHW to NHWC and computes nothing");
}

TEST(Roofline, TheFurthestAreThoseWithMostTimeToGain) {
  PlanReport plan;
  const double limits[] = {10, 100, 50, 30};
  for (int i = 0; i < 4; ++i) {
    NodeReport n = node("k", limits[i] * 1e5, 0);
    n.node = i;
    plan.steps.push_back({PlanReport::Step::Kind::call, "", "", "k", i, -1});
    plan.nodes.push_back(n);
  }
  const double us[] = {40, 120, 50, 45};  // 30, 20, 0 and 15 above
  const std::vector<FarStep> two = furthest_steps(plan, peaks(), us, 2);
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].step, 0u);
  EXPECT_EQ(two[1].step, 1u);
  EXPECT_EQ(furthest_steps(plan, peaks(), us, 9).size(), 3u) << "one is at its limit";
}

TEST(Roofline, SaysWhy) {
  const auto with_results = [](NodeReport n, const std::vector<std::int64_t>& extents) {
    NodeReport::Operand out;
    out.shape = Shape("nchw", extents);
    n.outputs.push_back(out);
    return n;
  };
  NodeReport pieces = node("slice", 0, 8e5);
  pieces.pieces = 1000;

  const struct {
    NodeReport node;
    double us;
    const char* why;
  } cases[] = {
      {node("conv_blocked", 1e4, 0), 100, "so little work that beginning and ending it counts"},
      {pieces, 100, "moved in 1000 pieces of 400 bytes"},
      {node("average_pool", 1e7, 0), 110,
       "each tap is loaded for one operation, so that loads set the pace"},
      {node("conv_depthwise", 1e7, 0), 110,
       "but for squares of 3 and 5 with strides of 1 and 2 each tap is loaded for one operation"},
      {node("reference", 1e7, 0), 110, "plain loops: no kernel takes these layouts and types"},
      // 9 channels of two vectors of 8; 16 products for each of 64 * 3125 results; neither.
      {with_results(node("conv_blocked", 6.4e6, 0), {1, 9, 10, 10}), 110,
       "its channels fill 56 % of the vectors of 8"},
      {with_results(node("conv_blocked", 6.4e6, 0), {1, 64, 25, 125}), 110,
       "only 16 products for each result, which is stored after them"},
      {with_results(node("conv_blocked", 6.4e6, 0), {1, 64, 10, 10}), 110,
       "as the planner expects of conv_blocked for this shape"},
      {with_results(node("conv_blocked", 6.4e6, 0), {1, 64, 10, 10}), 200,
       "2.0 times what the planner expects"},
      {node("average_pool", 1e7, 0), 300,
       "each tap is loaded for one operation, so that loads set the pace; 3.0 times what the "
       "planner expects"},
  };

  for (const auto& c : cases) {
    const std::vector<FarStep> far = furthest_steps(plan_of(c.node), peaks(), {{c.us}}, 1);
    ASSERT_EQ(far.size(), 1u) << c.why;
    EXPECT_EQ(far[0].why, c.why);
  }
}

}  // namespace
}  // namespace stowage
