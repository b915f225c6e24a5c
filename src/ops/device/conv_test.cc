// SPDX-License-Identifier: Apache-2.0
// Convolution on a device against the reference.
#include "ops/device/test_util.h"

namespace stowage {
namespace {

using op_test::check_device;
using op_test::In;
using op_test::OpCase;

OpCase op_case(const Ints& x, const Ints& k, std::map<std::string, Attribute> attrs = {},
               bool bias = false) {
  OpCase c{.op = "conv", .attrs = std::move(attrs)};
  c.inputs = {{.extents = x}, {.extents = k, .constant = true}};
  if (bias) c.inputs.push_back({.extents = {k[0]}, .constant = true});
  return c;
}

TEST(DeviceConv, EveryChannelCount) {
  for (std::int64_t channels = 1; channels <= 33; ++channels) {
    const std::int64_t out = 34 - channels;
    check_device(op_case({1, channels, 4, 5}, {out, channels, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}},
                         channels % 2 == 0),
                 "cl_conv", channels % 8 == 1);
  }
}

/// Several images and blocks of channels: what lies beside an edge of the image in memory is
/// another row's, block's or image's.
TEST(DeviceConv, EveryEdge) {
  const std::pair<Ints, std::map<std::string, Attribute>> windows[] = {
      {{1, 1}, {}},
      {{1, 1}, {{"strides", Ints{2, 3}}}},
      {{3, 3}, {{"pads", Ints{2, 0, 0, 1}}}},
      {{3, 3}, {{"pads", Ints{0, 2, 1, 0}}, {"strides", Ints{2, 2}}}},
      {{2, 5}, {{"pads", Ints{1, 4, 1, 4}}, {"strides", Ints{1, 3}}}},
      {{3, 3}, {{"pads", Ints{4, 3, 4, 3}}, {"dilations", Ints{2, 3}}}},
      {{7, 7}, {{"pads", Ints{6, 6, 6, 6}}}},
  };
  for (const auto& [kernel, attrs] : windows) {
    check_device(op_case({3, 9, 5, 6}, {10, 9, kernel[0], kernel[1]}, attrs, true), "cl_conv");
  }
}

TEST(DeviceConv, Groups) {
  check_device(op_case({2, 8, 5, 4}, {16, 4, 3, 3}, {{"group", std::int64_t{2}}}, true), "cl_conv");
  check_device(op_case({2, 24, 3, 4}, {12, 8, 1, 1}, {{"group", std::int64_t{3}}}), "cl_conv");
}

/// Several results of a work item, and columns and channels that do not fall into them.
TEST(DeviceConv, LargeResults) {
  check_device(op_case({1, 3, 150, 151}, {43, 3, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}, true),
               "cl_conv", false);
  check_device(op_case({2, 5, 99, 83}, {27, 5, 3, 3}, {{"strides", Ints{2, 1}}}), "cl_conv");
  check_device(op_case({1, 6, 90, 91}, {41, 6, 3, 3}, {{"dilations", Ints{2, 1}}}), "cl_conv",
               false);
  check_device(op_case({1, 16, 45, 83}, {48, 8, 1, 1}, {{"group", std::int64_t{2}}}), "cl_conv",
               false);
  check_device(op_case({1, 3, 70, 515}, {32, 3, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}), "cl_conv",
               false);
  check_device(op_case({1, 2, 401, 83}, {17, 2, 1, 1}), "cl_conv", false);
}

TEST(DeviceConv, Posts) {
  const OpCase plain = op_case({2, 5, 4, 5}, {6, 5, 1, 1}, {}, true);
  for (const OpCase& c : op_test::with_post_lists(plain, {2, 6, 4, 5}, {6})) {
    check_device(c, "cl_conv", false);
  }
}

/// Weights that only the run knows.
TEST(DeviceConv, ComputedWeights) {
  OpCase c = op_case({1, 6, 4, 5}, {5, 6, 3, 2});
  c.inputs[1].constant = false;
  check_device(c, "cl_conv", false);
}

}  // namespace
}  // namespace stowage
