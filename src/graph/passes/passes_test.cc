// SPDX-License-Identifier: Apache-2.0
// simplify must not change what a graph computes: every case runs by references before and after.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "graph/op_def.h"
#include "stowage/error.h"
#include "stowage/model.h"

namespace stowage {
namespace {

Tensor random_tensor(const Shape& shape, std::mt19937& random) {
  std::uniform_real_distribution<float> real(0.25f, 1.5f);  // positive: variances among them
  Tensor t(DType::f32, shape);
  for (float& x : t.as<float>()) x = real(random) * ((random() & 1) != 0 ? 1.0f : 0.9f);
  return t;
}

class Net {
 public:
  Graph graph;
  std::mt19937 random{11};

  ValueId input(std::initializer_list<std::int64_t> extents) {
    Value v;
    v.name = "x" + std::to_string(graph.inputs.size());
    v.shape = shape_of(extents);
    graph.inputs.push_back(graph.add_value(v));
    return graph.inputs.back();
  }

  ValueId constant(std::initializer_list<std::int64_t> extents) {
    return graph.add_constant("k" + std::to_string(graph.value_count()),
                              random_tensor(shape_of(extents), random));
  }

  ValueId add(std::string_view op, std::vector<ValueId> inputs, Attributes attrs = {}) {
    Node n;
    n.op = find_op(op);
    if (n.op == nullptr) throw Error(ErrorCode::usage, "no operator " + std::string(op));
    n.name = std::string(op) + std::to_string(graph.node_count());
    n.attrs = std::move(attrs);
    n.inputs = std::move(inputs);
    Value v;
    v.name = n.name + ".y";
    n.outputs = {graph.add_value(v)};
    return graph.node(graph.add_node(std::move(n))).outputs[0];
  }

  ValueId conv(ValueId x, std::int64_t in, std::int64_t out) {
    Attributes a;
    a.set("pads", Ints{1, 1, 1, 1});
    return add("conv", {x, constant({out, in, 3, 3}), constant({out})}, a);
  }

  ValueId batch_norm(ValueId x, std::int64_t c) {
    return add("batch_norm", {x, constant({c}), constant({c}), constant({c}), constant({c})});
  }

  /// Every output, computed by references alone.
  std::vector<Tensor> run() {
    std::vector<Tensor> values;
    for (ValueId v = 0; v < graph.value_count(); ++v) {
      const Value& value = graph.value(v);
      values.push_back(value.constant ? *value.constant : Tensor(value.dtype, value.shape));
    }
    std::mt19937 same(5);
    for (ValueId v : graph.inputs) values[idx(v)] = random_tensor(graph.value(v).shape, same);
    for (NodeId id : graph.topological_order()) {
      std::vector<TensorView> in, out;
      for (ValueId v : graph.node(id).inputs) {
        in.push_back(v == kNoValue ? TensorView{DType::f32, Mapping(Layout(), Shape(), 4), nullptr}
                                   : values[idx(v)].view());
      }
      for (ValueId v : graph.node(id).outputs) out.push_back(values[idx(v)].view());
      run_reference(NodeRef(graph, id), in, out);
    }
    std::vector<Tensor> results;
    for (ValueId v : graph.outputs) results.push_back(values[idx(v)]);
    return results;
  }

  std::size_t live() const { return graph.topological_order().size(); }

 private:
  static Shape shape_of(std::initializer_list<std::int64_t> extents) {
    return Shape(std::string_view("abcd").substr(0, extents.size()), extents);
  }

