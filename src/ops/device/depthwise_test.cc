// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution on a device against the reference.
#include "ops/device/test_util.h"

namespace stowage {
namespace {

using op_test::check_device;
using op_test::In;
using op_test::OpCase;

/// `multiplier` output channels for each of the channels of x.
OpCase op_case(const Ints& x, std::int64_t multiplier, const Ints& kernel,
               std::map<std::string, Attribute> attrs, bool bias = false) {
  OpCase c{.op = "conv", .attrs = std::move(attrs)};
  c.attrs["group"] = x[1];
  c.inputs = {{.extents = x}, {.extents = {x[1] * multiplier, 1, kernel[0], kernel[1]}}};
  if (bias) c.inputs.push_back({.extents = {x[1] * multiplier}});
  for (std::size_t i = 1; i < c.inputs.size(); ++i) c.inputs[i].constant = true;
  return c;
}

TEST(DeviceDepthwise, MatchesTheReference) {
  for (const std::int64_t channels : {1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 33}) {
    check_device(op_case({2, channels, 5, 7}, 1, {3, 3}, {{"pads", Ints{1, 1, 1, 1}}}),
                 "cl_depthwise");
  }
  const std::pair<Ints, std::map<std::string, Attribute>> windows[] = {
      {{1, 1}, {}},
      {{3, 2}, {{"strides", Ints{2, 1}}, {"pads", Ints{0, 1, 2, 0}}}},
      {{2, 5}, {{"strides", Ints{1, 3}}, {"pads", Ints{1, 4, 0, 3}}}},
      {{3, 3}, {{"dilations", Ints{2, 3}}, {"pads", Ints{3, 2, 1, 4}}}},
      {{7, 9}, {{"pads", Ints{5, 6, 6, 5}}}},
  };
  for (const auto& [kernel, attrs] : windows) {
    check_device(op_case({1, 6, 6, 8}, 1, kernel, attrs), "cl_depthwise");
  }
}

TEST(DeviceDepthwise, SeveralOutputsOfAChannel) {
  for (const std::int64_t channels : {2, 3, 4, 5, 9}) {
    for (const std::int64_t multiplier : {2, 3, 4, 5}) {
      check_device(op_case({2, channels, 4, 5}, multiplier, {3, 2},
                           {{"pads", Ints{1, 1, 1, 0}}, {"strides", Ints{1, 2}}}, true),
                   "cl_depthwise");
    }
  }
}

/// One of the multipliers is that of an ordinary convolution.
TEST(DeviceDepthwise, OneChannelForAllOutputs) {
  check_device(op_case({1, 1, 4, 5}, 6, {3, 3}, {}), "cl_conv", false);
}

/// A device's offer leaves the choice to prices.
TEST(DeviceDepthwise, OrdinaryConvolutionHasTheProcessorToo) {
  op_test::OpGraph g(
      {.op = "conv",
       .inputs = {{.extents = {1, 8, 6, 6}}, {.extents = {8, 8, 3, 3}, .constant = true}}});
  DeviceFacts slow;
  slow.rates.launch_us = 1e9;
  PlanOptions options;
  options.device = DeviceOptions{.facts = slow};
  const auto plan = make_plan(std::make_shared<Graph>(g.graph), options);
  ASSERT_EQ(report(*plan).nodes.size(), 1u);
  EXPECT_TRUE(report(*plan).nodes[0].kernel.starts_with("conv_")) << report(*plan).nodes[0].kernel;
}

TEST(DeviceDepthwise, PostsOverSeveralPixels) {
  const OpCase c = op_case({1, 5, 400, 331}, 1, {3, 3}, {{"pads", Ints{1, 1, 1, 1}}}, true);
  const auto lists = with_post_lists(c, {1, 5, 400, 331}, {5, 1, 1});
  for (const std::size_t i : {5u, 8u}) check_device(lists[i], "cl_depthwise", i == 8);
}

/// Rows that windows share, of several results below one another.
TEST(DeviceDepthwise, LargeResults) {
  const std::pair<Ints, std::map<std::string, Attribute>> windows[] = {
      {{3, 3}, {{"pads", Ints{1, 1, 1, 1}}}},
      {{3, 3}, {{"strides", Ints{2, 2}}, {"pads", Ints{0, 0, 1, 1}}}},
      {{5, 5}, {{"pads", Ints{2, 2, 2, 2}}}},
      {{3, 3}, {{"dilations", Ints{2, 2}}}},
      {{2, 3}, {{"strides", Ints{3, 1}}}},
  };
  for (const auto& [kernel, attrs] : windows) {
    check_device(op_case({2, 9, 151, 163}, 1, kernel, attrs), "cl_depthwise");
  }
  check_device(op_case({1, 5, 101, 103}, 3, {3, 3}, {}), "cl_depthwise", false);
}

TEST(DeviceDepthwise, PaddingLetsNoNeighbourIn) {
  // NaN in the last column of each row and the last row of each image.
  OpCase c = op_case({2, 5, 3, 4}, 1, {1, 3}, {{"pads", Ints{0, 1, 0, 1}}});
  std::vector<float> x(2 * 5 * 3 * 4, 1.0f);
  for (std::size_t i = 3; i < x.size(); i += 4) x[i] = NAN;
  c.inputs[0] = In::of(op_test::floats_tensor({2, 5, 3, 4}, x), false);
  check_device(c, "cl_depthwise");
}

}  // namespace
}  // namespace stowage
