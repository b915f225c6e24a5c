// SPDX-License-Identifier: Apache-2.0
#include "graph/graph.h"

#include <gtest/gtest.h>

#include "graph/op_def.h"
#include "graph/patch.h"
#include "stowage/error.h"

namespace stowage {
namespace {

void infer_same(const InferRef& n) { n.set_output(0, n.dtype(0), n.shape(0).extents()); }

void add_one(const ReferenceArgs& a) {
  for (std::int64_t i = 0; i < a.in[0].mapping.shape().elements(); ++i) {
    a.output<float>(0)[i] = a.input<float>(0)[i] + 1;
  }
}

const OpDef kAddOne{.name = "add_one", .aliases = {}, .infer = infer_same, .reference = add_one};

void infer_swapped(const InferRef& n) {
  n.set_output(0, n.dtype(0), {n.shape(0)[1], n.shape(0)[0]});
}

void swapped_axes(const NodeRef& n, AxisLinks& links) {
  links.link(n.node().inputs[0], 0, n.node().outputs[0], 1);
  links.link(n.node().inputs[0], 1, n.node().outputs[0], 0);
}

const OpDef kSwap{.name = "swap",
                  .aliases = {},
                  .infer = infer_swapped,
                  .reference = nullptr,
                  .offers = nullptr,
                  .axes = swapped_axes};

void names_nc(const NodeRef& n, AxisLinks& links) {
  links.name(n.node().inputs[0], 0, "n");
  links.name(n.node().inputs[0], 1, "c");
  link_elementwise(n, links);
}

const OpDef kNamed{.name = "named",
                   .aliases = {},
                   .infer = infer_same,
                   .reference = add_one,
                   .offers = nullptr,
                   .axes = names_nc};

struct Chain {
  Graph graph;
  std::vector<ValueId> values;

  explicit Chain(std::vector<const OpDef*> ops) {
    values.push_back(graph.add_value({.name = "x", .shape = Shape("ab", {2, 3})}));
    graph.inputs = {values[0]};
    for (const OpDef* op : ops) {
      values.push_back(graph.add_value({.name = "v" + std::to_string(values.size())}));
      Node n;
      n.op = op;
      n.name = "n" + std::to_string(values.size() - 1);
      n.inputs = {values[values.size() - 2]};
      n.outputs = {values.back()};
      graph.add_node(std::move(n));
    }
    graph.outputs = {values.back()};
  }
};

TEST(Graph, OrdersNodesThatWereAddedBackwards) {
  Graph g;
  const ValueId x = g.add_value({.name = "x"}), y = g.add_value({.name = "y"}),
                z = g.add_value({.name = "z"});
  g.inputs = {x};
  Node second, first;
  second.op = first.op = &kAddOne;
  second.inputs = {y};
  second.outputs = {z};
  first.inputs = {x};
  first.outputs = {y};
  g.add_node(second);
  g.add_node(first);
  EXPECT_EQ(g.topological_order(), (std::vector<NodeId>{NodeId(1), NodeId(0)}));
}

TEST(Graph, NamesANodeOnACycle) {
  Graph g;
  const ValueId x = g.add_value({.name = "x"}), y = g.add_value({.name = "y"});
  Node a, b;
  a.op = b.op = &kAddOne;
  a.name = "a";
  b.name = "b";
  a.inputs = {y};
  a.outputs = {x};
  b.inputs = {x};
  b.outputs = {y};
  g.add_node(a);
  g.add_node(b);
  try {
    g.topological_order();
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::bad_input);
    EXPECT_EQ(e.sentence(), "the graph has a cycle through node 'a'");
  }
}

TEST(Graph, RefusesTwoProducers) {
  Graph g;
  const ValueId x = g.add_value({.name = "x"}), y = g.add_value({.name = "y"});
  Node n;
  n.op = &kAddOne;
  n.inputs = {x};
  n.outputs = {y};
  g.add_node(n);
  EXPECT_THROW(g.add_node(n), Error);
}

TEST(Infer, FoldsWhatIsConstant) {
  Chain c({&kAddOne, &kAddOne});
  Tensor t(DType::f32, Shape("ab", {2, 3}));
  t.as<float>()[5] = 40;
  c.graph.value(c.values[0]).constant = std::make_shared<const Tensor>(std::move(t));
  c.graph.inputs.clear();
  infer_shapes(c.graph);
  const Tensor* result = c.graph.value(c.values[2]).constant.get();
  ASSERT_NE(result, nullptr);
  EXPECT_EQ(result->as<float>()[5], 42);
  EXPECT_TRUE(c.graph.topological_order().empty());
  verify(c.graph);
}

TEST(Infer, DoesNotFoldBombs) {
  // 2^26 elements out of one, again and again: the node stays, nothing is allocated.
  const OpDef bomb{.name = "bomb", .infer = [](const InferRef& n) {
                     n.set_output(0, DType::f32, {1 << 13, 1 << 13});
                   }};
  Graph g;
  Tensor one(DType::f32, Shape("a", {1}));
  const ValueId x = g.add_constant("x", std::move(one));
  for (int i = 0; i < 12; ++i) {
    Node n;
    n.op = &bomb;  // without a reference: folding it would crash
    n.inputs = {x};
    n.outputs = {g.add_value({.name = "y"})};
    g.add_node(std::move(n));
  }
  infer_shapes(g);
  EXPECT_EQ(g.topological_order().size(), 12u);
}

TEST(Infer, SaysWhereItFailed) {
  const OpDef broken{.name = "broken", .aliases = {}, .infer = [](const InferRef& n) {
                       normal_axis(7, n.rank(0));
                     }};
  Chain c({&kAddOne, &broken});
  try {
    infer_shapes(c.graph);
    FAIL();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "axis 7 is out of range for rank 2 [node 'n2' (broken)]");
  }
}