  static std::size_t idx(int i) { return static_cast<std::size_t>(i); }
};

ValueId transpose(Net& n, ValueId x, const Ints& perm) {
  Attributes a;
  a.set("perm", perm);
  return n.add("transpose", {x}, a);
}

ValueId last(Net& n, ValueId x) { return transpose(n, x, {0, 2, 3, 1}); }

ValueId first(Net& n, ValueId x) { return transpose(n, x, {0, 3, 1, 2}); }

ValueId pad(Net& n, ValueId x, const Ints& pads) {
  Attributes a;
  a.set("pads", pads);
  return n.add("pad", {x}, a);
}

struct Case {
  const char* name;
  std::function<void(Net&)> build;
  std::size_t nodes_left;
};

const Case kCases[] = {
    {"conv, batch_norm, relu are one",
     [](Net& n) {
       n.graph.outputs = {n.add("relu", {n.batch_norm(n.conv(n.input({1, 3, 5, 4}), 3, 6), 6)})};
     },
     1},
    {"a bias added after a convolution folds",
     [](Net& n) {
       n.graph.outputs = {
           n.add("add", {n.conv(n.input({2, 2, 3, 3}), 2, 5), n.constant({5, 1, 1})})};
     },
     1},
    {"a scale before a relu folds, either way round",
     [](Net& n) {
       const ValueId y = n.conv(n.input({1, 2, 3, 3}), 2, 4);
       n.graph.outputs = {n.add("relu", {n.add("mul", {n.constant({1, 4, 1, 1}), y})})};
     },
     1},
    {"batch_norm, mul, add become one batch_norm where no convolution is before them",
     [](Net& n) {
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
     [](Net& n) {
       const ValueId x = n.input({1, 4, 5, 5});
       const ValueId y = n.conv(n.add("relu", {n.conv(x, 4, 4)}), 4, 4);
       n.graph.outputs = {n.add("relu", {n.add("add", {y, x})})};
     },
     2},
    {"a convolution that is read twice keeps its own output",
     [](Net& n) {
       const ValueId y = n.conv(n.input({1, 4, 5, 5}), 4, 4);
       n.graph.outputs = {n.add("relu", {y}), n.add("sigmoid", {y})};
     },
     3},
    {"a convolution that is an output keeps it",
     [](Net& n) {
       const ValueId y = n.conv(n.input({1, 4, 5, 5}), 4, 4);
       n.graph.outputs = {y, n.add("relu", {y})};
     },
     2},
    {"x + x is not a residual of itself",
     [](Net& n) {
       const ValueId y = n.conv(n.input({1, 4, 5, 5}), 4, 4);
       n.graph.outputs = {n.add("add", {y, y})};
     },
     2},
    {"a broadcast sum is not a residual",
     [](Net& n) {
       const ValueId x = n.input({1, 4, 5, 5});
       const ValueId y = n.input({1, 1, 5, 5});
       n.graph.outputs = {n.add("add", {n.conv(x, 4, 4), y})};
     },
     2},
    {"prelu with a slope a channel",
     [](Net& n) {
       const ValueId y = n.add("sub", {n.conv(n.input({1, 2, 4, 4}), 2, 3), n.constant({3, 1, 1})});
       n.graph.outputs = {n.add("prelu", {y, n.constant({3, 1, 1})})};
     },
     1},
    {"identities and dead ends go",
     [](Net& n) {
       const ValueId x = n.input({2, 3});
       n.add("sigmoid", {x});
       n.graph.outputs = {n.add("tanh", {n.add("identity", {n.add("identity", {x})})})};
     },
     1},
    {"an output that is an identity of the input stays",
     [](Net& n) {
       n.graph.outputs = {n.add("identity", {n.input({2, 3})})};
     },
     1},
    {"a scalar that would enlarge x does not fold",
     [](Net& n) {
       const ValueId x = n.input({1, 1, 3, 3});
       n.graph.outputs = {n.add("mul", {n.conv(x, 1, 1), n.constant({1, 4, 1, 1})})};
     },
     2},
    {"work in channels-last order between convolutions joins the first",
     [](Net& n) {
       const ValueId y = last(n, n.conv(n.input({1, 3, 5, 4}), 3, 6));
       const ValueId z = n.add("relu", {n.add("mul", {y, n.constant({6})})});
       n.graph.outputs = {n.conv(first(n, z), 6, 2)};
     },
     2},
    {"so does a residual",
     [](Net& n) {
       const ValueId y = n.conv(n.input({1, 3, 5, 4}), 3, 3);
       const ValueId sum = n.add("add", {last(n, y), last(n, n.conv(y, 3, 3))});
       n.graph.outputs = {first(n, sum)};
     },
     2},
    {"a slope of the last axis becomes one a channel",
     [](Net& n) {
       const ValueId y = last(n, n.conv(n.input({1, 3, 5, 4}), 3, 6));
       n.graph.outputs = {first(n, n.add("prelu", {y, n.constant({1, 1, 6})}))};
     },
     1},
    {"concatenation names another axis",
     [](Net& n) {
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
     [](Net& n) {
       const ValueId y = last(n, n.conv(n.input({1, 3, 5, 4}), 3, 6));
       n.graph.outputs = {y, first(n, n.add("tanh", {y}))};
     },
     3},
    {"two transposes in different orders stay apart",
     [](Net& n) {
       const ValueId x = n.input({1, 4, 4, 4}), y = n.input({1, 4, 4, 4});
       n.graph.outputs = {n.add("add", {last(n, x), first(n, y)})};
     },
     3},
    {"zeros around the input of a convolution are its padding",
     [](Net& n) {
       n.graph.outputs = {n.conv(pad(n, n.input({1, 3, 5, 4}), {0, 0, 0, 1, 0, 0, 2, 3}), 3, 2)};
     },
     1},
    {"and through a transpose",
     [](Net& n) {
       const ValueId x = pad(n, n.input({1, 5, 4, 3}), {0, 1, 2, 0, 0, 3, 4, 0});
       n.graph.outputs = {n.conv(first(n, x), 3, 2)};
     },
     2},
    {"zeros in channels stay",
     [](Net& n) {
       n.graph.outputs = {n.conv(pad(n, n.input({1, 2, 5, 4}), {0, 1, 0, 0, 0, 0, 0, 0}), 3, 2)};
     },
     2},
};

class Simplify : public testing::TestWithParam<Case> {};

TEST_P(Simplify, KeepsTheFunction) {
  Net net;
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

TEST(SimplifyHistory, SaysWhatItDid) {
  Net net;
  net.graph.outputs = {net.add("relu", {net.conv(net.input({1, 1, 3, 3}), 1, 1)})};
  simplify(net.graph);
  EXPECT_EQ(net.graph.history, std::vector<std::string>{"fuse 'relu1' (relu) into 'conv0'"});
}

}  // namespace
}  // namespace stowage
