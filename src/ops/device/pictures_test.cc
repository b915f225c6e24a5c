// SPDX-License-Identifier: Apache-2.0
// What reads pictures, whose texels are channels, on a device: a convolution and an operator behind
// it, compared with the CPU.
#include "ops/device/test_util.h"

namespace stowage {
namespace {

using op_test::eager;
using op_test::elements;

struct Case {
  std::string op;
  std::map<std::string, Attribute> attrs;
  std::vector<Ints> constants = {};
};

/// `first`, then the case.
Graph graph_of(const Case& first, const Case& c, const Shape& shape) {
  std::mt19937 random(11);
  Graph graph;
  Value x;
  x.name = "x";
  x.shape = shape;
  x.dtype = DType::f32;
  ValueId value = graph.add_value(x);
  graph.inputs = {value};
  const auto add = [&](const std::string& op, const std::map<std::string, Attribute>& attrs,
                       const std::vector<Ints>& constants) {
    Node n;
    n.op = find_op(op);
    ASSERT_NE(n.op, nullptr);
    n.name = op;
    for (const auto& [k, v] : attrs) n.attrs.set(k, v);
    n.inputs = {value};
    for (const Ints& extents : constants) {
      n.inputs.push_back(graph.add_constant(
          text(op, n.inputs.size()), op_test::random_tensor(DType::f32, extents, -1, 1, random)));
    }
    Value y;
    y.name = text("of ", op);
    value = graph.add_value(y);
    n.outputs = {value};
    infer_node(graph, graph.add_node(std::move(n)));
  };
  add(first.op, first.attrs, first.constants);
  add(c.op, c.attrs, c.constants);
  graph.outputs = {value};
  name_axes(graph);
  return graph;
}

void check(const Case& first, const Case& c, const Shape& shape, std::string_view kernel) {
  if (const std::string none = no_opencl(); !none.empty()) GTEST_SKIP() << none;
  static const std::shared_ptr<Device> device = open_opencl();
  SCOPED_TRACE(text(c.op, " of ", shape.text()));
  const Graph graph = graph_of(first, c, shape);
  std::mt19937 random(5);
  const Ints extents(shape.extents().begin(), shape.extents().end());
  const Tensor x = op_test::random_tensor(DType::f32, extents, -2, 2, random);
  PlanOptions options;
  options.simplify = false;
  const auto run = [&](const std::shared_ptr<Device>& on) {
    const auto plan = make_plan(std::make_shared<Graph>(graph), options);
    EXPECT_EQ(report(*plan).nodes.size(), 2u);
    if (on != nullptr) {
      EXPECT_EQ(report(*plan).nodes.back().kernel, kernel) << explain(*plan);
    }
    Session session(plan, on);
    session.set_input(0, x.view());
    session.run();
    return elements<float>(session.output(0));
  };
  const auto want = run(nullptr);
  options.rates.call_us = 1e6;
  for (const bool images : {true, false}) {
    SCOPED_TRACE(images ? "images" : "buffers");
    options.device = DeviceOptions{eager(device->facts()), memory_of(images)};
    const auto have = run(device);
    ASSERT_EQ(have.size(), want.size());
    for (std::size_t e = 0; e < want.size(); ++e) {
      ASSERT_TRUE(op_test::close(have[e], want[e], 1e-4, 1e-4))
          << "element " << e << " is " << have[e] << ", not " << want[e];
    }
  }
}

TEST(DevicePictures, Rows) {
  const auto one = [](std::int64_t v) { return std::int64_t{v}; };

  const struct {
    Case c;
    std::string_view kernel;
  } cases[] = {
      {{"softmax", {{"axis", one(1)}}}, "cl_softmax"},
      {{"softmax", {{"axis", one(3)}}}, "cl_softmax"},
      {{"softmax", {{"axis", one(1)}, {"flatten", one(1)}}}, "cl_softmax"},
      {{"reduce_mean", {{"axes", Ints{2, 3}}, {"keepdims", one(1)}}}, "cl_reduce"},
      {{"reduce_mean", {{"axes", Ints{2, 3}}, {"keepdims", one(0)}}}, "cl_reduce"},
      {{"reduce_max", {{"axes", Ints{1}}, {"keepdims", one(1)}}}, "cl_reduce"},
      {{"reduce_max", {{"axes", Ints{1}}, {"keepdims", one(0)}}}, "cl_reduce"},
      {{"layer_norm", {{"axis", one(1)}}, {{3, 6}, {6}}}, "cl_norm"},
      {{"layer_norm", {{"axis", one(3)}}, {{6}}}, "cl_norm"},
      {{"matmul", {}, {{6, 5}}}, "cl_gemm"},
  };

  for (const auto& [c, kernel] : cases) {
    for (const std::int64_t channels : {1, 3, 5, 9}) {
      const Case conv{"conv", {}, {{channels, channels, 1, 1}}};
      check(conv, c, Shape("nchw", {2, channels, 3, 6}), kernel);
    }
  }
}

/// Rows of whole texels are the same bytes in the order of the file: either layout may stand for
/// both.
TEST(DevicePictures, RowsInTheOrderOfTheFile) {
  const Case relu{"relu", {}};
  const Ints axis = {0};
  for (const std::int64_t length : {4, 8, 12, 6}) {
    const Shape shape("abc", {3, 2, length});
    check(relu, {"reduce_mean", {{"axes", axis}}}, shape, "cl_reduce");
    check(relu, {"reduce_max", {{"axes", Ints{2}}}}, shape, "cl_reduce");
    check(relu, {"softmax", {{"axis", std::int64_t{2}}}}, shape, "cl_softmax");
    check(relu, {"matmul", {}, {{length, 8}}}, shape, "cl_gemm");
    check(relu, {"transpose", {{"perm", Ints{2, 0, 1}}}}, shape, "cl_move");
  }
  // Behind the channels there is nothing but one pixel.
  for (const std::int64_t channels : {4, 8, 6}) {
    const Shape pooled("abcd", {2, channels, 1, 1});
    check(relu, {"softmax", {{"axis", std::int64_t{1}}}}, pooled, "cl_softmax");
    check(relu, {"reduce_sum", {{"axes", Ints{1}}}}, pooled, "cl_reduce");
  }
}

}  // namespace
}  // namespace stowage
