// SPDX-License-Identifier: Apache-2.0
// concat, split, slice, pad, tile, expand: copies along axes.
#include "ops/op_test_util.h"

namespace stowage {
namespace {

using namespace op_test;

const std::vector<std::string> kMore = {"b/2 a (c d)~16B b%2", "a b/8 c d b/2%4 b%2", "d c b a",
                                        "a b c/4 d c%4", "y:(a c) x:(b/4 d) lane:b%4"};

TEST(Concat, EveryLayoutGivesTheSame) {
  const std::vector<std::pair<std::vector<Ints>, std::int64_t>> cases = {
      {{{1, 8, 3, 7}, {1, 16, 3, 7}, {1, 5, 3, 7}}, 1},
      {{{1, 5, 3, 7}, {1, 3, 3, 7}}, 1},
      {{{2, 5, 3, 7}, {1, 5, 3, 7}}, 0},
      {{{1, 5, 3, 7}, {1, 5, 2, 7}}, 2},
      {{{1, 5, 3, 7}, {1, 5, 3, 1}}, -1},
      {{{2, 4}, {2, 9}}, 1},
      {{{3}, {4}, {1}}, 0},
      {{{1, 4, 2, 2}, {1, 0, 2, 2}}, 1},
      {{{1, 16, 32, 33}, {1, 8, 32, 33}}, 1},
      {{{2, 3, 4}, {2, 3, 4}}, 2},
  };
  for (const auto& [shapes, axis] : cases) {
    for (const DType dtype : {DType::f32, DType::u8, DType::i64}) {
      OpCase c{.op = "concat", .attrs = {{"axis", axis}}};
      for (const Ints& s : shapes) c.inputs.push_back({.dtype = dtype, .extents = s});
      if (shapes[0].size() == 4) c.layouts = kMore;
      EXPECT_GT(check_offers(c), 0);
    }
  }
}

TEST(Concat, LayoutsThatLeaveOutAnAxis) {
  // A layout without the axes of extent 1 fits to the parts, not to the whole.
  const OpCase c{.op = "concat",
                 .attrs = {{"axis", std::int64_t{2}}},
                 .inputs = {{.extents = {2, 5, 1}}, {.extents = {2, 5, 1}}},
                 .layouts = {"b a"}};
  EXPECT_GE(check_offers(c), 5);
  const OpCase pad{.op = "pad",
                   .attrs = {{"pads", Ints{0, 0, 1, 0, 0, 0}}},
                   .inputs = {{.extents = {2, 5, 1}}},
                   .layouts = {"b a"}};
  EXPECT_GE(check_offers(pad), 5);
  const OpCase slice{.op = "slice",
                     .attrs = {{"starts", Ints{1}}, {"ends", Ints{2}}, {"axes", Ints{2}}},
                     .inputs = {{.extents = {2, 5, 3}}},
                     .layouts = {"b a"}};
  EXPECT_GE(check_offers(slice), 5);
}

TEST(Split, EveryLayoutGivesTheSame) {
  for (const auto& [axis, split] : std::vector<std::pair<std::int64_t, Ints>>{
           {1, {8, 16, 5}}, {1, {5, 24}}, {1, {29}}, {1, {0, 29}}, {2, {1, 3}}, {3, {6, 1}}}) {
    OpCase c{.op = "split",
             .attrs = {{"axis", axis}, {"split", split}},
             .inputs = {{.extents = {1, 29, 4, 7}}},
             .outputs = static_cast<int>(split.size()),
             .layouts = kMore};
    EXPECT_GE(check_offers(c), 5);
  }
}

TEST(Split, PartsAndErrors) {
  const auto parts = [](std::map<std::string, Attribute> attrs, int outputs) {
    const auto r = reference({.op = "split",
                              .attrs = std::move(attrs),
                              .inputs = {In::of(ints_tensor({1, 2, 3, 4, 5}), false)},
                              .outputs = outputs});
    std::vector<std::int64_t> sizes;
    for (const Tensor& t : r) sizes.push_back(t.shape()[0]);
    return sizes;
  };
  EXPECT_EQ(parts({{"split", Ints{1, 4}}}, 2), (std::vector<std::int64_t>{1, 4}));
  EXPECT_EQ(parts({{"num_outputs", std::int64_t{2}}}, 2), (std::vector<std::int64_t>{3, 2}));
  const auto code = [](std::map<std::string, Attribute> attrs, int outputs) {
    return error_code_of({.op = "split",
                          .attrs = std::move(attrs),
                          .inputs = {{.extents = {5}}},
                          .outputs = outputs});
  };
  EXPECT_EQ(code({}, 2), 3);
  EXPECT_EQ(code({{"split", Ints{1, 3}}}, 2), 3);
  EXPECT_EQ(code({{"split", Ints{-1, 6}}}, 2), 3);
  EXPECT_EQ(code({{"axis", std::int64_t{2}}}, 1), 3);
}

TEST(Slice, EveryLayoutGivesTheSame) {
  struct Line {
    Ints starts, ends, axes, steps;
  };

  for (const Line& l : std::vector<Line>{{{0}, {16}, {1}, {1}},
                                         {{8}, {29}, {1}, {1}},
                                         {{3}, {20}, {1}, {1}},
                                         {{1, 1}, {-1, -1}, {2, 3}, {1, 1}},
                                         {{0, 0}, {100, 100}, {2, 3}, {2, 3}},
                                         {{-1}, {-100}, {3}, {-1}},
                                         {{100, 0}, {0, 2}, {1, 2}, {-3, 1}},
                                         {{5}, {5}, {1}, {1}}}) {
    const OpCase c{
        .op = "slice",
        .attrs = {{"starts", l.starts}, {"ends", l.ends}, {"axes", l.axes}, {"steps", l.steps}},
        .inputs = {{.extents = {2, 29, 4, 7}}},
        .layouts = kMore};
    EXPECT_EQ(check_offers(c) > 0, l.starts != Ints{5});
  }
}

TEST(Slice, BoundsFollowPython) {
  const auto run = [](std::int64_t start, std::int64_t end, std::int64_t step) {
    return elements<std::int64_t>(
        reference({.op = "slice",
                   .inputs = {In::of(ints_tensor({0, 1, 2, 3, 4}), false),
                              In::of(ints_tensor({start})), In::of(ints_tensor({end})),
                              In::of(ints_tensor({0})), In::of(ints_tensor({step}))}})[0]);
  };
  using V = std::vector<std::int64_t>;
  const std::int64_t least = std::numeric_limits<std::int64_t>::min(), most = -(least + 1);
  EXPECT_EQ(run(1, 4, 1), (V{1, 2, 3}));
  EXPECT_EQ(run(-2, most, 1), (V{3, 4}));
  EXPECT_EQ(run(most, least, -2), (V{4, 2, 0}));
  EXPECT_EQ(run(-1, -6, -1), (V{4, 3, 2, 1, 0}));
  EXPECT_EQ(run(least, most, most), (V{0}));
  EXPECT_EQ(run(4, 1, 1), V{});
  EXPECT_EQ(run(0, -5, -1), V{});
  const OpCase zero{
      .op = "slice",
      .attrs = {{"starts", Ints{0}}, {"ends", Ints{1}}, {"axes", Ints{0}}, {"steps", Ints{0}}},
      .inputs = {{.extents = {5}}}};
  EXPECT_EQ(error_code_of(zero), 3);
  OpCase twice = zero;
  twice.attrs = {{"starts", Ints{0, 0}}, {"ends", Ints{1, 1}}, {"axes", Ints{0, 0}}};
  EXPECT_EQ(error_code_of(twice), 3);
}

TEST(Pad, EveryLayoutGivesTheSame) {
  for (const char* mode : {"constant", "reflect", "edge", "wrap"}) {
    for (const Ints& pads : {Ints{0, 0, 1, 2, 0, 0, 3, 1}, Ints{0, 2, 0, 0, 0, 3, 0, 0},
                             Ints{1, 0, 0, 0, 0, 0, 0, 0}, Ints{0, 0, -1, 2, 0, -2, 0, 0}}) {
      for (const float value : {0.0f, 2.5f}) {
        const OpCase c{.op = "pad",
                       .attrs = {{"mode", mode}, {"pads", pads}, {"value", value}},
                       .inputs = {{.extents = {2, 11, 5, 6}}},
                       .layouts = kMore};
        EXPECT_GE(check_offers(c), 5) << mode;
      }
    }
  }
}

TEST(Pad, KnownValuesAndErrors) {
  const auto run = [](const char* mode, const Ints& pads) {
    return elements<float>(
        reference({.op = "pad",
                   .attrs = {{"mode", mode}, {"pads", pads}},
                   .inputs = {In::of(floats_tensor({3}, {1, 2, 3}), false)}})[0]);
  };
  using V = std::vector<float>;
  EXPECT_EQ(run("constant", {1, 2}), (V{0, 1, 2, 3, 0, 0}));
  EXPECT_EQ(run("reflect", {2, 3}), (V{3, 2, 1, 2, 3, 2, 1, 2}));
  EXPECT_EQ(run("edge", {2, 1}), (V{1, 1, 1, 2, 3, 3}));
  EXPECT_EQ(run("wrap", {2, 4}), (V{2, 3, 1, 2, 3, 1, 2, 3, 1}));
  EXPECT_EQ(run("constant", {-1, 0}), (V{2, 3}));
  const auto code = [](const Ints& pads, const char* mode, const Ints& extents) {
    return error_code_of(
        {.op = "pad", .attrs = {{"mode", mode}, {"pads", pads}}, .inputs = {{.extents = extents}}});
  };
  const std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_EQ(code({-2, -2}, "constant", {3}), 3);
  EXPECT_EQ(code({1}, "constant", {3}), 3);
  EXPECT_EQ(code({1, 1}, "mirror", {3}), 4);
  EXPECT_EQ(code({1, 1}, "edge", {0}), 3);
  EXPECT_EQ(code({huge, huge}, "constant", {3}), 6);
  EXPECT_EQ(code({huge, 0}, "constant", {3}), 6);
}

TEST(TileExpand, EveryLayoutGivesTheSame) {
  const OpCase tile{.op = "tile",
                    .attrs = {{"repeats", Ints{2, 3, 1, 2}}},
                    .inputs = {{.extents = {1, 5, 3, 4}}},
                    .layouts = kMore};
  EXPECT_GE(check_offers(tile), 5);
  for (const Ints& extents : {Ints{1, 5, 1, 4}, Ints{1}, Ints{3, 1}, Ints{2, 5, 3, 4}}) {
    const OpCase expand{
        .op = "expand", .attrs = {{"shape", Ints{2, 1, 3, 4}}}, .inputs = {{.extents = extents}}};
    EXPECT_GT(check_offers(expand), 0);
  }
  const std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_EQ(
      error_code_of(
          {.op = "expand", .attrs = {{"shape", Ints{huge, huge}}}, .inputs = {{.extents = {1}}}}),
      6);
  EXPECT_EQ(error_code_of({.op = "tile",
                           .attrs = {{"repeats", Ints{huge, huge}}},
                           .inputs = {{.extents = {1, 2}}}}),
            6);
  EXPECT_EQ(
      error_code_of({.op = "tile", .attrs = {{"repeats", Ints{-1}}}, .inputs = {{.extents = {1}}}}),
      3);
}

}  // namespace
}  // namespace stowage
