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

ValueId scalar(GraphBuilder& n, float v, int rank = 0) {
  Tensor t(DType::f32, Shape(std::string_view("abcd").substr(0, static_cast<std::size_t>(rank)),
                             Ints(static_cast<std::size_t>(rank), 1)));
  t.as<float>()[0] = v;
  return n.graph.add_constant("s" + std::to_string(n.graph.value_count()), std::move(t));
}

/// 1 + erf(x / sqrt(2)), by a quotient or by a product.
ValueId one_plus_erf(GraphBuilder& n, ValueId x, bool quotient) {
  const ValueId arg = quotient ? n.add("div", {x, scalar(n, 1.41421356f)})
                               : n.add("mul", {scalar(n, 0.70710678f), x});
  return n.add("add", {n.add("erf", {arg}), scalar(n, 1)});
}

/// 1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))
ValueId one_plus_tanh(GraphBuilder& n, ValueId x, bool power) {
  const ValueId cube =
      power ? n.add("pow", {x, scalar(n, 3)}) : n.add("mul", {n.add("mul", {x, x}), x});
  const ValueId sum = n.add("add", {x, n.add("mul", {cube, scalar(n, 0.044715f)})});
  const ValueId tanh = n.add("tanh", {n.add("mul", {sum, scalar(n, 0.79788456f)})});
  return n.add("add", {scalar(n, 1), tanh});
}

