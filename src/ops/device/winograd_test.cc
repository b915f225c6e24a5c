// SPDX-License-Identifier: Apache-2.0
// Convolution by Winograd's F(2 x 2, 3 x 3) on a device against the reference.
#include <cmath>

#include "kernels/window/winograd_device.h"
#include "ops/device/test_util.h"

namespace stowage {
namespace {

using op_test::check_device;
using op_test::In;
using op_test::OpCase;

OpCase op_case(const Ints& x, std::int64_t out, const Ints& pads, bool bias = false) {
  OpCase c{.op = "conv", .attrs = {{"pads", pads}}};
  c.inputs = {{.extents = x}, {.extents = {out, x[1], 3, 3}, .constant = true}};
  if (bias) c.inputs.push_back({.extents = {out}, .constant = true});
  return c;
}

TEST(DeviceWinograd, EveryChannelCount) {
  for (std::int64_t channels = 1; channels <= 33; ++channels) {
    check_device(op_case({1, channels, 4, 5}, 34 - channels, {1, 1, 1, 1}, channels % 2 == 0),
                 "cl_winograd", channels % 8 == 1);
  }
}

/// Results that tiles do not divide, several images and blocks of channels: what lies beside an
/// edge of the image in memory is another row's, block's or image's.
TEST(DeviceWinograd, EveryEdge) {
  const Ints pads[] = {{0, 0, 0, 0}, {1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0},
                       {0, 0, 0, 1}, {1, 1, 1, 1}, {2, 2, 2, 2}, {5, 4, 3, 6}};
  for (const Ints& p : pads) {
    check_device(op_case({3, 9, 5, 6}, 10, p, true), "cl_winograd");
    check_device(op_case({2, 5, 6, 3}, 4, p), "cl_winograd", false);
  }
}

/// One item has all input channels of a tile, and groups stick out.
TEST(DeviceWinograd, LargeResults) {
  check_device(op_case({1, 3, 70, 75}, 37, {1, 1, 1, 1}, true), "cl_winograd");
  check_device(op_case({2, 6, 1, 301}, 72, {1, 1, 1, 1}), "cl_winograd", false);
}

/// Few lists: each is a program of its own.
TEST(DeviceWinograd, Posts) {
  const OpCase plain = op_case({2, 5, 4, 5}, 6, {1, 1, 1, 1}, true);
  const auto cases = op_test::with_post_lists(plain, {2, 6, 4, 5}, {6, 1, 1});
  for (const std::size_t i : {std::size_t{5}, std::size_t{8}, std::size_t{12}}) {
    check_device(cases[i], "cl_winograd", i == 8);
  }
}

/// Weights that nobody knows before a run, and windows that are others, are no tiles.
TEST(DeviceWinograd, OtherConvolutionsAreDirect) {
  OpCase computed = op_case({1, 6, 4, 5}, 5, {1, 1, 1, 1});
  computed.inputs[1].constant = false;
  OpCase strided = op_case({1, 6, 4, 5}, 5, {1, 1, 1, 1});
  strided.attrs["strides"] = Ints{1, 2};
  OpCase dilated = op_case({1, 6, 7, 8}, 5, {1, 1, 1, 1});
  dilated.attrs["dilations"] = Ints{2, 1};
  OpCase grouped = op_case({1, 8, 4, 5}, 8, {1, 1, 1, 1});
  grouped.inputs[1].extents = {8, 4, 3, 3};
  grouped.attrs["group"] = std::int64_t{2};
  for (const OpCase& c : {computed, strided, dilated, grouped}) {
    op_test::OpGraph g(c);
    PlanOptions options;
    options.rates.call_us = 1e6;
    options.device = DeviceOptions{.facts = op_test::eager({})};
    options.device->avoid = {"cl_conv"};
    const PlanReport planned = report(*make_plan(std::make_shared<Graph>(g.graph), options));
    EXPECT_FALSE(planned.nodes.at(0).kernel.starts_with("cl_")) << planned.nodes[0].kernel;
  }
}

PlanReport planned(const OpCase& c, const DeviceRates& rates,
                   const std::vector<std::string>& avoid = {}) {
  op_test::OpGraph g(c);
  PlanOptions options;
  options.rates.call_us = 1e6;
  options.device = DeviceOptions{.facts = {}, .avoid = avoid};
  options.device->facts.rates = rates;
  return report(*make_plan(std::make_shared<Graph>(g.graph), options));
}

/// Single results leave three quarters of a tile unused; and a device may be slow at it.
TEST(DeviceWinograd, IsChosenByPrice) {
  const OpCase large = op_case({1, 64, 56, 56}, 64, {1, 1, 1, 1});
  const OpCase single = op_case({1, 64, 3, 3}, 64, {0, 0, 0, 0});
  DeviceRates fast, slow;
  fast.winograd_compute = 1;
  slow.winograd_compute = 0.4;
  EXPECT_EQ(planned(large, fast).nodes.at(0).kernel, "cl_winograd");
  EXPECT_EQ(planned(large, fast, {"cl_winograd"}).nodes.at(0).kernel, "cl_conv");
  EXPECT_EQ(planned(large, slow).nodes.at(0).kernel, "cl_conv");
  EXPECT_EQ(planned(single, fast).nodes.at(0).kernel, "cl_conv");
}

/// A plan counts the bytes of the filters without computing them.
TEST(DeviceWinograd, FiltersTakeTheirBytes) {
  const std::pair<std::int64_t, std::int64_t> channels[] = {{1, 1}, {4, 5}, {33, 3}, {37, 66}};
  for (const auto& [out, in] : channels) {
    const std::vector<float> weights(static_cast<std::size_t>(out * in * 9), 1.0f);
    const std::vector<const std::byte*> constants = {
        nullptr, reinterpret_cast<const std::byte*>(weights.data())};
    const auto at = [](Ints extents) {
      const Shape shape("nchw", extents);
      return LaunchView{Mapping(Layout::row_major(shape), shape, 4)};
    };
    const LaunchView x[] = {at({1, in, 6, 6}), at({out, in, 3, 3})}, y[] = {at({1, out, 4, 4})};
    Launch filled, counted;
    launch_winograd({}, {x, y, constants}, filled);
    launch_winograd({}, {x, y}, counted);
    const auto& data = std::get<std::vector<float>>(filled.tables.at(0).data);
    EXPECT_EQ(filled.tables[0].bytes, data.size() * sizeof(float));
    EXPECT_EQ(counted.tables.at(0).bytes, filled.tables[0].bytes);
    EXPECT_TRUE(std::get<std::vector<float>>(counted.tables[0].data).empty());
  }
}

/// The filters count as memory of the device, although no operand of the plan is there.
TEST(DeviceWinograd, FiltersCountAsMemory) {
  const OpCase c = op_case({1, 64, 8, 8}, 64, {1, 1, 1, 1});
  op_test::OpGraph g(c);
  PlanOptions options;
  options.rates.call_us = 1e6;
  options.device = DeviceOptions{.facts = op_test::eager({}), .avoid = {"cl_conv"}};
  options.device->facts.memory_bytes = 64 * 64 * 16 * 4;
  EXPECT_THROW((void)make_plan(std::make_shared<Graph>(g.graph), options), Error);
  options.device->facts.memory_bytes += 1 << 20;
  EXPECT_NO_THROW((void)make_plan(std::make_shared<Graph>(g.graph), options));
}

/// The tile's transform mixes neighbours, but never what lies behind an edge.
TEST(DeviceWinograd, WhatIsBehindAnEdgeDoesNotCount) {
  OpCase c = op_case({2, 5, 4, 4}, 6, {0, 0, 0, 0});
  std::vector<float> x(2 * 5 * 4 * 4, 1.0f);
  for (std::size_t i = 5 * 4 * 4; i < x.size(); ++i) x[i] = NAN;  // the second image
  c.inputs[0] = In::of(op_test::floats_tensor({2, 5, 4, 4}, x), false);
  check_device(c, "cl_winograd");
}

}  // namespace
}  // namespace stowage
