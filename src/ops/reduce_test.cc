// SPDX-License-Identifier: Apache-2.0
// Reductions, softmax, normalisation: operators that look along axes.
#include "ops/conv/test_util.h"

namespace stowage {
namespace {

using namespace op_test;

/// Multiples of a quarter below 2.
Tensor in_steps(const Ints& extents) {
  std::mt19937 random(3);
  Tensor t = random_tensor(DType::f32, extents, 0, 1, random);
  for (float& x : t.as<float>()) x = static_cast<float>(random() % 8) / 4;
  return t;
}

TEST(Reduce, EveryLayoutGivesTheSame) {
  for (const char* op : {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_l1",
                         "reduce_l2", "reduce_sum_square"}) {
    for (const Ints& axes : {Ints{2, 3}, Ints{1}, Ints{3}, Ints{0, 1, 2, 3}, Ints{0}, Ints{1, 3}}) {
      for (const std::int64_t keep : {0, 1}) {
        for (const std::int64_t channels : {1, 5, 17}) {
          OpCase c{.op = op,
                   .attrs = {{"axes", axes}, {"keepdims", keep}},
                   .inputs = {{.extents = {2, channels, 3, 19}}}};
          c.layouts = {"b/4 a (c d)~16B b%4"};
          c.atol = 1e-5;
          const int offers = check_offers(c);
          if (axes == Ints{2, 3} || axes == Ints{1}) {
            EXPECT_GE(offers, 5) << op;
          }
        }
      }
    }
  }
}

TEST(Reduce, KnownValues) {
  const In x = In::of(floats_tensor({2, 2}, {1, -2, 3, 4}), false);
  const auto run = [&](const char* op, Ints axes) {
    return elements<float>(reference(
        {.op = op, .attrs = {{"axes", axes}, {"keepdims", std::int64_t{0}}}, .inputs = {x}})[0]);
  };
  using V = std::vector<float>;
  EXPECT_EQ(run("reduce_sum", {0}), (V{4, 2}));
  EXPECT_EQ(run("reduce_sum", {-1}), (V{-1, 7}));
  EXPECT_EQ(run("reduce_mean", {}), (V{1.5f}));
  EXPECT_EQ(run("reduce_prod", {1}), (V{-2, 12}));
  EXPECT_EQ(run("reduce_l1", {1}), (V{3, 7}));
  EXPECT_EQ(run("reduce_max", {1}), (V{1, 4}));
  EXPECT_EQ(run("reduce_min", {0}), (V{1, -2}));
  EXPECT_EQ(run("reduce_sum_square", {0}), (V{10, 20}));
}

TEST(Reduce, EmptyAxesAndErrors) {
  const auto shape = [](std::map<std::string, Attribute> attrs, const Ints& x) {
    OpGraph g({.op = "reduce_sum", .attrs = std::move(attrs), .inputs = {{.extents = x}}});
    return g.ref().output().shape.rank();
  };
  EXPECT_EQ(shape({{"axes", Ints{}}, {"keepdims", std::int64_t{0}}}, {2, 3}), 0);
  EXPECT_EQ(shape({{"axes", Ints{}},
                   {"keepdims", std::int64_t{0}},
                   {"noop_with_empty_axes", std::int64_t{1}}},
                  {2, 3}),
            2);
  const auto code = [](const Ints& axes) {
    return error_code_of(
        {.op = "reduce_sum", .attrs = {{"axes", axes}}, .inputs = {{.extents = {2, 3}}}});
  };
  EXPECT_EQ(code({2}), 3);
  EXPECT_EQ(code({0, -2}), 3);
}

TEST(ArgMax, FirstOrLast) {
  const In x = In::of(floats_tensor({2, 3}, {1, 5, 5, 7, 7, 0}), false);
  const auto run = [&](const char* op, std::int64_t axis, std::int64_t last) {
    return elements<std::int64_t>(reference(
        {.op = op, .attrs = {{"axis", axis}, {"select_last_index", last}}, .inputs = {x}})[0]);
  };
  using V = std::vector<std::int64_t>;
  EXPECT_EQ(run("arg_max", 1, 0), (V{1, 0}));
  EXPECT_EQ(run("arg_max", 1, 1), (V{2, 1}));
  EXPECT_EQ(run("arg_min", 0, 0), (V{0, 0, 1}));
  EXPECT_EQ(error_code_of({.op = "arg_max", .inputs = {{.extents = {0, 3}}}}), 3);
}

TEST(ArgMax, EveryLayoutGivesTheSame) {
  for (const char* op : {"arg_max", "arg_min"}) {
    for (std::int64_t axis = 0; axis < 4; ++axis) {
      for (const std::int64_t channels : {1, 5, 16, 67}) {
        for (const std::int64_t last : {0, 1}) {
          const OpCase c{.op = op,
                         .attrs = {{"axis", axis}, {"keepdims", last}, {"select_last_index", last}},
                         // Few values, so that some are equal.
                         .inputs = {In::of(in_steps({2, channels, 3, 7}), false)}};
          EXPECT_GE(check_offers(c), 5) << op << " along axis " << axis;
        }
      }
    }
  }
}

TEST(CumSum, Directions) {
  const auto run = [](std::int64_t exclusive, std::int64_t reverse) {
    return elements<float>(
        reference({.op = "cum_sum",
                   .attrs = {{"axes", Ints{0}}, {"exclusive", exclusive}, {"reverse", reverse}},
                   .inputs = {In::of(floats_tensor({3}, {1, 2, 3}), false)}})[0]);
  };
  using V = std::vector<float>;
  EXPECT_EQ(run(0, 0), (V{1, 3, 6}));
  EXPECT_EQ(run(1, 0), (V{0, 1, 3}));
  EXPECT_EQ(run(0, 1), (V{6, 5, 3}));
  EXPECT_EQ(run(1, 1), (V{5, 3, 0}));
}

TEST(Softmax, EveryLayoutGivesTheSame) {
  for (const char* op : {"softmax", "log_softmax", "hardmax"}) {
    for (const Ints& extents :
         {Ints{2, 5, 3, 7}, Ints{1, 33, 1, 1}, Ints{3, 40}, Ints{19}, Ints{1, 16, 5, 300}}) {
      const auto rank = static_cast<std::int64_t>(extents.size());
      for (std::int64_t axis = 0; axis < rank; ++axis) {
        for (const std::int64_t flatten : {0, 1}) {
          OpCase c{.op = op,
                   .attrs = {{"axis", axis}, {"flatten", flatten}},
                   .inputs = {{.extents = extents, .lo = -20, .hi = 20}}};
          check_offers(c);
        }
      }
    }
  }
  // Along the channels blocks, too, with tails and without.
  for (const std::int64_t channels : {5, 16, 67}) {
    EXPECT_GE(check_offers({.op = "softmax",
                            .attrs = {{"axis", std::int64_t{1}}},
                            .inputs = {{.extents = {2, channels, 3, 7}, .lo = -20, .hi = 20}}}),
              5);
  }
}

TEST(Softmax, LargeNumbersAndFlattening) {
  const auto run = [](std::map<std::string, Attribute> attrs, const Ints& extents,
                      const std::vector<float>& x) {
    const OpCase c{.op = "softmax",
                   .attrs = std::move(attrs),
                   .inputs = {In::of(floats_tensor(extents, x), false)}};
    check_offers(c);
    return elements<float>(reference(c)[0]);
  };
  using V = std::vector<float>;
  EXPECT_EQ(run({}, {2}, {10000, 10000}), (V{0.5f, 0.5f}));
  EXPECT_EQ(run({{"axis", std::int64_t{1}}, {"flatten", std::int64_t{1}}}, {1, 2, 2}, {3, 3, 3, 3}),
            (V{0.25f, 0.25f, 0.25f, 0.25f}));
  EXPECT_EQ(run({{"axis", std::int64_t{0}}}, {2, 1}, {0, 0}), (V{0.5f, 0.5f}));
  EXPECT_EQ(
      error_code_of(
          {.op = "softmax", .attrs = {{"axis", std::int64_t{2}}}, .inputs = {{.extents = {2, 3}}}}),
      3);
}

TEST(Lrn, EveryLayoutGivesTheSame) {
  for (const std::int64_t size : {1, 2, 3, 5, 100}) {
    for (const float beta : {0.75f, 0.5f, 1.3f}) {
      const OpCase c{.op = "lrn",
                     .attrs = {{"size", size}, {"beta", beta}, {"alpha", 0.3f}, {"bias", 1.5f}},
                     .inputs = {{.extents = {2, 17, 5, 7}}}};
      EXPECT_GE(check_offers(c), 1);
    }
  }
  EXPECT_EQ(error_code_of({.op = "lrn", .inputs = {{.extents = {1, 2, 3}}}}), 3);
}

/// A shuffle of channels moves no byte: their blocks lie inside one another then.
TEST(Norms, ChannelsThatLieShuffled) {
  for (const char* op : {"lrn", "instance_norm", "layer_norm"}) {
    SCOPED_TRACE(op);
    OpCase c{.op = op,
             .inputs = {{.extents = {2, 8, 5, 7}}},
             .layouts = {"n c%4 c/4 h w", "n h w c%4 c/4", "n c%2 h w c/2", "a b%4 b/4 c d",
                         "a c d b%4 b/4"}};
    if (std::string_view(op) == "lrn") c.attrs = {{"size", std::int64_t{3}}, {"alpha", 0.9f}};
    if (std::string_view(op) == "layer_norm") c.attrs = {{"axis", std::int64_t{1}}};
    if (std::string_view(op) != "lrn") {
      const Ints parameter = std::string_view(op) == "layer_norm" ? Ints{8, 5, 7} : Ints{8};
      c.inputs.push_back({.extents = parameter});
      c.inputs.push_back({.extents = parameter});
    }
    c.rtol = c.atol = 1e-4;
    EXPECT_GE(check_offers(c), 1);
  }
}

TEST(LayerNorm, RowsHaveMeanZeroAndVarianceOne) {
  const auto r = reference({.op = "layer_norm",
                            .attrs = {{"epsilon", 0.0f}},
                            .inputs = {In::of(floats_tensor({2, 2}, {1, 3, -5, 5}), false),
                                       In::of(floats_tensor({2}, {1, 2}), false),
                                       In::of(floats_tensor({2}, {0, 1}), false)}});
  EXPECT_EQ(elements<float>(r[0]), (std::vector<float>{-1, 3, -1, 3}));
}

TEST(LayerNorm, EveryOfferMatchesTheReference) {
  for_each_target([] {
    for (std::int64_t n = 1; n <= 33; ++n) {
      OpCase c{.op = "layer_norm",
               .inputs = {{.extents = {2, 5, n}}, {.extents = {n}}, {.extents = {n}}}};
      c.rtol = c.atol = 1e-4;  // of one or two elements the variance is small
      EXPECT_GT(check_offers(c), 0) << n;
      c.inputs.pop_back();
      EXPECT_GT(check_offers(c), 0) << n;
    }
    EXPECT_GT(
        check_offers(
            {.op = "layer_norm",
             .attrs = {{"axis", std::int64_t{1}}},
             .inputs = {{.extents = {3, 7, 65}}, {.extents = {7, 65}}, {.extents = {1, 7, 65}}}}),
        0);
    EXPECT_GT(check_offers({.op = "layer_norm",
                            .inputs = {{.extents = {200, 768}, .lo = 900, .hi = 1100},
                                       {.extents = {768}},
                                       {.extents = {768}}},
                            .rtol = 1e-3,
                            .atol = 1e-3}),
              0);
  });
  // A scale for each row is left to the reference.
  EXPECT_EQ(
      check_offers({.op = "layer_norm", .inputs = {{.extents = {5, 8}}, {.extents = {5, 1}}}}), 0);
}

TEST(InstanceNorm, EveryLayoutGivesTheSame) {
  for (const Ints& extents : {Ints{2, 17, 5, 7}, Ints{1, 5, 33, 40}, Ints{3, 16, 1, 1},
                              Ints{2, 1, 6, 3}, Ints{2, 67, 9}}) {
    OpCase c{.op = "instance_norm",
             .inputs = {{.extents = extents, .lo = 3, .hi = 5},
                        {.extents = {extents[1]}, .constant = true},
                        {.extents = {extents[1]}, .constant = true}}};
    c.atol = 1e-5;
    EXPECT_GE(check_offers(c), 3);
  }
}

/// As after a reshape of (n, g * k, h, w) to (n, g, k * h * w), which moves no byte: k pixels of
/// each channel, and the next channel's behind them.
TEST(InstanceNorm, GroupsOfChannelsThatLieChannelsLast) {
  struct Line {
    std::int64_t groups, channels, pixels;
  };

  for (const Line& l : {Line{32, 2, 50},
                        {8, 3, 35},
                        {5, 31, 9},
                        {3, 32, 12},
                        {2, 40, 7},
                        {1, 4, 9},
                        {16, 4, 1},
                        {40, 5, 6}}) {
    OpCase c{.op = "instance_norm",
             .inputs = {{.extents = {2, l.groups, l.channels * l.pixels}, .lo = 3, .hi = 5},
                        {.extents = {l.groups}},
                        {.extents = {l.groups}}},
             .layouts = {text("a c%", l.pixels, " b c/", l.pixels)}};
    c.atol = 1e-5;
    EXPECT_GE(check_offers(c), 1) << l.groups << " groups of " << l.channels;
  }
}

TEST(InstanceNorm, ChannelsAreNormalised) {
  const OpCase c{.op = "instance_norm",
                 .attrs = {{"epsilon", 0.0f}},
                 .inputs = {In::of(floats_tensor({1, 2, 2}, {1, 3, -5, 5}), false),
                            In::of(floats_tensor({2}, {1, 2}), false),
                            In::of(floats_tensor({2}, {0, 1}), false)}};
  EXPECT_EQ(elements<float>(reference(c)[0]), (std::vector<float>{-1, 1, -1, 3}));
}

}  // namespace
}  // namespace stowage
