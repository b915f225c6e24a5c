// SPDX-License-Identifier: Apache-2.0
// Elementwise work on a device against the reference.
#include "ops/device/test_util.h"

namespace stowage {
namespace {

using op_test::check_device;
using op_test::In;
using op_test::OpCase;

OpCase unary(const std::string& op, const Ints& extents,
             std::map<std::string, Attribute> attrs = {}, float lo = -4, float hi = 4) {
  OpCase c{.op = op, .attrs = std::move(attrs)};
  In in;
  in.extents = extents;
  in.lo = lo;
  in.hi = hi;
  c.inputs = {in};
  return c;
}

TEST(DeviceElementwise, Functions) {
  for (const char* op : {"relu",       "neg",
                         "abs",        "sign",
                         "leaky_relu", "sigmoid",
                         "tanh",       "exp",
                         "floor",      "ceil",
                         "round",      "erf",
                         "softplus",   "softsign",
                         "elu",        "selu",
                         "hard_swish", "hard_sigmoid",
                         "mish",       "swish",
                         "gelu",       "thresholded_relu",
                         "expm1"}) {
    check_device(unary(op, {2, 5, 3}), "cl_map", false);
  }
  for (const char* op : {"log", "log1p", "sqrt", "reciprocal"}) {
    check_device(unary(op, {2, 5, 3}, {}, 0.1f, 4), "cl_map", false);
  }
  check_device(unary("gelu", {7}, {{"approximate", std::string("tanh")}}), "cl_map");
}

TEST(DeviceElementwise, EveryRank) {
  for (const Ints& extents : std::vector<Ints>{
           {1}, {4}, {9}, {3, 5}, {2, 3, 5}, {2, 3, 4, 5}, {1, 2, 3, 2, 5}, {2, 1, 2, 3, 2, 3}}) {
    check_device(unary("sigmoid", extents), "cl_map");
  }
}

/// Half precision has no numbers beyond 65504: finite values end there, computed or constant.
TEST(DeviceElementwise, HalvesStayFinite) {
  if (const std::string none = no_opencl(); !none.empty()) GTEST_SKIP() << none;
  const auto device = open_opencl(0, {.fill_nan = true});
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  OpCase c{.op = "add"};
  c.inputs = {In::of(op_test::floats_tensor({7}, {1, -7e4f, 5e4f, nan, 65504, 1, 3}), false),
              In::of(op_test::floats_tensor({7}, {-3.4e38f, -1, 5e4f, 1, 0, -inf, 4}), true)};
  const std::vector<float> want = {-65503, -65504, 65504, nan, 65504, -inf, 7};
  for (const auto memory : {DeviceOptions::Memory::image, DeviceOptions::Memory::buffer}) {
    op_test::OpGraph g(c);
    PlanOptions options;
    options.simplify = false;
    options.device = DeviceOptions{op_test::eager(device->facts()), memory, true};
    options.rates.call_us = 1e6;
    Session session(make_plan(std::make_shared<Graph>(g.graph), options), device);
    session.set_input(0, g.inputs[0].view());
    session.run();
    const auto have = op_test::elements<float>(session.output(0));
    for (std::size_t i = 0; i < want.size(); ++i) {
      EXPECT_TRUE(op_test::close(have[i], want[i], 1e-3, 0)) << i << ": " << have[i];
    }
  }
}

/// A NaN stays one, and functions have their limits.
TEST(DeviceElementwise, Edges) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> edges = {nan, inf, -inf, 0, -0.0f, 1e30f, -1e30f, 90, -90};
  for (const char* op : {"relu", "sigmoid", "tanh", "leaky_relu", "hard_sigmoid", "abs", "sign",
                         "softplus", "elu"}) {
    OpCase c{.op = op};
    c.inputs = {In::of(op_test::floats_tensor({9}, edges), false)};
    check_device(c, "cl_map", false);
  }
  for (const char* op : {"min", "max"}) {
    OpCase c{.op = op};
    c.inputs = {In::of(op_test::floats_tensor({9}, edges), false),
                In::of(op_test::floats_tensor({9}, {0, nan, 1, nan, 0, inf, -inf, nan, 2}), false)};
    check_device(c, "cl_map", false);
  }
}

TEST(DeviceElementwise, Broadcasts) {
  const Ints whole = {2, 5, 3, 6};
  for (const Ints& other : std::vector<Ints>{{2, 5, 3, 6},
                                             {1, 5, 1, 1},
                                             {5, 1, 1},
                                             {1, 1, 3, 6},
                                             {6},
                                             {1},
                                             {},
                                             {2, 1, 3, 1},
                                             {2, 5, 1, 1}}) {
    for (const bool constant : {false, true}) {
      OpCase c{.op = "sub"};
      c.inputs = {{.extents = whole}, {.extents = other, .constant = constant}};
      check_device(c, "cl_map", false);
      std::swap(c.inputs[0], c.inputs[1]);
      check_device(c, "cl_map", false);
    }
  }
}

TEST(DeviceElementwise, Chains) {
  for (const char* op : {"sum", "mean", "max", "min"}) {
    for (const int count : {1, 3, 5}) {
      OpCase c{.op = op};
      for (int i = 0; i < count; ++i) c.inputs.push_back({.extents = {2, 3, 5}});
      check_device(c, "cl_map", false);
    }
  }
}

}  // namespace
}  // namespace stowage
