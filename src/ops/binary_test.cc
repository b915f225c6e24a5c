// SPDX-License-Identifier: Apache-2.0
#include "ops/op_test_util.h"

namespace stowage {
namespace {

using namespace op_test;

struct Known {
  std::string op;
  std::vector<std::vector<float>> x;
  std::vector<float> y;
};

TEST(Binary, ComputesWhatItsNameSays) {
  const std::vector<Known> cases = {
      {"add", {{1, 2}, {3, 5}}, {4, 7}},
      {"sub", {{1, 2}, {3, 5}}, {-2, -3}},
      {"mul", {{1, 2}, {3, 5}}, {3, 10}},
      {"div", {{1, 2}, {4, 5}}, {0.25f, 0.4f}},
      {"pow", {{2, 9}, {3, 0.5f}}, {8, 3}},
      {"mod", {{5.5f, -5.5f}, {2, 2}}, {1.5f, 0.5f}},
      {"atan2", {{1, -2}, {0, -0.0f}}, {1.57079633f, -1.57079633f}},
      {"remainder", {{5, -7}, {2, 4}}, {1, 1}},
      {"prelu", {{-4, 4}, {0.5f, 0.5f}}, {-2, 4}},
      {"sum", {{1, 2}, {3, 5}, {10, 20}}, {14, 27}},
      {"min", {{1, 2}, {3, -5}, {10, 20}}, {1, -5}},
      {"max", {{1, 2}, {3, -5}, {10, 20}}, {10, 20}},
      {"mean", {{1, 2}, {3, 5}, {11, 23}}, {5, 10}},
      {"sum", {{1, 2}}, {1, 2}},
  };
  for (const Known& c : cases) {
    SCOPED_TRACE(c.op);
    OpCase op{.op = c.op};
    for (const auto& x : c.x) op.inputs.push_back(In::of(floats_tensor({2}, x), false));
    EXPECT_EQ(elements<float>(reference(op)[0]), c.y);
    check_offers(op);
  }
}

/// What broadcasts with what.
const std::vector<std::pair<Ints, Ints>> kPairs = {
    {{2, 5, 3, 7}, {2, 5, 3, 7}}, {{1, 17, 3, 7}, {17, 1, 1}},
    {{1, 5, 1, 1}, {1, 5, 3, 7}}, {{2, 5, 3, 7}, {}},
    {{1, 5, 3, 7}, {7}},          {{1, 5, 3, 7}, {3, 1}},
    {{2, 9, 5}, {2, 1, 5}},       {{3, 1}, {1, 6}},
    {{3, 1, 2}, {1, 6, 1}},       {{4}, {2, 3, 4}},
    {{1, 3, 1, 1}, {1, 3, 1, 1}}, {{1, 33, 2, 2}, {1, 1, 2, 2}},
    {{1, 4, 0, 2}, {4, 1, 1}},
};

TEST(Binary, EveryLayoutGivesTheSame) {
  for (const char* op : {"add", "sub", "mul", "div", "min", "max", "sum", "mean"}) {
    for (const auto& [a, b] : kPairs) {
      SCOPED_TRACE(
          text(op, " ", std::span<const std::int64_t>(a), " ", std::span<const std::int64_t>(b)));
      OpCase c{.op = op, .inputs = {{.extents = a}, {.extents = b, .lo = 0.5f}}};
      EXPECT_GT(check_offers(c), 0);
      c.inputs[1].constant = true;
      EXPECT_GT(check_offers(c), 0);
    }
  }
}

TEST(Binary, ManyOperands) {
  for (const char* op : {"sum", "min", "max", "mean"}) {
    const OpCase c{.op = op,
                   .inputs = {{.extents = {1, 5, 3, 7}},
                              {.extents = {5, 1, 1}},
                              {.extents = {1, 5, 3, 7}},
                              {.extents = {7}}}};
    EXPECT_EQ(check_offers(c), 5);
  }
}

TEST(Binary, LargeTensorsAreSharedOut) {
  for (const auto& b : {Ints{1, 30, 37, 23}, Ints{30, 1, 1}}) {
    const OpCase c{.op = "div", .inputs = {{.extents = {1, 30, 37, 23}}, {.extents = b, .lo = 1}}};
    EXPECT_EQ(check_offers(c), 5);
  }
}

TEST(Binary, PReluSlopes) {
  for (const Ints& slope : {Ints{5, 1, 1}, Ints{1}, Ints{1, 5, 3, 7}}) {
    const OpCase c{.op = "prelu",
                   .inputs = {{.extents = {1, 5, 3, 7}}, {.extents = slope, .constant = true}}};
    EXPECT_EQ(check_offers(c), 5);
  }
  OpGraph g({.op = "prelu",
             .inputs = {{.extents = {1, 5, 3, 7}}, {.extents = {5, 1, 1}, .constant = true}}});
  const auto post = g.ref().node().op->post(g.ref(), 0);
  ASSERT_TRUE(post);
  EXPECT_EQ(post->activation.kind, Activation::Kind::prelu);
  EXPECT_EQ(post->input, 1);
  EXPECT_FALSE(g.ref().node().op->post(g.ref(), 1));
}

TEST(Binary, PowersWithFastForms) {
  for (const float e : {2.0f, 0.5f, -1.0f, 1.0f}) {
    const OpCase c{.op = "pow",
                   .inputs = {{.extents = {1, 5, 3}, .lo = 0.1f}, In::of(floats_tensor({}, {e}))}};
    EXPECT_EQ(check_offers(c), 5) << e;
  }
}

TEST(Binary, IntegersWrapAndTruncate) {
  const auto run = [](const char* op, std::vector<std::int64_t> a, std::vector<std::int64_t> b) {
    return elements<std::int64_t>(
        reference({.op = op, .inputs = {In::of(ints_tensor(a)), In::of(ints_tensor(b))}})[0]);
  };
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(run("div", {-7, least}, {2, -1}), (std::vector<std::int64_t>{-3, least}));
  EXPECT_EQ(run("add", {least}, {-1}), (std::vector<std::int64_t>{-(least + 1)}));
  EXPECT_EQ(run("mod", {-7, 7, least}, {3, -3, -1}), (std::vector<std::int64_t>{2, -2, 0}));
  EXPECT_EQ(run("pow", {3, 2, -1, 5}, {4, 63, -3, -2}),
            (std::vector<std::int64_t>{81, least, -1, 0}));
}

TEST(Binary, ErrorsHaveCodes) {
  const In zero = In::of(ints_tensor({0})), one = In::of(ints_tensor({1}));
  EXPECT_EQ(error_code_of({.op = "div", .inputs = {one, zero}}), 3);
  EXPECT_EQ(error_code_of({.op = "mod", .inputs = {one, zero}}), 3);
  EXPECT_EQ(error_code_of({.op = "add", .inputs = {{.extents = {2, 3}}, {.extents = {2}}}}), 3);
  EXPECT_EQ(error_code_of({.op = "add", .inputs = {{.extents = {2}}, one}}), 3);
  EXPECT_EQ(error_code_of({.op = "prelu", .inputs = {{.extents = {2}}, {.extents = {3, 2}}}}), 3);
}

TEST(Clip, BoundsFromAttributesOrInputs) {
  const std::vector<float> x = {-3, 0, 1, 9};
  const In in = In::of(floats_tensor({4}, x), false);
  const auto scalar = [](float v) { return In::of(floats_tensor({}, {v})); };
  const std::vector<std::pair<OpCase, std::vector<float>>> cases = {
      {{.op = "clip", .attrs = {{"min", 0.0f}, {"max", 6.0f}}, .inputs = {in}}, {0, 0, 1, 6}},
      {{.op = "clip", .inputs = {in, scalar(-1), scalar(1)}}, {-1, 0, 1, 1}},
      {{.op = "clip", .inputs = {in, scalar(-1)}}, {-1, 0, 1, 9}},
      {{.op = "clip", .inputs = {in, {.absent = true}, scalar(1)}}, {-3, 0, 1, 1}},
      {{.op = "clip", .inputs = {in, scalar(2), scalar(1)}}, {1, 1, 1, 1}},
      {{.op = "clip", .inputs = {in}}, {-3, 0, 1, 9}},
  };
  for (const auto& [c, y] : cases) {
    EXPECT_EQ(elements<float>(reference(c)[0]), y);
    EXPECT_GT(check_offers(c), 0);
    OpCase wide = c;
    wide.inputs[0] = {.extents = {1, 5, 3, 7}};
    EXPECT_EQ(check_offers(wide), 5);
  }
}

TEST(BatchNorm, EveryLayoutGivesTheSame) {
  for (const Ints& extents :
       {Ints{1, 5, 3, 7}, Ints{2, 17, 4, 5}, Ints{3, 9}, Ints{1, 33, 6}, Ints{1, 16, 37, 29}}) {
    const Ints c = {extents[1]};
    OpCase op{.op = "batch_norm",
              .inputs = {{.extents = extents},
                         {.extents = c, .constant = true},
                         {.extents = c, .constant = true},
                         {.extents = c, .constant = true},
                         {.extents = c, .constant = true, .lo = 0.1f}}};
    EXPECT_EQ(check_offers(op), extents.size() == 2 ? 4 : 5);
    op_test::add_post(op, op_test::activation_post({Activation::Kind::clip, 0.5f, 1.0f}));
    EXPECT_EQ(check_offers(op), extents.size() == 2 ? 4 : 5);
  }
}

TEST(BatchNorm, KnownValuesAndErrors) {
  const auto vec = [](std::vector<float> v) { return In::of(floats_tensor({2}, v)); };
  OpCase c{.op = "batch_norm",
           .attrs = {{"epsilon", 0.0f}},
           .inputs = {In::of(floats_tensor({1, 2, 2}, {1, 2, 3, 4}), false), vec({2, 3}),
                      vec({1, -1}), vec({1, 2}), vec({4, 1})}};
  EXPECT_EQ(elements<float>(reference(c)[0]), (std::vector<float>{1, 2, 2, 5}));
  c.attrs["training_mode"] = std::int64_t{1};
  EXPECT_EQ(error_code_of(c), 4);
  c.attrs.erase("training_mode");
  c.inputs[2] = In::of(floats_tensor({3}, {1, 2, 3}));
  EXPECT_EQ(error_code_of(c), 3);
}

}  // namespace
}  // namespace stowage
