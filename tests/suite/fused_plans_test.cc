// SPDX-License-Identifier: Apache-2.0
// Plans of small graphs whose operators fuse: no fused node may be left to its reference.
#include <gtest/gtest.h>

#include <algorithm>

#include "graph_builder.h"
#include "plan/plan.h"
#include "stowage/model.h"

namespace stowage {
namespace {

struct Net {
  const char* name;
  ValueId (*build)(GraphBuilder&);
  const char* kernel;  ///< of the first node that is left
  std::size_t nodes = 1;
};

Attributes attributes(std::initializer_list<std::pair<std::string, Attribute>> list) {
  Attributes a;
  for (const auto& [name, value] : list) a.set(name, value);
  return a;
}

ValueId depthwise(GraphBuilder& b, std::int64_t channels, std::int64_t multiplier) {
  const std::int64_t out = channels * multiplier;
  return b.add("conv", {b.input({1, channels, 9, 7}), b.constant({out, 1, 3, 3})},
               attributes({{"group", channels}, {"pads", Ints{1, 1, 1, 1}}}));
}

const Net kNets[] = {
    {"matmul of rank 3, one slope",
     [](GraphBuilder& b) {
       const ValueId y = b.add("matmul", {b.input({2, 7, 12}), b.constant({12, 33})});
       return b.add("prelu", {y, b.constant({1})});
     },
     "matmul_panels"},
    {"matmul of rank 3, a slope a column",
     [](GraphBuilder& b) {
       const ValueId y = b.add("matmul", {b.input({2, 7, 12}), b.constant({12, 33})});
       return b.add("prelu", {y, b.constant({33})});
     },
     "matmul_panels"},
    {"matmul of rank 3, a slope a row",
     [](GraphBuilder& b) {
       const ValueId y = b.add("matmul", {b.input({2, 7, 12}), b.constant({12, 33})});
       return b.add("prelu", {y, b.constant({7, 1})});
     },
     "matmul_panels", 2},
    {"convolution, Silu, then a shortcut",
     [](GraphBuilder& b) {
       const ValueId x = b.input({1, 12, 9, 7});
       return b.add("add", {x, b.add("swish", {b.conv(x, 12, 12)})});
     },
     "conv_channels_last"},
    {"scores, scaled",
     [](GraphBuilder& b) {
       const ValueId y = b.add("matmul", {b.input({2, 3, 7, 12}), b.input({2, 3, 12, 33})});
       return b.add("mul", {y, b.constant({1})});
     },
     "matmul_panels"},
    {"batched matmul of rank 4, one slope",
     [](GraphBuilder& b) {
       const ValueId y = b.add("matmul", {b.input({2, 3, 7, 12}), b.input({2, 3, 12, 33})});
       return b.add("prelu", {y, b.constant({1, 1, 1})});
     },
     "matmul_panels"},
    {"depthwise with a multiplier, then Relu",
     [](GraphBuilder& b) { return b.add("relu", {depthwise(b, 6, 2)}); }, "conv_depthwise"},
    {"depthwise with a multiplier and odd channels, then Sigmoid",
     [](GraphBuilder& b) { return b.add("sigmoid", {depthwise(b, 17, 3)}); }, "conv_depthwise"},
    {"matmul of rank 3, then Gelu",
     [](GraphBuilder& b) {
       const ValueId y = b.add("matmul", {b.input({2, 7, 12}), b.constant({12, 33})});
       return b.add("gelu", {b.add("add", {y, b.constant({33})})});
     },
     "matmul_panels"},
    {"gemm, then Gelu by tanh",
     [](GraphBuilder& b) {
       const ValueId y = b.add("gemm", {b.input({7, 12}), b.constant({12, 33})});
       return b.add("gelu", {y}, attributes({{"approximate", std::string("tanh")}}));
     },
     "gemm_panels"},
    {"depthwise, then Mish", [](GraphBuilder& b) { return b.add("mish", {depthwise(b, 17, 1)}); },
     "conv_depthwise"},
    {"depthwise, then Elu", [](GraphBuilder& b) { return b.add("elu", {depthwise(b, 3, 1)}); },
     "conv_depthwise"},
    {"depthwise, then Softplus",
     [](GraphBuilder& b) { return b.add("softplus", {depthwise(b, 33, 1)}); }, "conv_depthwise"},
    {"attention, then a shortcut",
     [](GraphBuilder& b) {
       const ValueId s = b.add("matmul", {b.input({2, 3, 7, 8}), b.input({2, 3, 8, 9})});
       const ValueId y = b.add("matmul", {b.add("softmax", {s}), b.input({2, 3, 9, 8})});
       return b.add("add", {y, b.input({2, 3, 7, 8})});
     },
     "attention"},
};

TEST(FusedPlans, NothingFallsBackToTheReference) {
  for (const Net& net : kNets) {
    for (const int threads : {1, 2}) {
      SCOPED_TRACE(net.name);
      GraphBuilder b;
      b.graph.outputs = {net.build(b)};
      auto graph = std::make_shared<Graph>(std::move(b.graph));
      simplify(*graph);
      const auto plan = make_plan(graph, {.threads = threads});
      ASSERT_EQ(plan->nodes.size(), net.nodes);
      EXPECT_EQ(plan->nodes[0].kernel, net.kernel);
      for (const auto& node : plan->nodes) EXPECT_NE(node.kernel, "reference");
    }
  }
}

/// Devices have no kernel for it, and the owner of a graph may plan it for one.
TEST(FusedPlans, AttentionStaysThreeNodesInTheGraphOfTheCaller) {
  GraphBuilder b;
  const ValueId s = b.add("matmul", {b.input({3, 7, 8}), b.input({3, 8, 9})});
  b.graph.outputs = {b.add("matmul", {b.add("softmax", {s}), b.input({3, 9, 8})})};
  const auto graph = std::make_shared<Graph>(std::move(b.graph));
  const auto plan = make_plan(graph, {});
  ASSERT_EQ(plan->nodes.size(), 1u);
  EXPECT_EQ(plan->nodes[0].kernel, "attention");
  EXPECT_EQ(graph->topological_order().size(), 3u);
  PlanOptions device;
  device.device.emplace();
  EXPECT_EQ(make_plan(graph, device)->nodes.size(), 3u);
}

}  // namespace
}  // namespace stowage
