// SPDX-License-Identifier: Apache-2.0
// Attention as exporters write it: what becomes one node, and what stays as it was. Every case
// runs by references before and after.
#include <gtest/gtest.h>

#include <functional>

#include "graph/passes/passes.h"
#include "stowage/model.h"
#include "tests/suite/graph_builder.h"

namespace stowage {
namespace {

Attributes attribute(std::string name, Attribute value) {
  Attributes a;
  a.set(std::move(name), std::move(value));
  return a;
}

ValueId number(GraphBuilder& n, float v) {
  Tensor t(DType::f32, Shape());
  t.as<float>()[0] = v;
  return n.graph.add_constant("s" + std::to_string(n.graph.value_count()), std::move(t));
}

ValueId softmax(GraphBuilder& n, ValueId x, std::int64_t axis = -1) {
  return n.add("softmax", {x}, attribute("axis", axis));
}

/// q of 2 x 3 x 5 x 4, k and v of 7 keys.
struct Operands {
  explicit Operands(GraphBuilder& n)
      : q(n.input({2, 3, 5, 4})), k(n.input({2, 3, 4, 7})), v(n.input({2, 3, 7, 6})) {}

  ValueId q, k, v;
};

ValueId scores(GraphBuilder& n, const Operands& o) { return n.add("matmul", {o.q, o.k}); }

/// softmax(x) v
ValueId attended(GraphBuilder& n, ValueId x, const Operands& o, std::int64_t axis = -1) {
  return n.add("matmul", {softmax(n, x, axis), o.v});
}

struct Case {
  const char* name;
  std::function<ValueId(GraphBuilder&)> build;
  std::vector<std::string_view> left;  ///< operators, in order
  float scale = 1;
};

const Case kCases[] = {
    {"plain",
     [](GraphBuilder& n) {
       const Operands o(n);
       return attended(n, scores(n, o), o);
     },
     {"attention"}},
    {"scores divided",
     [](GraphBuilder& n) {
       const Operands o(n);
       return attended(n, n.add("div", {scores(n, o), number(n, 2)}), o);
     },
     {"attention"},
     0.5f},
    {"queries and keys scaled, and the scores",
     [](GraphBuilder& n) {
       Operands o(n);
       o.q = n.add("mul", {o.q, number(n, 0.5f)});
       o.k = n.add("mul", {number(n, 0.5f), o.k});
       return attended(n, n.add("mul", {scores(n, o), number(n, 3)}), o);
     },
     {"attention"},
     0.75f},
    {"keys scaled before they are transposed, and not by one number",
     [](GraphBuilder& n) {
       Operands o(n);
       const ValueId keys = n.add("mul", {n.input({2, 3, 7, 4}), number(n, 0.25f)});
       o.k = n.add("transpose", {keys}, attribute("perm", Ints{0, 1, 3, 2}));
       o.q = n.add("mul", {o.q, n.constant({4})});
       return attended(n, scores(n, o), o);
     },
     {"transpose", "mul", "attention"},
     0.25f},
    {"a mask of keys, whichever way it is added",
     [](GraphBuilder& n) {
       const Operands o(n);
       return attended(n, n.add("add", {n.input({2, 1, 1, 7}), scores(n, o)}), o);
     },
     {"attention"}},
    {"scaled scores and a mask of keys",
     [](GraphBuilder& n) {
       const Operands o(n);
       const ValueId s = n.add("div", {scores(n, o), number(n, 4)});
       return attended(n, n.add("add", {s, n.input({2, 1, 1, 7})}), o);
     },
     {"attention"},
     0.25f},
    {"a mask of every score and one of keys",
     [](GraphBuilder& n) {
       const Operands o(n);
       const ValueId s = n.add("add", {scores(n, o), n.input({2, 3, 5, 7})});
       return attended(n, n.add("add", {s, n.input({2, 1, 1, 7})}), o);
     },
     {"matmul", "add", "softmax", "matmul"}},
    {"a mask before the factor",
     [](GraphBuilder& n) {
       const Operands o(n);
       const ValueId s = n.add("add", {scores(n, o), n.input({2, 3, 5, 7})});
       return attended(n, n.add("mul", {s, number(n, 0.5f)}), o);
     },
     {"matmul", "softmax", "matmul"}},
    {"a mask for each score",
     [](GraphBuilder& n) {
       const Operands o(n);
       const ValueId s = n.add("mul", {scores(n, o), number(n, 0.5f)});
       return attended(n, n.add("add", {s, n.input({2, 3, 5, 7})}), o);
     },
     {"attention"},
     0.5f},
    {"a constant mask of the last axis",
     [](GraphBuilder& n) {
       const Operands o(n);
       return attended(n, n.add("add", {scores(n, o), n.constant({5, 7})}), o);
     },
     {"attention"}},
    {"a shortcut behind it",
     [](GraphBuilder& n) {
       const Operands o(n);
       return n.add("add", {n.input({2, 3, 5, 6}), attended(n, scores(n, o), o)});
     },
     {"attention"}},
    {"two in a row",
     [](GraphBuilder& n) {
       const Operands o(n);
       const ValueId y = attended(n, scores(n, o), o);
       const ValueId again = n.add("matmul", {y, n.input({2, 3, 6, 8})});
       return n.add("matmul", {softmax(n, again), n.input({2, 3, 8, 2})});
     },
     {"attention", "attention"}},
    {"softmax along the queries",
     [](GraphBuilder& n) {
       const Operands o(n);
       return attended(n, scores(n, o), o, 2);
     },
     {"matmul", "softmax", "matmul"}},
    {"scores that something else reads",
     [](GraphBuilder& n) {
       const Operands o(n);
       const ValueId s = scores(n, o);
       n.graph.outputs.push_back(n.add("relu", {s}));
       return attended(n, s, o);
     },
     {"matmul", "relu", "softmax", "matmul"}},
    {"shares that are an output",
     [](GraphBuilder& n) {
       const Operands o(n);
       const ValueId s = softmax(n, scores(n, o));
       n.graph.outputs.push_back(s);
       return n.add("matmul", {s, o.v});
     },
     {"matmul", "softmax", "matmul"}},
    {"two masks",
     [](GraphBuilder& n) {
       const Operands o(n);
       const ValueId s = n.add("add", {scores(n, o), n.input({2, 3, 5, 7})});
       return attended(n, n.add("add", {s, n.input({2, 1, 5, 7})}), o);
     },
     {"matmul", "add", "softmax", "matmul"}},
    {"a capped score",
     [](GraphBuilder& n) {
       const Operands o(n);
       return attended(n, n.add("tanh", {scores(n, o)}), o);
     },
     {"matmul", "softmax", "matmul"}},
    {"queries that serve several batches of keys",
     [](GraphBuilder& n) {
       Operands o(n);
       o.q = n.input({1, 3, 5, 4});
       return attended(n, scores(n, o), o);
     },
     {"matmul", "softmax", "matmul"}},
    {"shares as the right matrix",
     [](GraphBuilder& n) {
       const Operands o(n);
       return n.add("matmul", {n.input({2, 3, 6, 5}), softmax(n, scores(n, o))});
     },
     {"matmul", "softmax", "matmul"}},
};

TEST(FuseAttention, MakesOneNodeOfEverySpelling) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    GraphBuilder n;
    const ValueId y = c.build(n);
    n.graph.outputs.push_back(y);
    infer_shapes(n.graph);
    const std::vector<Tensor> before = n.run();
    simplify(n.graph);
    const bool fuses = c.left.back() == "attention";
    EXPECT_EQ(has_attention(n.graph), fuses);
    EXPECT_EQ(fuse_attention(n.graph), fuses);
    EXPECT_FALSE(has_attention(n.graph));
    verify(n.graph);
    std::vector<std::string_view> left;
    for (const NodeId id : n.graph.topological_order()) {
      const Node& node = n.graph.node(id);
      left.push_back(node.op->name);
      if (node.op->name == "attention") {
        EXPECT_FLOAT_EQ(node.attrs.real("scale", 1), c.scale);
      }
    }
    EXPECT_EQ(left, c.left);
    const std::vector<Tensor> after = n.run();
    for (std::size_t i = 0; i < before.size(); ++i) {
      const auto a = before[i].as<float>(), b = after[i].as<float>();
      for (std::size_t k = 0; k < a.size(); ++k) EXPECT_NEAR(a[k], b[k], 1e-5f * std::abs(a[k]));
    }
  }
}

}  // namespace
}  // namespace stowage
