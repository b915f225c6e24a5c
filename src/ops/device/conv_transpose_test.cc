// SPDX-License-Identifier: Apache-2.0
// Transposed convolution on a device against the reference.
#include "ops/device/test_util.h"

namespace stowage {
namespace {

using op_test::check_device;
using op_test::In;
using op_test::OpCase;

using Attrs = std::map<std::string, Attribute>;

OpCase op_case(const Ints& x, const Ints& w, const Attrs& attrs, std::int64_t group = 1,
               bool bias = false) {
  OpCase c{.op = "conv_transpose", .attrs = attrs};
  c.attrs["group"] = group;
  c.inputs = {{.extents = x}, {.extents = w}};
  if (bias) c.inputs.push_back({.extents = {w[1] * group}});
  for (std::size_t i = 1; i < c.inputs.size(); ++i) c.inputs[i].constant = true;
  c.atol = 1e-5;
  return c;
}

constexpr const char* kKernel = "cl_conv_transpose";

TEST(DeviceConvTranspose, MatchesTheReference) {
  for (const std::int64_t channels : {1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 33}) {
    check_device(op_case({2, channels, 3, 4}, {channels, 38 - channels, 3, 2},
                         {{"strides", Ints{2, 1}}, {"pads", Ints{1, 0, 0, 1}}}),
                 kKernel);
  }
  const std::pair<Ints, Attrs> windows[] = {
      {{3, 3}, {}},
      {{2, 2}, {{"strides", Ints{3, 3}}, {"output_padding", Ints{2, 1}}}},
      {{4, 4}, {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}},
      {{3, 2}, {{"strides", Ints{2, 3}}, {"dilations", Ints{2, 3}}, {"pads", Ints{1, 0, 2, 1}}}},
      {{3, 3}, {{"strides", Ints{3, 2}}, {"output_shape", Ints{15, 8}}}},
      {{3, 3}, {{"strides", Ints{2, 2}}, {"auto_pad", std::string("SAME_LOWER")}}},
  };
  for (const auto& [kernel, attrs] : windows) {
    check_device(op_case({1, 5, 4, 3}, {5, 6, kernel[0], kernel[1]}, attrs), kKernel);
  }
}

TEST(DeviceConvTranspose, Groups) {
  const Attrs attrs = {{"strides", Ints{2, 1}}, {"pads", Ints{1, 1, 0, 1}}};
  check_device(op_case({1, 24, 3, 4}, {24, 8, 3, 3}, attrs, 3), kKernel, false);
  check_device(op_case({2, 8, 3, 4}, {8, 12, 3, 3}, attrs, 2), kKernel, false);
  for (const std::int64_t channels : {2, 4, 7, 33}) {
    check_device(op_case({2, channels, 3, 4}, {channels, 1, 3, 4}, attrs, channels, true), kKernel);
  }
}

TEST(DeviceConvTranspose, PostsOverSeveralPixels) {
  const Attrs attrs = {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 2, 0}}};
  const OpCase c = op_case({1, 3, 200, 166}, {3, 5, 5, 4}, attrs, 1, true);
  const Ints y = {1, 5, 400, 333};
  const auto lists = with_post_lists(c, y, {5, 1, 1});
  for (const std::size_t i : {5u, 8u}) check_device(lists[i], kKernel, i == 8);
}

TEST(DeviceConvTranspose, PaddingLetsNoNeighbourIn) {
  OpCase c = op_case({2, 3, 2, 4}, {3, 5, 1, 3}, {{"strides", Ints{1, 2}}});
  std::vector<float> x(2 * 3 * 2 * 4, 1.0f);
  for (std::size_t i = 3; i < x.size(); i += 4) x[i] = NAN;
  c.inputs[0] = In::of(op_test::floats_tensor({2, 3, 2, 4}, x), false);
  check_device(c, kKernel);
}

}  // namespace
}  // namespace stowage
