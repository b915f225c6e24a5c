// SPDX-License-Identifier: Apache-2.0
// Operators that no pass can know by name: what they do stands in their records alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "stowage/model.h"
#include "tests/suite/graph_builder.h"

namespace stowage {
namespace {

void infer_same(const InferRef& node) {
  node.set_output(0, node.dtype(0), node.shape(0).extents());
}

template <class F>
void each_element(const ReferenceArgs& args, F f) {
  const Shape& shape = args.out[0].mapping.shape();
  const std::int64_t run = shape.elements() / (shape[0] * shape[1]);
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    args.output<float>(0)[i] = f(args.input<float>(0)[i], i / run % shape[1]);
  }
}

/// y = x / 2 + 1
const OpDef kHalf{
    .name = "half",
    .infer = infer_same,
    .permute = permute_nothing,
    .scale_shift = [](const NodeRef& node, int, AxisRange axes) -> std::optional<ScaleShift> {
      if (axes.first != 1 || axes.last != 2) return std::nullopt;
      const auto channels = static_cast<std::size_t>(node.shape(0)[1]);
      return ScaleShift{std::vector<float>(channels, 0.5f), std::vector<float>(channels, 1.0f)};
    },
    .reference =
        [](const ReferenceArgs& args) {
          each_element(args, [](float x, std::int64_t) { return x / 2 + 1; });
        }};

/// y = x * k[c]
const OpDef kGain{
    .name = "gain",
    .infer = infer_same,
    .scaled_axes =
        [](const NodeRef&) {
          return std::optional(AxisRange{1, 2});
        },
    .take_scale_shift = [](const NodeRef& node, const ScaleShift& by) -> std::optional<Rewritten> {
      if (by.shifts() || node.constant(1) == nullptr) return std::nullopt;
      Tensor gains = *node.constant(1);
      for (std::size_t c = 0; c < by.scale.size(); ++c) gains.as<float>()[c] *= by.scale[c];
      Rewritten out{node.attrs()};
      out.constants.emplace_back(1, std::move(gains));
      return out;
    },
    .reference =
        [](const ReferenceArgs& args) {
          each_element(args, [&](float x, std::int64_t c) { return x * args.input<float>(1)[c]; });
        }};

/// One more row of zeros above the pixels n c h w.
const OpDef kLid{.name = "lid",
                 .infer =
                     [](const InferRef& node) {
                       const Shape& x = node.shape(0);
                       node.set_output(0, node.dtype(0), {x[0], x[1], x[2] + 1, x[3]});
                     },
                 .zero_pads =
                     [](const NodeRef&) {
                       return std::optional(ZeroPads{{0, 0, 1, 0}, {0, 0, 0, 0}});
                     },
                 .reference =
                     [](const ReferenceArgs& args) {
                       const Shape& x = args.in[0].mapping.shape();
                       const std::int64_t plane = x[2] * x[3];
                       for (std::int64_t p = 0; p < x[0] * x[1]; ++p) {
                         float* y = args.output<float>(0) + p * (plane + x[3]);
                         std::fill_n(y, x[3], 0.0f);
                         std::copy_n(args.input<float>(0) + p * plane, plane, y + x[3]);
                       }
                     }};

/// n c h w becomes w n c h.
const OpDef kRoll{.name = "roll",
                  .infer =
                      [](const InferRef& node) {
                        const Shape& x = node.shape(0);
                        node.set_fact("perm", Ints{3, 0, 1, 2});
                        node.set_output(0, node.dtype(0), {x[3], x[0], x[1], x[2]});
                      },
                  .transposes = true,
                  .reference =
                      [](const ReferenceArgs& args) {
                        const Shape& x = args.in[0].mapping.shape();
                        const std::int64_t rows = x.elements() / x[3];
                        for (std::int64_t i = 0; i < x.elements(); ++i) {
                          args.output<float>(0)[i % x[3] * rows + i / x[3]] =
                              args.input<float>(0)[i];
                        }
                      }};

ValueId own(GraphBuilder& n, const OpDef& op, std::vector<ValueId> inputs) {
  return n.add_many(op, std::move(inputs), 1)[0];
}

ValueId transpose(GraphBuilder& n, ValueId x, const Ints& perm) {
  Attributes a;
  a.set("perm", perm);
  return n.add("transpose", {x}, a);
}

struct Case {
  const char* name;
  std::function<void(GraphBuilder&)> build;
  std::size_t nodes_left;
};

const Case kCases[] = {
    {"what scales and shifts by its own record folds",
     [](GraphBuilder& n) {
       n.graph.outputs = {own(n, kHalf, {n.conv(n.input({1, 3, 5, 4}), 3, 6)}),
                          own(n, kHalf, {own(n, kHalf, {n.input({1, 3, 5, 4})})})};
     },
     2},
    {"and what takes a scale and no shift takes that",
     [](GraphBuilder& n) {
       const ValueId x = n.input({1, 3, 5, 4}), k = n.constant({3});
       n.graph.outputs = {n.add("div", {own(n, kGain, {x, k}), n.constant({3, 1, 1})}),
                          own(n, kHalf, {own(n, kGain, {x, k})})};
     },
     3},
    {"what works in any order of axes lets transposes pass",
     [](GraphBuilder& n) {
       n.graph.outputs = {transpose(
           n, own(n, kHalf, {transpose(n, n.conv(n.input({1, 3, 5, 4}), 3, 6), {0, 2, 3, 1})}),
           {0, 3, 1, 2})};
     },
     1},
    {"what adds zeros is the padding of a convolution, through a transpose of its own, too",
     [](GraphBuilder& n) {
       const ValueId x = n.input({1, 3, 5, 4});
       n.graph.outputs = {n.conv(own(n, kLid, {x}), 3, 2),
                          n.conv(own(n, kRoll, {own(n, kLid, {x})}), 1, 2)};
     },
     3},
    {"four rolls are nothing, three are one transpose",
     [](GraphBuilder& n) {
       const ValueId x = n.conv(n.input({1, 3, 5, 4}), 3, 2);
       ValueId y = own(n, kRoll, {own(n, kRoll, {own(n, kRoll, {x})})});
       n.graph.outputs = {n.add("tanh", {y}), n.add("relu", {own(n, kRoll, {y})})};
     },
     4},
};

TEST(Traits, RewriteAndKeepTheFunction) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    GraphBuilder net;
    c.build(net);
    infer_shapes(net.graph);
    const auto before = net.run();
    simplify(net.graph);
    verify(net.graph);
    EXPECT_EQ(net.live(), c.nodes_left);
    const auto after = net.run();
    for (std::size_t o = 0; o < before.size(); ++o) {
      const auto a = before[o].as<float>(), b = after[o].as<float>();
      ASSERT_EQ(a.size(), b.size());
      for (std::size_t i = 0; i < a.size(); ++i) {
        ASSERT_NEAR(a[i], b[i], 1e-4f * (1 + std::abs(a[i]))) << "output " << o << " element " << i;
      }
    }
  }
}

/// A pass may ask for the one where the other is there.
TEST(Traits, AreThereTogether) {
  for (const auto* family : op_families()) {
    for (const OpDef& op : *family) {
      EXPECT_EQ(op.scaled_axes == nullptr, op.take_scale_shift == nullptr) << op.name;
    }
  }
}

}  // namespace
}  // namespace stowage
