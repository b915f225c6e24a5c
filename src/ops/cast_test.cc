// SPDX-License-Identifier: Apache-2.0
// cast, comparisons, where, constants, depth_to_space.
#include <limits>

#include "ops/elements.h"
#include "ops/op_test_util.h"

namespace stowage {
namespace {

using namespace op_test;

TEST(Elements, HalvesRoundToEven) {
  struct Line {
    float from, to;
  };

  const float inf = std::numeric_limits<float>::infinity();
  for (const Line& l : std::vector<Line>{{0, 0},
                                         {1, 1},
                                         {-1.5f, -1.5f},
                                         {65504, 65504},
                                         {65519, 65504},
                                         {65520, inf},
                                         {1e30f, inf},
                                         {2049, 2048},
                                         {2051, 2052},
                                         {0x1p-24f, 0x1p-24f},
                                         {0x1p-25f, 0},
                                         {0x1.8p-25f, 0x1p-24f},
                                         {0x1p-14f, 0x1p-14f},
                                         {0x1.ffcp-15f, 0x1.ff8p-15f + 0x1p-24f},
                                         {-inf, -inf}}) {
    EXPECT_EQ(static_cast<float>(Half(l.from)), l.to) << l.from;
  }
  EXPECT_TRUE(std::isnan(static_cast<float>(Half(std::nanf("")))));
  EXPECT_EQ(static_cast<float>(Bfloat(1.00390625f)), 1.0f);
  EXPECT_EQ(static_cast<float>(Bfloat(1.01171875f)), 1.015625f);
  EXPECT_TRUE(std::isnan(static_cast<float>(Bfloat(std::nanf("")))));
}

TEST(Elements, EveryHalfSurvives) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto h = std::bit_cast<Half>(static_cast<std::uint16_t>(bits));
    const auto f = static_cast<float>(h);
    if (std::isnan(f)) continue;
    EXPECT_EQ(std::bit_cast<std::uint16_t>(Half(f)), bits);
  }
}

