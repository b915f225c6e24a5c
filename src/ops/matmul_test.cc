// SPDX-License-Identifier: Apache-2.0
// Every offer of small products against the reference, numpy's shapes, and the checks of infer.
#include "kernels/gemm/tiles.h"
#include "ops/conv/test_util.h"
#include "tests/suite/graph_builder.h"

namespace stowage {
namespace {

using op_test::check_offers;
using op_test::error_code_of;
using op_test::for_each_target;
using op_test::In;
using op_test::OpCase;

OpCase op_case(const Ints& a, const Ints& b, bool constant = false) {
  OpCase o;
  o.op = "matmul";
  o.inputs.resize(2);
  o.inputs[0].extents = a;
  o.inputs[1].extents = b;
  o.inputs[1].constant = constant;
  o.rtol = 1e-4;
  o.atol = 1e-4;
  o.target_lanes = {tile_lanes()};
  return o;
}

struct Case {
  Ints a, b, y;
  bool fast = true;
};

TEST(MatMul, EveryOfferMatchesTheReference) {
  const Case cases[] = {
      {{3, 4}, {4, 5}, {3, 5}},
      {{1, 70}, {70, 130}, {1, 130}},
      {{7}, {7, 33}, {33}},
      {{2, 3, 4}, {4, 5}, {2, 3, 5}},
      {{2, 3, 4}, {2, 4, 5}, {2, 3, 5}},
      {{2, 1, 3, 4}, {5, 4, 17}, {2, 5, 3, 17}},
      {{4}, {3, 4, 5}, {3, 5}},
      {{3, 4}, {2, 4, 1}, {2, 3, 1}},
      {{1, 3, 4}, {2, 1, 4, 6}, {2, 1, 3, 6}},
      {{2, 3, 4}, {1, 1, 4, 6}, {1, 2, 3, 6}},
      {{4}, {4}, {}, false},
      {{2, 3, 4}, {4}, {2, 3}, false},
  };
  for_each_target([&] {
    for (const Case& c : cases) {
      SCOPED_TRACE(
          text(std::span<const std::int64_t>(c.a), " x ", std::span<const std::int64_t>(c.b)));
      const OpCase o = op_case(c.a, c.b);
      op_test::OpGraph g(o);
      const auto extents = g.ref().output().shape.extents();
      EXPECT_EQ(Ints(extents.begin(), extents.end()), c.y);
      EXPECT_EQ(check_offers(o) > 0, c.fast);
    }
  });
}

TEST(MatMul, EverySmallSize) {
  for (std::int64_t n = 1; n <= 33; ++n) {
    SCOPED_TRACE(n);
    EXPECT_GT(check_offers(op_case({2, 34 - n, n}, {2, n, n})), 0);
  }
}

TEST(MatMul, Integers) {
  OpCase c = op_case({2, 2}, {2, 1});
  c.inputs[0] = In::of(op_test::tensor_of<std::int32_t>(DType::i32, {2, 2}, {1, -2, 3, 4}), false);
  c.inputs[1] = In::of(op_test::tensor_of<std::int32_t>(DType::i32, {2, 1}, {-5, 6}), false);
  EXPECT_EQ(op_test::elements<std::int32_t>(op_test::reference(c)[0]),
            (std::vector<std::int32_t>{-17, 9}));
}

TEST(MatMul, Posts) {
  for (const bool shared : {true, false}) {
    const OpCase c = op_case({2, 3, 4}, shared ? Ints{4, 19} : Ints{2, 4, 19}, shared);
    for (const OpCase& o : op_test::with_post_lists(c, {2, 3, 19}, {1, 19})) {
      SCOPED_TRACE(text_of(o.posts));
      EXPECT_GT(check_offers(o), 0);
    }
  }
}

TEST(MatMul, SlopesOfPRelu) {
  struct SlopeCase {
    Ints a, b, residual, slope;
  };

  const SlopeCase cases[] = {
      {{3, 4}, {4, 19}, {}, {1}},
      {{3, 4}, {4, 19}, {}, {19}},
      {{2, 3, 4}, {4, 19}, {2, 3, 19}, {1}},
      {{2, 3, 4}, {2, 4, 19}, {}, {1, 1, 1}},
      {{2, 3, 4}, {4, 19}, {2, 3, 19}, {19}},
      {{2, 5, 7, 4}, {2, 5, 4, 33}, {}, {1, 33}},
      {{7}, {3, 7, 33}, {}, {33}},
  };
  for_each_target([&] {
    for (const SlopeCase& c : cases) {
      SCOPED_TRACE(text(std::span<const std::int64_t>(c.a), " x ",
                        std::span<const std::int64_t>(c.b), " slopes ",
                        std::span<const std::int64_t>(c.slope)));
      OpCase o = op_case(c.a, c.b, true);
      if (!c.residual.empty()) {
        op_test::add_post(o, {.kind = Post::Kind::add}, {.extents = c.residual});
      }
      const bool one = std::ranges::all_of(c.slope, [](std::int64_t e) { return e == 1; });
      op_test::add_post(
          o,
          op_test::activation_post({Activation::Kind::prelu, 0, 0},
                                   one ? Post::Broadcast::scalar : Post::Broadcast::channel),
          {.extents = c.slope, .constant = true});
      EXPECT_GT(check_offers(o), 0);
    }
  });
}

TEST(MatMul, SaysWhatIsWrong) {
  const int bad = static_cast<int>(ErrorCode::bad_input);
  EXPECT_EQ(error_code_of(op_case({3, 4}, {5, 4})), bad);
  EXPECT_EQ(error_code_of(op_case({}, {4, 4})), bad);
  EXPECT_EQ(error_code_of(op_case({2, 3, 4}, {3, 4, 5})), bad);
}

TEST(MatMul, Bias) {
  for_each_target([] {
    for (std::int64_t n = 1; n <= 33; ++n) {
      OpCase c = op_case({2, 3, 7}, {7, n}, true);
      c.inputs.push_back({.extents = {n}, .constant = true});
      op_test::add_post(c, op_test::activation_post({Activation::Kind::leaky, 0.1f, 0}));
      EXPECT_GT(check_offers(c), 0);
    }
  });
  OpCase wrong = op_case({2, 3, 7}, {7, 5}, true);
  wrong.inputs.push_back({.extents = {4}});
  EXPECT_EQ(error_code_of(wrong), static_cast<int>(ErrorCode::bad_input));
}

/// 2^24 matrices: what is asked a thousand times may not look at each.
TEST(MatMul, OffersDoNotWalkOverBatches) {
  GraphBuilder net;
  const ValueId a = net.input({1 << 12, 1 << 12, 2, 3}), b = net.input({1, 1 << 12, 3, 2});
  net.graph.outputs = {net.add("matmul", {a, b})};
  infer_shapes(net.graph);
  const NodeRef node(net.graph, net.graph.value(net.graph.outputs[0]).producer);
  const Target target{.lanes = tile_lanes(), .threads = 2};
  const OfferRequest request{node, target, {}};
  for (int i = 0; i < 1000; ++i) {
    std::vector<Offer> offers;
    node.node().op->offers(request, offers);
    ASSERT_EQ(offers.size(), 1u);
  }
}

}  // namespace
}  // namespace stowage
