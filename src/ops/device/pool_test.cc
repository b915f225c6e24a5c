// SPDX-License-Identifier: Apache-2.0
// Max and average pooling on a device against the reference.
#include "ops/device/test_util.h"

namespace stowage {
namespace {

using op_test::check_device;
using op_test::In;
using op_test::OpCase;

using Attrs = std::map<std::string, Attribute>;

void check_pools(const Ints& x, const Attrs& attrs) {
  for (const std::string op : {"max_pool", "average_pool"}) {
    check_device({.op = op, .attrs = attrs, .inputs = {{.extents = x}}}, "cl_pool");
  }
}

TEST(DevicePool, MatchesTheReference) {
  const std::int64_t yes = 1;
  for (const std::int64_t channels : {1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 33}) {
    check_pools({2, channels, 5, 7}, {{"kernel_shape", Ints{3, 2}}, {"pads", Ints{1, 0, 2, 1}}});
  }
  const Attrs windows[] = {
      {{"kernel_shape", Ints{1, 1}}, {"strides", Ints{2, 2}}, {"ceil_mode", yes}},
      {{"kernel_shape", Ints{3, 2}}, {"strides", Ints{2, 3}}, {"ceil_mode", yes}},
      {{"kernel_shape", Ints{3, 3}},
       {"strides", Ints{3, 3}},
       {"pads", Ints{1, 1, 1, 1}},
       {"ceil_mode", yes}},
      {{"kernel_shape", Ints{3, 3}}, {"dilations", Ints{2, 3}}, {"pads", Ints{2, 1, 1, 3}}},
      {{"kernel_shape", Ints{3, 4}},
       {"strides", Ints{2, 2}},
       {"auto_pad", std::string("SAME_LOWER")}},
      // Windows that lie wholly in the padding.
      {{"kernel_shape", Ints{2, 2}}, {"dilations", Ints{9, 1}}, {"pads", Ints{8, 2, 8, 2}}},
  };
  for (Attrs attrs : windows) {
    for (const std::int64_t count_padding : {0, 1}) {
      attrs["count_include_pad"] = count_padding;
      check_pools({1, 5, 7, 8}, attrs);
    }
  }
}

TEST(DevicePool, WholeImages) {
  const std::int64_t yes = 1;
  for (const Ints& x : {Ints{2, 6, 7, 5}, Ints{1, 3, 1, 1}, Ints{1, 33, 1, 9}}) {
    check_pools(x, {{"global", yes}});
  }
}

TEST(DevicePool, IndicesAreNotMadeThere) {
  op_test::OpGraph g({.op = "max_pool",
                      .attrs = {{"kernel_shape", Ints{2, 2}}},
                      .inputs = {{.extents = {1, 5, 6, 6}}},
                      .outputs = 2});
  PlanOptions options;
  options.device = DeviceOptions{.facts = op_test::eager({})};
  const auto plan = make_plan(std::make_shared<Graph>(g.graph), options);
  ASSERT_EQ(report(*plan).nodes.size(), 1u);
  EXPECT_FALSE(report(*plan).nodes[0].kernel.starts_with("cl_")) << report(*plan).nodes[0].kernel;
}

TEST(DevicePool, NanIsTheMaximumAndInfinitiesCount) {
  std::vector<float> x(2 * 3 * 4 * 5, -INFINITY);
  for (std::size_t i = 0; i < x.size(); i += 7) x[i] = i % 2 == 0 ? NAN : INFINITY;
  for (const std::string op : {"max_pool", "average_pool"}) {
    check_device({.op = op,
                  .attrs = {{"kernel_shape", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}},
                  .inputs = {In::of(op_test::floats_tensor({2, 3, 4, 5}, x), false)}},
                 "cl_pool");
  }
}

}  // namespace
}  // namespace stowage