TEST(Cast, SaturatesAndTruncates) {
  const In x = In::of(floats_tensor({6}, {-1.7f, 1.7f, 300, -300, 1e20f, std::nanf("")}), false);
  const auto run = [&]<class T>(const char* to, T) {
    return elements<T>(reference({.op = "cast", .attrs = {{"to", to}}, .inputs = {x}})[0]);
  };
  EXPECT_EQ(run("i8", std::int8_t()), (std::vector<std::int8_t>{-1, 1, 127, -128, 127, 0}));
  EXPECT_EQ(run("u8", std::uint8_t()), (std::vector<std::uint8_t>{0, 1, 255, 0, 255, 0}));
  EXPECT_EQ(run("bool", std::uint8_t()), (std::vector<std::uint8_t>{1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(run("i64", std::int64_t())[4], std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(error_code_of({.op = "cast", .attrs = {{"to", "f8"}}, .inputs = {x}}), 2);
  EXPECT_EQ(error_code_of({.op = "cast", .inputs = {x}}), 3);
}

TEST(Cast, EveryLayoutGivesTheSame) {
  for (const DType from : {DType::f32, DType::i64, DType::u8, DType::boolean}) {
    for (const char* to : {"f32", "i32", "bool", "f16", "i64"}) {
      OpCase c{.op = "cast",
               .attrs = {{"to", to}},
               .inputs = {{.dtype = from, .extents = {2, 17, 3, 5}}}};
      c.layouts = {"b/4 a (c d)~16B b%4"};
      EXPECT_GE(check_offers(c), 5);
    }
  }
}

TEST(Compare, Broadcasts) {
  const In a = In::of(floats_tensor({2, 1}, {1, 3}), false);
  const In b = In::of(floats_tensor({3}, {1, 2, 3}), false);
  const auto run = [&](const char* op) {
    return elements<std::uint8_t>(reference({.op = op, .inputs = {a, b}})[0]);
  };
  using V = std::vector<std::uint8_t>;
  EXPECT_EQ(run("equal"), (V{1, 0, 0, 0, 0, 1}));
  EXPECT_EQ(run("less"), (V{0, 1, 1, 0, 0, 0}));
  EXPECT_EQ(run("greater"), (V{0, 0, 0, 1, 1, 0}));
  EXPECT_EQ(run("less_or_equal"), (V{1, 1, 1, 0, 0, 1}));
  EXPECT_EQ(run("greater_or_equal"), (V{1, 0, 0, 1, 1, 1}));
  EXPECT_EQ(error_code_of({.op = "and", .inputs = {a, b}}), 4);
  EXPECT_EQ(error_code_of({.op = "equal", .inputs = {a, In::of(ints_tensor({1}))}}), 3);
}

TEST(Where, Selects) {
  const In condition = In::of(tensor_of<std::uint8_t>(DType::boolean, {2}, {1, 0}), false);
  const auto y =
      reference({.op = "where",
                 .inputs = {condition, In::of(ints_tensor({7})), In::of(ints_tensor({1, 2}))}});
  EXPECT_EQ(elements<std::int64_t>(y[0]), (std::vector<std::int64_t>{7, 2}));
  EXPECT_EQ(error_code_of(
                {.op = "where", .inputs = {{.extents = {2}}, {.extents = {2}}, {.extents = {2}}}}),
            4);
}

TEST(Constant, ShapeIsKnownBeforeTheInputIs) {
  const auto shape = [](std::map<std::string, Attribute> attrs) {
    OpGraph g({.op = "shape", .attrs = std::move(attrs), .inputs = {{.extents = {2, 3, 4}}}});
    EXPECT_TRUE(g.ref().node().removed);
    return elements<std::int64_t>(*g.ref().output().constant);
  };
  EXPECT_EQ(shape({}), (Ints{2, 3, 4}));
  EXPECT_EQ(shape({{"start", std::int64_t{1}}}), (Ints{3, 4}));
  EXPECT_EQ(shape({{"start", std::int64_t{-1}}, {"end", std::int64_t{99}}}), (Ints{4}));
  EXPECT_EQ(shape({{"start", std::int64_t{2}}, {"end", std::int64_t{1}}}), (Ints{}));
}

TEST(Constant, ValuesAndBounds) {
  EXPECT_EQ(elements<std::int64_t>(
                reference({.op = "constant", .attrs = {{"value_ints", Ints{4, 5}}}})[0]),
            (Ints{4, 5}));
  EXPECT_EQ(reference({.op = "constant", .attrs = {{"value_ints", Ints{}}}})[0].shape(),
            Shape("a", {0}));
  EXPECT_EQ(error_code_of({.op = "constant", .attrs = {{"value_string", "x"}}}), 4);
  EXPECT_EQ(elements<float>(
                reference({.op = "constant_of_shape", .inputs = {In::of(ints_tensor({2}))}})[0]),
            (std::vector<float>{0, 0}));
  const std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_EQ(
      error_code_of({.op = "constant_of_shape", .inputs = {In::of(ints_tensor({huge, huge}))}}), 6);
  EXPECT_EQ(error_code_of({.op = "constant_of_shape", .inputs = {In::of(ints_tensor({-1}))}}), 3);
  const auto scalar = [](std::int64_t v) {
    return In::of(tensor_of(DType::i64, {}, std::vector{v}));
  };
  EXPECT_EQ(elements<std::int64_t>(
                reference({.op = "range", .inputs = {scalar(10), scalar(3), scalar(-3)}})[0]),
            (Ints{10, 7, 4}));
  EXPECT_EQ(error_code_of({.op = "range", .inputs = {scalar(0), scalar(1), scalar(0)}}), 3);
  EXPECT_EQ(error_code_of({.op = "range", .inputs = {scalar(0), scalar(huge << 20), scalar(1)}}),
            6);
}

TEST(DepthToSpace, EveryLayoutGivesTheSame) {
  for (const char* mode : {"DCR", "CRD"}) {
    for (const std::int64_t block : {1, 2, 3}) {
      for (const std::int64_t channels : {1, 3, 16}) {
        const std::map<std::string, Attribute> attrs{{"blocksize", block}, {"mode", mode}};
        const Ints deep{2, channels * block * block, 3, 5}, wide{2, channels, 3 * block, 5 * block};
        // Row-major and channels last on either side, and blocks that the channels fill.
        EXPECT_GE(
            check_offers({.op = "depth_to_space", .attrs = attrs, .inputs = {{.extents = deep}}}),
            channels == 16 ? 9 : 4);
        EXPECT_GE(
            check_offers({.op = "space_to_depth", .attrs = attrs, .inputs = {{.extents = wide}}}),
            channels == 16 ? 9 : 4);
      }
    }
  }
}

TEST(DepthToSpace, BothOrdersAndBack) {
  for (const char* mode : {"DCR", "CRD"}) {
    const OpCase c{.op = "depth_to_space",
                   .attrs = {{"blocksize", std::int64_t{2}}, {"mode", mode}},
                   .inputs = {{.extents = {2, 12, 3, 5}}}};
    Tensor y = std::move(reference(c)[0]);
    const auto back = reference({.op = "space_to_depth",
                                 .attrs = {{"blocksize", std::int64_t{2}}, {"mode", mode}},
                                 .inputs = {In::of(std::move(y), false)}});
    EXPECT_EQ(elements<float>(back[0]), elements<float>(OpGraph(c).inputs[0]));
  }
  const auto first = [](const char* mode) {
    std::vector<float> x;
    for (int i = 0; i < 8; ++i) x.push_back(static_cast<float>(i));
    return elements<float>(reference({.op = "depth_to_space",
                                      .attrs = {{"blocksize", std::int64_t{2}}, {"mode", mode}},
                                      .inputs = {In::of(floats_tensor({1, 8, 1, 1}, x))}})[0]);
  };
  EXPECT_EQ(first("DCR"), (std::vector<float>{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(first("CRD"), (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}));
  const auto code = [](std::int64_t block, const Ints& x) {
    return error_code_of(
        {.op = "depth_to_space", .attrs = {{"blocksize", block}}, .inputs = {{.extents = x}}});
  };
  EXPECT_EQ(code(2, {1, 6, 2, 2}), 3);
  EXPECT_EQ(code(0, {1, 4, 2, 2}), 3);
  EXPECT_EQ(code(std::int64_t{1} << 40, {1, 4, 2, 2}), 3);
  EXPECT_EQ(code(2, {4, 2, 2}), 3);
}

}  // namespace
}  // namespace stowage
