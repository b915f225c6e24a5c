// SPDX-License-Identifier: Apache-2.0
// Local response normalisation on a device against the reference.
#include "ops/device/test_util.h"

namespace stowage {
namespace {

using op_test::check_device;
using op_test::In;
using op_test::OpCase;

OpCase op_case(const Ints& x, std::int64_t size, float alpha = 0.5f) {
  return {.op = "lrn",
          .attrs = {{"size", size}, {"alpha", alpha}, {"beta", 0.6f}, {"bias", 1.5f}},
          .inputs = {{.extents = x}}};
}

TEST(DeviceLrn, MatchesTheReference) {
  for (const std::int64_t channels : {1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 33}) {
    for (const std::int64_t size : {1, 2, 5, 8, 41}) {
      check_device(op_case({2, channels, 3, 5}, size), "cl_lrn", size == 5);
    }
  }
  check_device(op_case({2, 7, 5}, 3), "cl_lrn", false);
  check_device(op_case({3, 9}, 4), "cl_lrn", false);
}

/// Windows that reach further than an int counts hold all channels.
TEST(DeviceLrn, WindowsOfAnySize) {
  for (const std::int64_t size : {(std::int64_t{1} << 31) + 1, (std::int64_t{1} << 33) + 2}) {
    check_device(op_case({2, 7, 3, 5}, size, 1e10f), "cl_lrn", false);
  }
}

/// The last channel and the reach of its window make a sum of ints.
TEST(DeviceLrn, MoreChannelsThanKernelsCountStayOnTheCpu) {
  for (const int bits : {28, 30}) {
    Graph graph;
    Value x;
    x.name = "x";
    x.shape = Shape("nchw", {1, (std::int64_t{1} << bits) + 1, 1, 1});
    Node node;
    node.op = find_op("lrn");
    node.attrs.set("size", std::int64_t{1} << 40);
    node.inputs = {graph.add_value(x)};
    node.outputs = {graph.add_value(Value{.name = "y"})};
    graph.inputs = node.inputs;
    graph.outputs = node.outputs;
    graph.add_node(std::move(node));
    infer_shapes(graph);
    PlanOptions options;
    options.device.emplace();
    options.device->facts.allocation_bytes = options.device->facts.memory_bytes = 1LL << 40;
    options.device->facts = op_test::eager(options.device->facts);
    options.rates.call_us = 1e6;
    const auto plan = make_plan(std::make_shared<Graph>(std::move(graph)), options);
    EXPECT_EQ(report(*plan).nodes.at(0).kernel == "cl_lrn", bits == 28);
  }
}

TEST(DeviceLrn, NanReachesItsWindowAlone) {
  OpCase c = op_case({1, 11, 2, 3}, 3);
  std::vector<float> x(11 * 2 * 3, 1.0f);
  x[4 * 6 + 1] = NAN;
  c.inputs[0] = In::of(op_test::floats_tensor({1, 11, 2, 3}, x), false);
  check_device(c, "cl_lrn");
}

}  // namespace
}  // namespace stowage
