// SPDX-License-Identifier: Apache-2.0
// Every offer of small products against the reference, and the checks of infer.
#include "kernels/gemm/gemm_steps.h"
#include "kernels/gemm/tiles.h"
#include "ops/conv/test_util.h"

namespace stowage {
namespace {

using op_test::check_offers;
using op_test::error_code_of;
using op_test::for_each_target;
using op_test::In;
using op_test::OpCase;

struct Case {
  std::int64_t m, n, k;
  bool trans_a = false, trans_b = false;
  float alpha = 1, beta = 1;
  std::optional<Ints> c = {};
};

OpCase op_case(const Case& c) {
  OpCase o;
  o.op = "gemm";
  o.attrs = {{"transA", std::int64_t{c.trans_a}},
             {"transB", std::int64_t{c.trans_b}},
             {"alpha", c.alpha},
             {"beta", c.beta}};
  In a, b;
  a.extents = c.trans_a ? Ints{c.k, c.m} : Ints{c.m, c.k};
  b.extents = c.trans_b ? Ints{c.n, c.k} : Ints{c.k, c.n};
  b.constant = true;
  o.inputs = {a, b};
  if (c.c) {
    In in;
    in.extents = *c.c;
    o.inputs.push_back(in);
  }
  o.rtol = 1e-4;
  o.atol = 1e-4;
  o.target_lanes = {tile_lanes()};
  return o;
}

TEST(Gemm, EveryOfferMatchesTheReference) {
  const Case cases[] = {
      {1, 1, 1},
      {1, 100, 70},
      {5, 17, 9, true, false},
      {7, 33, 20, false, true, 1, 1, Ints{33}},
      {13, 64, 31, true, true, 1, 1, Ints{1, 64}},
      {3, 5, 7, false, false, 0.5f, 2, Ints{5}},
      {3, 5, 7, false, false, 1, 1, Ints{3, 1}},
      {3, 5, 7, false, false, 1, 1, Ints{3, 5}},
      {3, 5, 7, false, true, 1, 0.25f, Ints{3, 5}},
      {4, 18, 7, false, false, 1, 1, Ints{}},
      {4, 18, 7, false, false, 1, 1, Ints{1}},
      {4, 1, 7, false, false, 1, 1, Ints{1}},
      {4, 18, 7, false, false, 0, 0, Ints{18}},
      {3, 70, 3000, false, true, 1, 1, Ints{70}},
      {600, 20, 3},
  };
  for_each_target([&] {
    int i = 0;
    for (const Case& c : cases) {
      SCOPED_TRACE(text("case ", i++));
      EXPECT_GT(check_offers(op_case(c)), 0);
    }
  });
}

TEST(Gemm, Posts) {
  for (const std::int64_t c_rank : {0, 1, 2}) {
    for (const auto kind :
         {Activation::Kind::clip, Activation::Kind::sigmoid, Activation::Kind::prelu}) {
      Case shape{5, 19, 8};
      if (c_rank == 1) shape.c = Ints{19};
      if (c_rank == 2) shape.c = Ints{5, 19};
      OpCase c = op_case(shape);
      op_test::add_post(c, {.kind = Post::Kind::add}, {.extents = {5, 19}});
      const Post post = op_test::activation_post({kind, 0, 1}, Post::Broadcast::channel);
      if (kind == Activation::Kind::prelu) {
        op_test::add_post(c, post, {.extents = {19}});
      } else {
        op_test::add_post(c, post);
      }
      SCOPED_TRACE(text("rank of c ", c_rank, " activation ", static_cast<int>(kind)));
      EXPECT_GT(check_offers(c), 0);
    }
  }
}

TEST(Gemm, ListsOfPosts) {
  for (const bool full : {false, true}) {
    Case shape{5, 19, 8, false, false, 1, full ? 0.5f : 1};
    shape.c = full ? Ints{5, 19} : Ints{19};
    for (const OpCase& c : op_test::with_post_lists(op_case(shape), {5, 19}, {1, 19})) {
      SCOPED_TRACE(text_of(c.posts));
      EXPECT_GT(check_offers(c), 0);
    }
  }
}

constexpr float kStep = 0.0123f;

/// The case with weights that are whole steps, from -128 to 127.
OpCase in_steps(const Case& shape) {
  OpCase c = op_case(shape);
  Tensor weights(DType::f32, Shape("ab", c.inputs[1].extents));
  std::mt19937 random(5);
  for (float& w : weights.as<float>()) {
    w = static_cast<float>(static_cast<int>(random() % 256) - 128) * kStep;
  }
  c.inputs[1] = In::of(std::move(weights));
  return c;
}

/// Checks the offers of gemm_steps; how many there are.
int check_steps(const OpCase& c, int threads, float step = kStep) {
  op_test::OpGraph g(c);
  g.graph.value(g.graph.node(g.id).inputs[1]).step = step;
  ThreadPool pool(threads);
  int count = 0;
  const auto row_major = [](const Shape& shape) { return std::vector{Layout::row_major(shape)}; };
  const Target target{.lanes = tile_lanes(), .threads = threads};
  for (Offer& offer : op_test::offers_of(g, target, row_major)) {
    if (&offer.call.def() != &kGemmSteps) continue;
    ++count;
    complete_inputs(g.ref(), offer);
    EXPECT_TRUE(op_test::is_listed(*find_op(c.op), offer));
    const std::string why =
        op_test::run_offer(g, offer, threads > 1 ? &pool : nullptr, false, c.rtol, c.atol);
    EXPECT_EQ(why, "") << threads << " threads";
  }
  return count;
}

TEST(Gemm, WeightsInSteps) {
  for_each_target([] {
    for (std::int64_t n = 1; n <= 70; ++n) {
      for (const std::int64_t k : {1, 2, 3, 4, 7, 8, 17, 30}) {
        SCOPED_TRACE(text(n, " x ", k));
        Case shape{1, n, k, false, n % 2 == 0};
        if (k % 3 != 0) shape.c = Ints{n};
        ASSERT_EQ(check_steps(in_steps(shape), 1), 1);
      }
    }
    // Weights that are worth three threads, and one panel that is not divided.
    for (const std::int64_t n : {3, 67, 70, 257}) {
      for (const int threads : {2, 3}) {
        OpCase c = in_steps({1, n, 6001, false, true, 1, 1, Ints{1, n}});
        c.atol = 1e-3;
        EXPECT_EQ(check_steps(c, threads), 1);
      }
    }
  });
}

TEST(Gemm, PostsOfWeightsInSteps) {
  Case shape{1, 83, 9};
  shape.c = Ints{83};
  for_each_target([&] {
    for (const OpCase& c : op_test::with_post_lists(in_steps(shape), {1, 83}, {1, 83})) {
      SCOPED_TRACE(text_of(c.posts));
      EXPECT_EQ(check_steps(c, 1), 1);
    }
  });
}

TEST(Gemm, WhatIsNotInSteps) {
  const Case plain{1, 19, 8};
  EXPECT_EQ(check_steps(in_steps(plain), 1), 1);
  EXPECT_EQ(check_steps(in_steps(plain), 1, 0), 0);
  EXPECT_EQ(check_steps(in_steps({2, 19, 8}), 1), 0);
  EXPECT_EQ(check_steps(in_steps({1, 19, 8, true}), 1), 0);
  EXPECT_EQ(check_steps(in_steps({1, 19, 8, false, false, 0.5f}), 1), 0);
  EXPECT_EQ(check_steps(in_steps({1, 19, 8, false, false, 1, 2, Ints{19}}), 1), 0);
  EXPECT_EQ(check_steps(in_steps({1, 19, 8, false, false, 1, 1, Ints{1}}), 1), 0);
  OpCase computed = in_steps(plain);
  computed.inputs[1].constant = false;
  EXPECT_EQ(check_steps(computed, 1), 0);
}

TEST(Gemm, SaysWhatIsWrong) {
  const int bad = static_cast<int>(ErrorCode::bad_input);
  OpCase c = op_case({3, 4, 5});
  c.inputs[1].extents = {6, 4};
  EXPECT_EQ(error_code_of(c), bad);
  c.inputs[1].extents = {5, 4, 1};
  EXPECT_EQ(error_code_of(c), bad);
  EXPECT_EQ(error_code_of(op_case({3, 4, 5, false, false, 1, 1, Ints{3}})), bad);
  EXPECT_EQ(error_code_of(op_case({3, 4, 5, false, false, 1, 1, Ints{1, 3, 4}})), bad);
}

}  // namespace
}  // namespace stowage