ValueId relu6(GraphBuilder& n, ValueId x) { return n.add("clip", {x, scalar(n, 0), scalar(n, 6)}); }

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
    {"x sigmoid(x) behind a convolution",
     [](GraphBuilder& n) {
       const ValueId x = n.conv(n.input({1, 3, 5, 4}), 3, 6);
       n.graph.outputs = {n.add("mul", {n.add("sigmoid", {x}), x})};
     },
     1},
    {"a sigmoid that is read elsewhere stays",
     [](GraphBuilder& n) {
       const ValueId x = n.input({1, 3, 5, 4}), s = n.add("sigmoid", {x});
       n.graph.outputs = {n.add("mul", {x, s}), n.add("relu", {s})};
     },
     3},
    {"a sigmoid of something else stays",
     [](GraphBuilder& n) {
       const ValueId x = n.input({1, 3, 5, 4}), y = n.input({1, 3, 5, 4});
       n.graph.outputs = {n.add("mul", {x, n.add("sigmoid", {y})})};
     },
     2},
    {"x relu6(x + 3) / 6, twice",
     [](GraphBuilder& n) {
       ValueId x = n.conv(n.input({1, 3, 5, 4}), 3, 6);
       x = n.add("div",
                 {n.add("mul", {x, relu6(n, n.add("add", {x, scalar(n, 3)}))}), scalar(n, 6)});
       x = n.conv(x, 6, 5);
       const ValueId gate =
           n.add("mul", {relu6(n, n.add("add", {scalar(n, 3), x})), scalar(n, 1.0f / 6)});
       n.graph.outputs = {n.add("mul", {gate, x})};
     },
     2},
    {"relu6(x + 3) / 6 alone",
     [](GraphBuilder& n) {
       const ValueId x = n.conv(n.input({1, 3, 5, 4}), 3, 6);
       n.graph.outputs = {n.add("div", {relu6(n, n.add("add", {x, scalar(n, 3)})), scalar(n, 6)})};
     },
     1},
    {"relu6(x + 2) / 6 is something else",
     [](GraphBuilder& n) {
       const ValueId x = n.input({1, 3, 5, 4});
       n.graph.outputs = {n.add(
           "mul", {x, n.add("div", {relu6(n, n.add("add", {x, scalar(n, 2)})), scalar(n, 6)})})};
     },
     4},
    {"x tanh(softplus(x))",
     [](GraphBuilder& n) {
       const ValueId x = n.input({2, 3});
       n.graph.outputs = {n.add("mul", {x, n.add("tanh", {n.add("softplus", {x})})})};
     },
     1},
    {"gelu: (x (1 + erf(x / sqrt(2)))) / 2",
     [](GraphBuilder& n) {
       const ValueId x = n.input({2, 3, 7});
       n.graph.outputs = {
           n.add("mul", {n.add("mul", {x, one_plus_erf(n, x, true)}), scalar(n, 0.5f)})};
     },
     1},
    {"gelu: (x / 2) (1 + erf(x / sqrt(2)))",
     [](GraphBuilder& n) {
       const ValueId x = n.input({2, 3, 7});
       n.graph.outputs = {
           n.add("mul", {n.add("mul", {scalar(n, 0.5f), x}), one_plus_erf(n, x, false)})};
     },
     1},
    {"gelu: x ((1 + erf(x / sqrt(2))) / 2)",
     [](GraphBuilder& n) {
       const ValueId x = n.input({2, 3, 7});
       n.graph.outputs = {
           n.add("mul", {n.add("div", {one_plus_erf(n, x, true), scalar(n, 2)}), x})};
     },
     1},
    {"gelu by tanh, x^3 by products",
     [](GraphBuilder& n) {
       const ValueId x = n.input({2, 3, 7});
       n.graph.outputs = {
           n.add("mul", {n.add("mul", {scalar(n, 0.5f), x}), one_plus_tanh(n, x, false)})};
     },
     1},
    {"gelu by tanh, x^3 by pow",
     [](GraphBuilder& n) {
       const ValueId x = n.input({2, 3, 7});
       n.graph.outputs = {
           n.add("mul", {x, n.add("mul", {one_plus_tanh(n, x, true), scalar(n, 0.5f)})})};
     },
     1},
    {"a half that stretches the shape is no part of gelu",
     [](GraphBuilder& n) {
       const ValueId x = n.input({3});
       n.graph.outputs = {
           n.add("mul", {n.add("mul", {x, one_plus_erf(n, x, true)}), scalar(n, 0.5f, 3)})};
     },
     5},
    {"a bias behind a matrix product, with a residual",
     [](GraphBuilder& n) {
       const ValueId x = n.input({2, 3, 4});
       const ValueId y = n.add("matmul", {x, n.constant({4, 5})});
       const ValueId z =
           n.add("matmul", {n.add("add", {n.constant({1, 1, 5}), y}), n.constant({5, 4})});
       n.graph.outputs = {n.add("add", {n.add("add", {z, n.constant({4})}), x})};
     },
     2},
    {"what is added to rows is no bias",
     [](GraphBuilder& n) {
       const ValueId y = n.add("matmul", {n.input({2, 3, 4}), n.constant({4, 5})});
       n.graph.outputs = {n.add("add", {y, n.constant({3, 1})})};
     },
     2},
    {"a bias added after a convolution folds",
     [](GraphBuilder& n) {
       n.graph.outputs = {
           n.add("add", {n.conv(n.input({2, 2, 3, 3}), 2, 5), n.constant({5, 1, 1})})};
     },
     1},
    {"a bias folds although the weights are computed",
     [](GraphBuilder& n) {
       const ValueId w = n.input({5, 2, 3, 3});
       n.graph.outputs = {
           n.add("add", {n.add("conv", {n.input({2, 2, 4, 3}), w}), n.constant({5, 1, 1})})};
     },
     1},
    {"a scale of weights that are computed is a post",
     [](GraphBuilder& n) {
       const ValueId w = n.input({5, 2, 3, 3});
       n.graph.outputs = {
           n.add("mul", {n.add("conv", {n.input({2, 2, 4, 3}), w}), n.constant({5, 1, 1})})};
     },
     1},
    {"a scale and a shift of weights that are computed do not fold",
     [](GraphBuilder& n) {
       const ValueId w = n.input({5, 2, 3, 3});
       n.graph.outputs = {n.batch_norm(n.add("conv", {n.input({2, 2, 4, 3}), w}), 5)};
     },
     2},
    {"a scale and a shift of grouped transposed convolutions",
     [](GraphBuilder& n) {
       Attributes a;
       a.set("group", std::int64_t{2});
       const ValueId y =
           n.add("conv_transpose", {n.input({1, 4, 3, 2}), n.constant({4, 3, 2, 2})}, a);
       n.graph.outputs = {n.batch_norm(y, 6)};
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
    {"batch_norm takes a relu where no convolution is before them, and no other activation",
     [](GraphBuilder& n) {
       const ValueId x = n.input({1, 3, 6, 6});
       n.graph.outputs = {n.add("relu", {n.batch_norm(x, 3)}),
                          n.add("sigmoid", {n.batch_norm(x, 3)})};
     },
     3},
    {"a residual and its relu join the later convolution",
     [](GraphBuilder& n) {
       const ValueId x = n.input({1, 4, 5, 5});
       const ValueId y = n.conv(n.add("relu", {n.conv(x, 4, 4)}), 4, 4);
       n.graph.outputs = {n.add("relu", {n.add("add", {y, x})})};
     },
     2},
    {"an addition behind an activation, and the activation behind that",
     [](GraphBuilder& n) {
       const ValueId x = n.input({1, 4, 5, 5});
       const ValueId y = n.add("sigmoid", {n.conv(x, 4, 4)});
       n.graph.outputs = {n.add("relu", {n.add("add", {x, y})})};
     },
     1},
    {"a gate of the result's shape, and one of channels",
     [](GraphBuilder& n) {
       const ValueId x = n.input({1, 4, 5, 5});
       const ValueId gated = n.add("mul", {n.add("tanh", {n.conv(x, 4, 4)}), x});
       n.graph.outputs = {n.add("mul", {n.input({1, 4, 1, 1}), gated})};
     },
     1},
    {"scaled scores and what is added to them",
     [](GraphBuilder& n) {
       const ValueId q = n.input({2, 3, 8}), k = n.input({2, 8, 5});
       const ValueId scores = n.add("div", {n.add("matmul", {q, k}), n.constant({1})});
       n.graph.outputs = {n.add("add", {scores, n.input({2, 3, 5})})};
     },
     1},
    {"slopes along another axis than the columns of a product stay",
     [](GraphBuilder& n) {
       const ValueId y = n.add("matmul", {n.input({2, 3, 8}), n.input({2, 8, 5})});
       n.graph.outputs = {n.add("prelu", {y, n.constant({3, 1})})};
     },
     2},
    {"a constant over the result stays a division",
     [](GraphBuilder& n) {
       const ValueId y = n.add("relu", {n.conv(n.input({1, 4, 5, 5}), 4, 4)});
       n.graph.outputs = {n.add("div", {n.constant({1}), y})};
     },
     2},
    {"more posts than a kernel takes",
     [](GraphBuilder& n) {
       ValueId y = n.conv(n.input({1, 4, 5, 5}), 4, 4);
       for (int i = 0; i < kMostPosts + 3; ++i) y = n.add(i % 2 == 0 ? "tanh" : "sigmoid", {y});
       n.graph.outputs = {y};
     },
     4},
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
    {"so does padding, of which it is the channels' that stays",
     [](GraphBuilder& n) {
       const ValueId y = last(n, n.conv(n.input({1, 3, 5, 4}), 3, 2));
       n.graph.outputs = {first(n, pad(n, y, {0, 1, 2, 0, 0, 3, 4, 5}))};
     },
     2},
    {"and padding of some axes alone",
     [](GraphBuilder& n) {
       Attributes a;
       a.set("axes", Ints{-1, 1});
       a.set("pads", Ints{1, 2, 3, 4});
       const ValueId y = last(n, n.conv(n.input({1, 3, 5, 4}), 3, 2));
       n.graph.outputs = {first(n, n.add("pad", {y}, a))};
     },
     2},
    {"the bounds of a clip know no order of axes",
     [](GraphBuilder& n) {
       const ValueId y = last(n, n.conv(n.input({1, 3, 5, 4}), 3, 6));
       n.graph.outputs = {first(n, relu6(n, y))};
     },
     1},
    {"a transpose that others read stays for them",
     [](GraphBuilder& n) {
       const ValueId y = last(n, n.conv(n.input({1, 3, 5, 4}), 3, 6));
       n.graph.outputs = {y, first(n, n.add("tanh", {y}))};
     },
     3},
    {"two transposes in different orders stay two",
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

// checklist 8.5: a post swallows the addition, not the names of the axes of what it adds.
TEST(SimplifyNames, OfAResidualAreThoseOfTheResult) {
  for (const bool fused : {true, false}) {
    GraphBuilder net;
    const ValueId x = net.input({1, 3, 5, 4}), z = net.input({1, 7, 5, 4});
    const ValueId y = net.conv(x, 3, 7);
    net.graph.outputs = {net.add(fused ? "add" : "sub", {y, z})};
    simplify(net.graph);
    EXPECT_EQ(net.live(), fused ? 1u : 2u);
    EXPECT_EQ(net.graph.value(z).shape.text(), "n=1,c=7,h=5,w=4");
    EXPECT_EQ(data_format(net.graph.value(z).shape), DataFormat::nchw);
  }
}

/// However long a product is, looking at it is neither deep nor long.
TEST(Simplify, ALongChainOfProducts) {
  constexpr int kProducts = 20000;
  GraphBuilder net;
  ValueId x = net.input({2});
  const ValueId y = net.input({2});
  for (int i = 0; i < kProducts; ++i) x = net.add("mul", {x, y});
  net.graph.outputs = {x};
  simplify(net.graph);
  EXPECT_EQ(net.live(), static_cast<std::size_t>(kProducts));
}

/// Elements of the constants that somebody reads, each once.
std::int64_t constant_elements(const Graph& graph) {
  const auto readers = graph.consumers();
  std::int64_t sum = 0;
  for (ValueId v(0); v < graph.value_count(); ++v) {
    const bool read = !readers[static_cast<std::size_t>(v)].empty();
    if (read && graph.value(v).constant != nullptr) sum += graph.value(v).shape.elements();
  }
  return sum;
}

/// Heads of a detector: the same weights at every scale of the picture, with statistics of its own.
TEST(Simplify, CopiesNoSharedWeights) {
  struct Case {
    std::string_view op;
    Ints weights, x;
  };

  const Case cases[] = {{"conv", {6, 3, 3, 3}, {1, 3, 5, 4}},
                        {"conv_transpose", {3, 6, 3, 3}, {1, 3, 5, 4}},
                        {"matmul", {7, 6}, {5, 7}},
                        {"gemm", {7, 6}, {5, 7}}};
  for (const Case& c : cases) {
    for (const bool scales : {true, false}) {
      GraphBuilder net;
      const ValueId w = net.constant(c.weights);
      const Ints channels = c.x.size() == 2 ? Ints{6} : Ints{6, 1, 1};
      for (int i = 0; i < 2; ++i) {
        const ValueId y = net.add(c.op, {net.input(c.x), w});
        net.graph.outputs.push_back(scales ? net.batch_norm(y, 6)
                                           : net.add("add", {y, net.constant(channels)}));
      }
      const std::int64_t before = constant_elements(net.graph);
      simplify(net.graph);
      EXPECT_EQ(net.live(), scales ? 4u : 2u) << c.op;
      EXPECT_EQ(constant_elements(net.graph), before) << c.op;
    }
  }
}

/// One pass folds them all, and each knows who reads what without looking at the whole graph.
TEST(Simplify, ALongChainOfSums) {
  constexpr int kSums = 20000;
  GraphBuilder net;
  ValueId x = net.input({2, 3});
  for (int i = 0; i < kSums; ++i) x = net.add("add", {x, net.constant({3})});
  net.graph.outputs = {x};
  simplify(net.graph);
  EXPECT_EQ(net.live(), 1u);
}

TEST(SimplifyHistory, SaysWhatItDid) {
  GraphBuilder net;
  net.graph.outputs = {net.add("relu", {net.conv(net.input({1, 1, 3, 3}), 1, 1)})};
  simplify(net.graph);
  EXPECT_EQ(net.graph.history, std::vector<std::string>{"fuse 'relu1' (relu) into 'conv0'"});
}

}  // namespace
}  // namespace stowage
