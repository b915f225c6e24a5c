// SPDX-License-Identifier: Apache-2.0
// simplify must not change what a graph computes: every case runs by references before and after.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "stowage/model.h"
#include "tests/suite/graph_builder.h"

namespace stowage {
namespace {

ValueId transpose(GraphBuilder& n, ValueId x, const Ints& perm) {
  Attributes a;
  a.set("perm", perm);
  return n.add("transpose", {x}, a);
}

ValueId last(GraphBuilder& n, ValueId x) { return transpose(n, x, {0, 2, 3, 1}); }

ValueId first(GraphBuilder& n, ValueId x) { return transpose(n, x, {0, 3, 1, 2}); }

ValueId pad(GraphBuilder& n, ValueId x, const Ints& pads) {
  Attributes a;
  a.set("pads", pads);
  return n.add("pad", {x}, a);
}

struct Case {
  const char* name;
  std::function<void(GraphBuilder&)> build;
  std::size_t nodes_left;
};

const Case kCases[] = {
    {"conv, batch_norm, relu are one",
     [](GraphBuilder& n) {
       n.graph.outputs = {n.add("relu", {n.batch_norm(n.conv(n.input({1, 3, 5, 4}), 3, 6), 6)})};
     },
     1},
    {"a bias added after a convolution folds",
     [](GraphBuilder& n) {
       n.graph.outputs = {
           n.add("add", {n.conv(n.input({2, 2, 3, 3}), 2, 5), n.constant({5, 1, 1})})};
     },
     1},
    {"a scale before a relu folds, either way round",
     [](GraphBuilder& n) {
       const ValueId y = n.conv(n.input({1, 2, 3, 3}), 2, 4);
       n.graph.outputs = {n.add("relu", {n.add("mul", {n.constant({1, 4, 1, 1}), y})})};
     },
     1},
    {"batch_norm, mul, add become one batch_norm where no convolution is before them",
     [](GraphBuilder& n) {
       const ValueId x = n.add("max_pool", {n.input({1, 3, 6, 6})}, [] {
         Attributes a;
         a.set("kernel_shape", Ints{2, 2});
         return a;
       }());
       const ValueId y = n.add("mul", {n.batch_norm(x, 3), n.constant({3, 1, 1})});
       n.graph.outputs = {n.add("add", {y, n.constant({3, 1, 1})})};
     },
     2},
    {"a residual and its relu join the later convolution",
     [](GraphBuilder& n) {
       const ValueId x = n.input({1, 4, 5, 5});
       const ValueId y = n.conv(n.add("relu", {n.conv(x, 4, 4)}), 4, 4);
       n.graph.outputs = {n.add("relu", {n.add("add", {y, x})})};
     },
     2},
    {"a convolution that is read twice keeps its own output",
     [](GraphBuilder& n) {
       const ValueId y = n.conv(n.input({1, 4, 5, 5}), 4, 4);
       n.graph.outputs = {n.add("relu", {y}), n.add("sigmoid", {y})};
     },
     3},
    {"a convolution that is an output keeps it",
     [](GraphBuilder& n) {
       const ValueId y = n.conv(n.input({1, 4, 5, 5}), 4, 4);
       n.graph.outputs = {y, n.add("relu", {y})};
     },
     2},
    {"x + x is not a residual of itself",
     [](GraphBuilder& n) {
       const ValueId y = n.conv(n.input({1, 4, 5, 5}), 4, 4);
       n.graph.outputs = {n.add("add", {y, y})};
     },
     2},
    {"a broadcast sum is not a residual",
     [](GraphBuilder& n) {
       const ValueId x = n.input({1, 4, 5, 5});
       const ValueId y = n.input({1, 1, 5, 5});
       n.graph.outputs = {n.add("add", {n.conv(x, 4, 4), y})};
     },
     2},
    {"prelu with a slope a channel",
     [](GraphBuilder& n) {
       const ValueId y = n.add("sub", {n.conv(n.input({1, 2, 4, 4}), 2, 3), n.constant({3, 1, 1})});
       n.graph.outputs = {n.add("prelu", {y, n.constant({3, 1, 1})})};
     },
     1},
    {"identities and dead ends go",
     [](GraphBuilder& n) {
       const ValueId x = n.input({2, 3});
       n.add("sigmoid", {x});
       n.graph.outputs = {n.add("tanh", {n.add("identity", {n.add("identity", {x})})})};
     },
     1},
    {"an output that is an identity of the input stays",
     [](GraphBuilder& n) {
       n.graph.outputs = {n.add("identity", {n.input({2, 3})})};
     },
     1},
    {"a scalar that would enlarge x does not fold",
     [](GraphBuilder& n) {
       const ValueId x = n.input({1, 1, 3, 3});
       n.graph.outputs = {n.add("mul", {n.conv(x, 1, 1), n.constant({1, 4, 1, 1})})};
     },
     2},
    {"work in channels-last order between convolutions joins the first",
     [](GraphBuilder& n) {
       const ValueId y = last(n, n.conv(n.input({1, 3, 5, 4}), 3, 6));
       const ValueId z = n.add("relu", {n.add("mul", {y, n.constant({6})})});
       n.graph.outputs = {n.conv(first(n, z), 6, 2)};
     },
     2},
    {"so does a residual",
     [](GraphBuilder& n) {
       const ValueId y = n.conv(n.input({1, 3, 5, 4}), 3, 3);
       const ValueId sum = n.add("add", {last(n, y), last(n, n.conv(y, 3, 3))});
       n.graph.outputs = {first(n, sum)};
     },
     2},
    {"a slope of the last axis becomes one a channel",
     [](GraphBuilder& n) {
       const ValueId y = last(n, n.conv(n.input({1, 3, 5, 4}), 3, 6));
       n.graph.outputs = {first(n, n.add("prelu", {y, n.constant({1, 1, 6})}))};
     },
     1},
    {"concatenation names another axis",
     [](GraphBuilder& n) {
       const ValueId x = n.input({1, 3, 5, 4});
       Attributes a;
       a.set("axis", std::int64_t{3});
       const ValueId y =
           n.add("concat",
                 {last(n, n.conv(x, 3, 2)), last(n, n.conv(x, 3, 4)), n.constant({1, 5, 4, 1})}, a);
       n.graph.outputs = {first(n, y)};
     },
     3},
    {"a transpose that others read stays for them",
     [](GraphBuilder& n) {
       const ValueId y = last(n, n.conv(n.input({1, 3, 5, 4}), 3, 6));
       n.graph.outputs = {y, first(n, n.add("tanh", {y}))};
     },
     3},
    {"two transposes in different orders stay apart",
     [](GraphBuilder& n) {
       const ValueId x = n.input({1, 4, 4, 4}), y = n.input({1, 4, 4, 4});
       n.graph.outputs = {n.add("add", {last(n, x), first(n, y)})};
     },
     3},
    {"zeros around the input of a convolution are its padding",
     [](GraphBuilder& n) {
       n.graph.outputs = {n.conv(pad(n, n.input({1, 3, 5, 4}), {0, 0, 0, 1, 0, 0, 2, 3}), 3, 2)};
     },
     1},
    {"and through a transpose",
     [](GraphBuilder& n) {
       const ValueId x = pad(n, n.input({1, 5, 4, 3}), {0, 1, 2, 0, 0, 3, 4, 0});
       n.graph.outputs = {n.conv(first(n, x), 3, 2)};
     },
     2},
    {"zeros in channels stay",
     [](GraphBuilder& n) {
       n.graph.outputs = {n.conv(pad(n, n.input({1, 2, 5, 4}), {0, 1, 0, 0, 0, 0, 0, 0}), 3, 2)};
     },
     2},
};

class Simplify : public testing::TestWithParam<Case> {};

TEST_P(Simplify, KeepsTheFunction) {
  GraphBuilder net;
  GetParam().build(net);
  infer_shapes(net.graph);
  const auto before = net.run();
  std::vector<std::string> names;
  for (ValueId v : net.graph.outputs) names.push_back(net.graph.value(v).name);
  simplify(net.graph);
  verify(net.graph);
  EXPECT_EQ(net.live(), GetParam().nodes_left);
  const auto after = net.run();
  for (std::size_t o = 0; o < before.size(); ++o) {
    EXPECT_EQ(net.graph.value(net.graph.outputs[o]).name, names[o]);
    const auto a = before[o].as<float>(), b = after[o].as<float>();
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_NEAR(a[i], b[i], 1e-4f * (1 + std::abs(a[i]))) << "output " << o << " element " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Simplify, testing::ValuesIn(kCases),
                         [](const auto& info) { return "case_" + std::to_string(info.index); });

/// Each pass goes over the whole graph: so many additions would outlast any bound on rounds.
TEST(Simplify, FusesAllOfManyResiduals) {
  constexpr int kBlocks = 1200;
  GraphBuilder net;
  ValueId x = net.input({1, 2, 1, 1});
  for (int i = 0; i < kBlocks; ++i) x = net.add("add", {net.conv(x, 2, 2), x});
  net.graph.outputs = {x};
  simplify(net.graph);
  EXPECT_EQ(net.live(), static_cast<std::size_t>(kBlocks));
}

// checklist 8.5: the epilogue swallows the addition, not the names of the axes of what it adds.
TEST(SimplifyNames, OfAResidualAreThoseOfTheResult) {
  for (const bool fused : {true, false}) {
    GraphBuilder net;
    const ValueId x = net.input({1, 3, 5, 4}), z = net.input({1, 7, 5, 4});
    const ValueId y = net.conv(x, 3, 7);
    net.graph.outputs = {net.add(fused ? "add" : "mul", {y, z})};
    simplify(net.graph);
    EXPECT_EQ(net.live(), fused ? 1u : 2u);
    EXPECT_EQ(net.graph.value(z).shape.text(), "n=1,c=7,h=5,w=4");
    EXPECT_EQ(data_format(net.graph.value(z).shape), DataFormat::nchw);
  }
}

TEST(SimplifyHistory, SaysWhatItDid) {
  GraphBuilder net;
  net.graph.outputs = {net.add("relu", {net.conv(net.input({1, 1, 3, 3}), 1, 1)})};
  simplify(net.graph);
  EXPECT_EQ(net.graph.history, std::vector<std::string>{"fuse 'relu1' (relu) into 'conv0'"});
}

}  // namespace
}  // namespace stowage