TEST(Axes, NamesTravelBothWaysAndThroughTransposes) {
  Chain c({&kAddOne, &kSwap, &kNamed, &kAddOne});
  infer_shapes(c.graph);
  name_axes(c.graph);
  const auto names = [&](int i) {
    return c.graph.value(c.values[static_cast<std::size_t>(i)]).shape.text();
  };
  EXPECT_EQ(names(0), "c=2,n=3");
  EXPECT_EQ(names(1), "c=2,n=3");
  EXPECT_EQ(names(2), "n=3,c=2");
  EXPECT_EQ(names(4), "n=3,c=2");
}

TEST(Axes, WhereOperatorsDisagreeTheFirstNameStays) {
  // Both sides of the swap are called n, c by position: the link across it must give way.
  Chain c({&kNamed, &kSwap, &kNamed});
  infer_shapes(c.graph);
  name_axes(c.graph);
  EXPECT_EQ(c.graph.value(c.values[1]).shape.text(), "n=2,c=3");
  EXPECT_EQ(c.graph.value(c.values[2]).shape.text(), "n=3,c=2");
}

TEST(Axes, UnnamedOnesAreLetters) {
  Chain c({&kAddOne});
  infer_shapes(c.graph);
  name_axes(c.graph);
  EXPECT_EQ(c.graph.value(c.values[1]).shape.text(), "a=2,b=3");
}

TEST(Patch, TakeOverKeepsTheNameOfTheResult) {
  Chain c({&kAddOne, &kAddOne});
  {
    Patch patch(c.graph, "fuse");
    patch.take_over(NodeId(0), NodeId(1));
  }
  verify(c.graph);
  EXPECT_EQ(c.graph.history, std::vector<std::string>{"fuse"});
  EXPECT_EQ(c.graph.node(NodeId(0)).outputs[0], c.values[2]);
  EXPECT_EQ(c.graph.topological_order().size(), 1u);
}

TEST(Verify, FindsAReaderOfNothing) {
  Chain c({&kAddOne, &kAddOne});
  c.graph.node(NodeId(0)).removed = true;
  c.graph.value(c.values[1]).producer = kNoNode;
  EXPECT_THROW(verify(c.graph), Error);
}

}  // namespace
}  // namespace stowage
