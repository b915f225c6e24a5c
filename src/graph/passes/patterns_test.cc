// SPDX-License-Identifier: Apache-2.0
// Normalisation, clips, and scales and shifts as exporters write them: what they become, and that
// near misses stay as they were. Every case runs by references before and after.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "stowage/model.h"
#include "tests/suite/graph_builder.h"

namespace stowage {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

ValueId scalar(GraphBuilder& n, float v, int rank = 0) {
  Tensor t(DType::f32, Shape(std::string_view("abcd").substr(0, static_cast<std::size_t>(rank)),
                             Ints(static_cast<std::size_t>(rank), 1)));
  t.as<float>()[0] = v;
  return n.graph.add_constant("s" + std::to_string(n.graph.value_count()), std::move(t));
}

ValueId mean(GraphBuilder& n, ValueId x, const Ints& axes, bool keep = true) {
  Attributes a;
  a.set("axes", axes);
  a.set("keepdims", std::int64_t{keep});
  return n.add("reduce_mean", {x}, a);
}

/// How a normalisation may be spelled.
struct Spelling {
  Ints axes = {-1};
  bool product = false;     ///< d * d, not pow(d, 2)
  bool own_sub = false;     ///< the variance has a difference and a mean of its own
  bool power = false;       ///< pow(v, 0.5), not sqrt(v)
  bool reciprocal = false;  ///< d * (1 / s), not d / s
  float exponent = 2;
  int epsilon_rank = 0;
};

ValueId normalised(GraphBuilder& n, ValueId x, const Spelling& s = {}) {
  const ValueId d = n.add("sub", {x, mean(n, x, s.axes)});
  const ValueId e = s.own_sub ? n.add("sub", {x, mean(n, x, s.axes)}) : d;
  const ValueId square =
      s.product ? n.add("mul", {e, e}) : n.add("pow", {e, scalar(n, s.exponent)});
  const ValueId v = mean(n, square, s.axes);
  const ValueId sum = s.product ? n.add("add", {scalar(n, 1e-3f, s.epsilon_rank), v})
                                : n.add("add", {v, scalar(n, 1e-3f, s.epsilon_rank)});
  if (s.power && s.reciprocal) return n.add("mul", {d, n.add("pow", {sum, scalar(n, -0.5f)})});
  const ValueId root = s.power ? n.add("pow", {sum, scalar(n, 0.5f)}) : n.add("sqrt", {sum});
  if (!s.reciprocal) return n.add("div", {d, root});
  return s.product ? n.add("mul", {n.add("reciprocal", {root}), d})
                   : n.add("mul", {d, n.add("div", {scalar(n, 1), root})});
}

ValueId affine(GraphBuilder& n, ValueId x, const Ints& extents) {
  return n.add("add", {n.add("mul", {n.constant(extents), x}), n.constant(extents)});
}

/// x * g + (b - mean(x) * g) with g = gamma / sqrt(v + epsilon)
ValueId by_gain(GraphBuilder& n, ValueId x, const Ints& axes, const Ints& parameters) {
  const ValueId m = mean(n, x, axes), d = n.add("sub", {x, m});
  const ValueId v = mean(n, n.add("mul", {d, d}), axes);
  const ValueId root = n.add("sqrt", {n.add("add", {v, scalar(n, 1e-3f)})});
  const ValueId g = n.add("mul", {n.add("reciprocal", {root}), n.constant(parameters)});
  const ValueId rest = n.add("sub", {n.constant(parameters), n.add("mul", {m, g})});
  return n.add("add", {n.add("mul", {x, g}), rest});
}

ValueId conv1(GraphBuilder& n, ValueId x) { return n.add("conv", {x, n.constant({3, 3, 1, 1})}); }

struct Case {
  const char* name;
  std::function<ValueId(GraphBuilder&)> build;
  std::vector<std::string_view> left;  ///< operators, in order
};

const Case kCases[] = {
    {"layer norm with scale and bias",
     [](GraphBuilder& n) {
       return affine(n, normalised(n, n.input({2, 3, 5})), {5});
     },
     {"layer_norm"}},
    {"without",
     [](GraphBuilder& n) {
       return normalised(n, n.input({2, 5}), {.product = true});
     },
     {"layer_norm"}},
    {"with a bias alone",
     [](GraphBuilder& n) {
       return n.add("add", {normalised(n, n.input({4, 5})), n.constant({1, 5})});
     },
     {"layer_norm"}},
    {"over two axes, times one constant",
     [](GraphBuilder& n) {
       const ValueId y = normalised(n, n.input({2, 3, 4}), {.axes = {-2, -1}, .own_sub = true});
       return n.add("mul", {y, scalar(n, 0.5f, 3)});
     },
     {"layer_norm"}},
    {"over all axes but the first, a scale over some of them",
     [](GraphBuilder& n) {
       const ValueId y = normalised(n, n.input({2, 3, 4, 2}), {.axes = {1, 2, 3}});
       return affine(n, y, {3, 1, 2});
     },
     {"layer_norm"}},
    {"over all axes",
     [](GraphBuilder& n) {
       return affine(n, normalised(n, n.input({3, 4}), {.axes = {0, 1}}), {3, 4});
     },
     {"layer_norm"}},
    {"by a power, by the reciprocal of a power",
     [](GraphBuilder& n) {
       const ValueId y = normalised(n, n.input({2, 7}), {.power = true});
       return normalised(n, y, {.power = true, .reciprocal = true});
     },
     {"layer_norm", "layer_norm"}},
    {"by a reciprocal, by a quotient",
     [](GraphBuilder& n) {
       const ValueId y = normalised(n, n.input({2, 7}), {.product = true, .reciprocal = true});
       return normalised(n, y, {.reciprocal = true});
     },
     {"layer_norm", "layer_norm"}},
    {"by a gain that has the scale, with the mean in the bias",
     [](GraphBuilder& n) {
       return by_gain(n, n.input({2, 3, 6}), {2}, {6});
     },
     {"layer_norm"}},
    {"two scales and two biases",
     [](GraphBuilder& n) {
       return affine(n, affine(n, normalised(n, n.input({2, 3, 5})), {5}), {1, 1, 5});
     },
     {"layer_norm"}},
    {"a layer_norm of the file takes them too",
     [](GraphBuilder& n) {
       return affine(n, n.add("layer_norm", {n.input({2, 3, 5}), n.constant({5})}), {5});
     },
     {"layer_norm"}},
    {"a scale a row stays",
     [](GraphBuilder& n) {
       return n.add("mul", {normalised(n, n.input({2, 3, 4, 5})), n.constant({4, 1})});
     },
     {"layer_norm", "mul"}},
    {"sentences and lines: a scale a channel decides",
     [](GraphBuilder& n) {
       return affine(n, normalised(n, n.input({2, 3, 5})), {3, 1});
     },
     {"instance_norm"}},
    {"instance norm",
     [](GraphBuilder& n) {
       const ValueId y = normalised(n, n.input({2, 3, 4, 5}), {.axes = {2, 3}, .own_sub = true});
       return affine(n, y, {1, 3, 1, 1});
     },
     {"instance_norm"}},
    {"without scale and bias, of volumes",
     [](GraphBuilder& n) {
       return normalised(n, n.input({2, 3, 4, 2}), {.axes = {-1, -2}, .reciprocal = true});
     },
     {"instance_norm"}},
    {"by a gain",
     [](GraphBuilder& n) {
       return by_gain(n, n.input({2, 3, 4, 5}), {2, 3}, {3, 1, 1});
     },
     {"instance_norm"}},
    {"a scale over the pixels makes it a layer norm",
     [](GraphBuilder& n) {
       return affine(n, normalised(n, n.input({2, 3, 4, 5}), {.axes = {2, 3}}), {4, 5});
     },
     {"layer_norm"}},
    // Near misses.
    {"over channels",
     [](GraphBuilder& n) {
       return normalised(n, n.input({2, 3, 4}), {.axes = {1}});
     },
     {"reduce_mean", "sub", "pow", "reduce_mean", "add", "sqrt", "div"}},
    {"over axes with one between them",
     [](GraphBuilder& n) {
       return normalised(n, n.input({2, 3, 4}), {.axes = {0, 2}});
     },
     {"reduce_mean", "sub", "pow", "reduce_mean", "add", "sqrt", "div"}},
    {"a fourth power",
     [](GraphBuilder& n) {
       return normalised(n, n.input({2, 5}), {.exponent = 4});
     },
     {"reduce_mean", "sub", "pow", "reduce_mean", "add", "sqrt", "div"}},
    {"an epsilon of more axes than x",
     [](GraphBuilder& n) { return normalised(n, n.input({5}), {.epsilon_rank = 2}); },
     {"reduce_mean", "sub", "pow", "reduce_mean", "add", "sqrt", "div"}},
    {"a deviation that is an output",
     [](GraphBuilder& n) {
       const ValueId y = normalised(n, n.input({2, 5}));
       n.graph.outputs.push_back(n.graph.node(n.graph.value(y).producer).inputs[1]);
       return y;
     },
     {"reduce_mean", "sub", "pow", "reduce_mean", "add", "sqrt", "div"}},
    {"a difference that is read elsewhere",
     [](GraphBuilder& n) {
       const ValueId y = normalised(n, n.input({2, 5}));
       const ValueId d = n.graph.node(n.graph.value(y).producer).inputs[0];
       n.graph.outputs.push_back(n.add("tanh", {d}));
       return y;
     },
     {"reduce_mean", "sub", "pow", "reduce_mean", "add", "sqrt", "div", "tanh"}},
    {"the variance of something else",
     [](GraphBuilder& n) {
       const ValueId x = n.input({2, 5}), z = n.input({2, 5});
       const ValueId e = n.add("sub", {z, mean(n, z, {1})});
       const ValueId v = mean(n, n.add("mul", {e, e}), {1});
       const ValueId root = n.add("sqrt", {n.add("add", {v, scalar(n, 1e-3f)})});
       return n.add("div", {n.add("sub", {x, mean(n, x, {1})}), root});
     },
     {"reduce_mean", "sub", "reduce_mean", "sub", "mul", "reduce_mean", "add", "sqrt", "div"}},
    {"the mean over other axes",
     [](GraphBuilder& n) {
       const ValueId x = n.input({2, 3, 5});
       const ValueId e = n.add("sub", {x, mean(n, x, {2})});
       const ValueId v = mean(n, n.add("mul", {e, e}), {1, 2});
       const ValueId root = n.add("sqrt", {n.add("add", {v, scalar(n, 1e-3f)})});
       return n.add("div", {e, root});
     },
     {"reduce_mean", "sub", "mul", "reduce_mean", "add", "sqrt", "div"}},
    {"a mean that loses its axis and means another one",
     [](GraphBuilder& n) {
       const ValueId x = n.input({5, 5});
       const ValueId d = n.add("sub", {x, mean(n, x, {1}, false)});
       const ValueId v = mean(n, n.add("mul", {d, d}), {1}, false);
       return n.add("div", {d, n.add("sqrt", {n.add("add", {v, scalar(n, 1e-3f)})})});
     },
     {"reduce_mean", "sub", "mul", "reduce_mean", "add", "sqrt", "div"}},
    {"no mean is taken off",
     [](GraphBuilder& n) {
       const ValueId x = n.input({2, 5}), v = mean(n, n.add("mul", {x, x}), {1});
       return n.add("div", {x, n.add("sqrt", {n.add("add", {v, scalar(n, 1e-3f)})})});
     },
     {"mul", "reduce_mean", "add", "sqrt", "div"}},
    {"it is added, not subtracted from",
     [](GraphBuilder& n) {
       const ValueId x = n.input({2, 5}), d = n.add("sub", {mean(n, x, {1}), x});
       const ValueId v = mean(n, n.add("mul", {d, d}), {1});
       return n.add("div", {d, n.add("sqrt", {n.add("add", {v, scalar(n, 1e-3f)})})});
     },
     {"reduce_mean", "sub", "mul", "reduce_mean", "add", "sqrt", "div"}},
    // Scales and shifts.
    {"a scale and a shift of columns behind a matrix product with a bias",
     [](GraphBuilder& n) {
       const ValueId y = n.add("matmul", {n.input({2, 3, 4}), n.constant({4, 5}), n.constant({5})});
       return n.add("sub", {n.add("div", {y, n.constant({5})}), n.constant({1, 5})});
     },
     {"matmul"}},
    {"a scalar behind a batched product with constants",
     [](GraphBuilder& n) {
       const ValueId y = n.add("matmul", {n.input({2, 3, 4}), n.constant({2, 4, 5})});
       return n.add("mul", {scalar(n, 0.25f), y});
     },
     {"matmul"}},
    {"batch_norm behind gemm, its weights transposed, with alpha and beta",
     [](GraphBuilder& n) {
       Attributes a;
       a.set("transB", std::int64_t{1});
       a.set("alpha", 0.5f);
       a.set("beta", 2.0f);
       const ValueId y =
           n.add("gemm", {n.input({3, 4}), n.constant({5, 4}), n.constant({1, 5})}, a);
       return n.batch_norm(y, 5);
     },
     {"gemm"}},
    {"what is taken from a constant",
     [](GraphBuilder& n) {
       const ValueId y = n.add("gemm", {n.input({3, 4}), n.constant({4, 5})});
       return n.add("sub", {n.constant({5}), y});
     },
     {"gemm"}},
    {"and from a constant a channel",
     [](GraphBuilder& n) {
       return n.add("sub", {n.constant({3, 1, 1}), conv1(n, n.input({1, 3, 4, 5}))});
     },
     {"conv"}},
    {"a quotient of a constant stays",
     [](GraphBuilder& n) {
       return n.add("div", {n.constant({3, 1, 1}), conv1(n, n.input({1, 3, 4, 5}))});
     },
     {"conv", "div"}},
    {"a scale a row behind a product stays",
     [](GraphBuilder& n) {
       const ValueId y = n.add("matmul", {n.input({2, 3, 4}), n.constant({4, 5})});
       return n.add("mul", {y, n.constant({3, 1})});
     },
     {"matmul", "mul"}},
    {"a shift behind a product of two computed matrices is its bias, a scale a post",
     [](GraphBuilder& n) {
       const ValueId y = n.add("matmul", {n.input({2, 3, 4}), n.input({2, 4, 5})});
       return n.add("mul", {n.add("add", {y, n.constant({5})}), n.constant({5})});
     },
     {"matmul"}},
    {"weights of two products stay as they are",
     [](GraphBuilder& n) {
       const ValueId w = n.constant({4, 4});
       const ValueId y = n.add("matmul", {n.add("matmul", {n.input({2, 3, 4}), w}), w});
       return n.add("mul", {y, n.constant({4})});
     },
     {"matmul", "matmul"}},
    {"a c of all rows and columns is not scaled",
     [](GraphBuilder& n) {
       const ValueId y = n.add("gemm", {n.input({3, 4}), n.constant({4, 5}), n.constant({3, 5})});
       return n.add("mul", {y, n.constant({5})});
     },
     {"gemm"}},
};

std::vector<std::string_view> operators(const Graph& graph) {
  std::vector<std::string_view> list;
  for (const NodeId id : graph.topological_order()) list.push_back(graph.node(id).op->name);
  return list;
}

class Patterns : public testing::TestWithParam<Case> {};

TEST_P(Patterns, KeepTheFunction) {
  GraphBuilder net;
  SCOPED_TRACE(GetParam().name);
  net.graph.outputs.push_back(GetParam().build(net));
  infer_shapes(net.graph);
  const auto before = net.run();
  simplify(net.graph);
  verify(net.graph);
  auto left = operators(net.graph), want = GetParam().left;
  std::ranges::sort(left);
  std::ranges::sort(want);
  EXPECT_EQ(left, want);
  const auto after = net.run();
  for (std::size_t o = 0; o < before.size(); ++o) {
    const auto a = before[o].as<float>(), b = after[o].as<float>();
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_NEAR(a[i], b[i], 2e-6f * (1 + std::abs(a[i]))) << "output " << o << " element " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Patterns, testing::ValuesIn(kCases),
                         [](const auto& info) { return "case_" + std::to_string(info.index); });

/// relu, min and max with a constant, clip
struct Bound {
  const char* op;
  float lo = 0, hi = 0;
  int rank = 0;        ///< of the constant
  bool first = false;  ///< the constant is operand 0
};

ValueId bounded(GraphBuilder& n, ValueId x, const Bound& b) {
  const std::string_view op = b.op;
  if (op == "relu") return n.add("relu", {x});
  if (op == "clip") return n.add("clip", {x, scalar(n, b.lo), scalar(n, b.hi)});
  const ValueId c = scalar(n, op == "min" ? b.hi : b.lo, b.rank);
  return b.first ? n.add(op, {c, x}) : n.add(op, {x, c});
}

struct Chain {
  std::vector<Bound> bounds;
  std::vector<std::string_view> left;
};

const Chain kChains[] = {
    {{{"min", 0, 6}, {"max", 0}}, {"clip"}},
    {{{"max", -1, 0, 1}, {"min", 0, 2, 2, true}}, {"clip"}},
    {{{"relu"}, {"min", 0, 6}}, {"clip"}},
    {{{"relu"}, {"clip", -1, 6}}, {"clip"}},
    {{{"clip", -1, 6}, {"relu"}}, {"clip"}},
    {{{"clip", -2, 1}, {"clip", -1, 3}}, {"clip"}},
    {{{"clip", -2, -1}, {"clip", 1, 3}}, {"clip"}},
    {{{"clip", 1, 3}, {"clip", -2, -1}}, {"clip"}},
    // The upper bound of a clip wins over the lower one, the later of min and max.
    {{{"clip", 3, -3}, {"relu"}}, {"clip"}},
    {{{"max", 3}, {"min", 0, -3}}, {"clip"}},
    {{{"min", 0, -3}, {"max", 3}}, {"clip"}},
    {{{"min", 0, kInf}, {"max", -kInf}}, {"clip"}},
    {{{"max", kInf}, {"min", 0, -kInf}}, {"clip"}},
    {{{"max", 0.5f}}, {"clip"}},
    {{{"relu"}, {"relu"}, {"min", 0, 6}, {"max", 1}, {"clip", 2, 5}}, {"clip"}},
    // Near misses.
    {{{"relu"}}, {"relu"}},
    {{{"relu"}, {"min", 0, 6, 3}}, {"min", "relu"}},
    {{{"relu"}, {"min", 0, std::numeric_limits<float>::quiet_NaN()}}, {"min", "relu"}},
    {{{"clip", std::numeric_limits<float>::quiet_NaN(), 1}, {"max", -1}}, {"clip", "clip"}},
};

TEST(Clips, OfClipsAreOneWithTheSameValues) {
  const std::vector<float> x = {
      0.0f,  1e-30f, 0.5f,  1.0f,  1.5f,  2.0f,
      3.0f,  4.5f,   6.0f,  7.0f,  kInf,  -0.5f,
      -1.0f, -2.0f,  -3.0f, -7.0f, -kInf, std::numeric_limits<float>::quiet_NaN()};
  for (std::size_t k = 0; k < std::size(kChains); ++k) {
    SCOPED_TRACE("chain " + std::to_string(k));
    GraphBuilder net;
    ValueId y = net.input({1, std::ssize(x)});
    for (const Bound& b : kChains[k].bounds) y = bounded(net, y, b);
    net.graph.outputs = {y};
    infer_shapes(net.graph);
    Tensor in(DType::f32, net.graph.value(net.graph.inputs[0]).shape);
    std::ranges::copy(x, in.as<float>().begin());
    const auto before = net.run({in});
    simplify(net.graph);
    auto left = operators(net.graph);
    std::ranges::sort(left);
    EXPECT_EQ(left, kChains[k].left);
    const auto after = net.run({in});
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float a = before[0].as<float>()[i], b = after[0].as<float>()[i];
      EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b)))
          << "f(" << x[i] << ") was " << a << " and is " << b;
    }
  }
}

TEST(Clips, ThatAreReadElsewhereStay) {
  GraphBuilder net;
  const ValueId y = net.add("max", {net.input({2, 3}), scalar(net, 0)});
  net.graph.outputs = {net.add("min", {y, scalar(net, 6)}), net.add("tanh", {y})};
  simplify(net.graph);
  EXPECT_EQ(operators(net.graph), (std::vector<std::string_view>{"clip", "clip", "tanh"}));
}

TEST(Clips, OfIntegersStay) {
  GraphBuilder net;
  const ValueId x = net.input({2, 3});
  net.graph.value(x).dtype = DType::i32;
  const ValueId six = net.graph.add_constant("six", Tensor(DType::i32, Shape()));
  net.graph.outputs = {net.add("min", {net.add("relu", {x}), six})};
  simplify(net.graph);
  EXPECT_EQ(operators(net.graph), (std::vector<std::string_view>{"relu", "min"}));
}

/// However long a chain is, looking at it takes time in proportion.
TEST(Clips, ALongChainBecomesOne) {
  constexpr int kLength = 20000;
  GraphBuilder net;
  ValueId x = net.input({2});
  for (int i = 0; i < kLength; ++i) x = net.add(i % 2 == 0 ? "min" : "max", {x, scalar(net, 1)});
  net.graph.outputs = {x};
  simplify(net.graph);
  EXPECT_EQ(net.live(), 1u);
}

/// A model of a few bytes may name any shape: nothing of its size is made to look at a scalar.
TEST(Patterns, OfHugeShapesMakeNoHugeConstants) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 44;
  GraphBuilder net;
  const ValueId x = net.input({1, kHuge});
  const ValueId y = net.add("add", {net.add("mul", {x, scalar(net, 2)}), scalar(net, 1)});
  net.graph.outputs = {normalised(net, y), y};
  simplify(net.graph);
  EXPECT_EQ(net.live(), 9u);
}

}  // namespace
}  // namespace stowage
