// SPDX-License-Identifier: Apache-2.0
#include "ops/op_test_util.h"

namespace stowage {
namespace {

using namespace op_test;

struct ResizeCase {
  std::map<std::string, Attribute> attrs;
  Ints extents, out;
};

std::vector<ResizeCase> resize_cases() {
  std::vector<ResizeCase> cases;
  const std::vector<std::pair<Floats, Ints>> scales = {{{1, 1, 2, 2}, {1, 5, 8, 6}},
                                                       {{1, 1, 1.5f, 3}, {1, 5, 6, 9}},
                                                       {{1, 1, 0.6f, 0.7f}, {1, 5, 2, 2}},
                                                       {{1, 1, 1, 2}, {1, 5, 4, 6}}};
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    for (const char* place : {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                              "align_corners", "asymmetric"}) {
      for (const auto& [s, out] : scales) {
        cases.push_back({{{"mode", mode}, {"coordinate_transformation_mode", place}, {"scales", s}},
                         {1, 5, 4, 3},
                         out});
      }
      cases.push_back({{{"mode", mode},
                        {"coordinate_transformation_mode", place},
                        {"sizes", Ints{2, 17, 7, 1}}},
                       {2, 17, 4, 3},
                       {2, 17, 7, 1}});
    }
  }
  cases.push_back(
      {{{"mode", "linear"}, {"antialias", std::int64_t{1}}, {"sizes", Ints{1, 5, 3, 2}}},
       {1, 5, 9, 7},
       {1, 5, 3, 2}});
  cases.push_back({{{"mode", "cubic"},
                    {"exclude_outside", std::int64_t{1}},
                    {"cubic_coeff_a", -0.5f},
                    {"sizes", Ints{1, 5, 9, 7}}},
                   {1, 5, 4, 3},
                   {1, 5, 9, 7}});
  return cases;
}

TEST(Resize, EveryLayoutGivesTheSame) {
  for (const ResizeCase& c : resize_cases()) {
    OpCase op{.op = "resize", .attrs = c.attrs, .inputs = {{.extents = c.extents}}};
    op.layouts = {"n c/4 (h w)~16B c%4", "c h n w", "n h c w"};
    op.atol = 1e-5;
    EXPECT_GE(check_offers(op), 4);
    const Tensor y = std::move(reference(op)[0]);
    EXPECT_EQ(Ints(y.shape().extents().begin(), y.shape().extents().end()), c.out);
  }
}

TEST(Resize, Vectors) {
  // Any rank has the reference; blends want the last two axes, nearest any.
  const OpCase line{.op = "resize",
                    .attrs = {{"mode", "linear"}, {"scales", Floats{1, 1, 2}}},
                    .inputs = {{.extents = {1, 3, 5}}}};
  EXPECT_GE(check_offers(line), 1);
  const OpCase deep{.op = "resize",
                    .attrs = {{"mode", "nearest"}, {"scales", Floats{1, 1, 2, 2, 2}}},
                    .inputs = {{.extents = {1, 3, 2, 3, 4}}}};
  EXPECT_GE(check_offers(deep), 4);
}

std::vector<float> row(const char* mode, std::map<std::string, Attribute> attrs,
                       const std::vector<float>& x) {
  attrs["mode"] = mode;
  return elements<float>(
      reference({.op = "resize",
                 .attrs = std::move(attrs),
                 .inputs = {In::of(floats_tensor({std::ssize(x)}, x), false)}})[0]);
}

TEST(Resize, KnownValues) {
  using V = std::vector<float>;
  const auto scale = [](float s) { return Attribute(Floats{s}); };
  EXPECT_EQ(row("linear", {{"scales", scale(2)}}, {0, 4}), (V{0, 1, 3, 4}));
  EXPECT_EQ(
      row("linear", {{"scales", scale(2)}, {"coordinate_transformation_mode", "align_corners"}},
          {0, 3}),
      (V{0, 1, 2, 3}));
  EXPECT_EQ(row("nearest",
                {{"scales", scale(2)},
                 {"coordinate_transformation_mode", "asymmetric"},
                 {"nearest_mode", "floor"}},
                {1, 2}),
            (V{1, 1, 2, 2}));
  EXPECT_EQ(row("nearest", {{"sizes", Ints{2}}}, {1, 2, 3, 4}), (V{1, 3}));
  EXPECT_EQ(row("nearest", {{"sizes", Ints{2}}, {"nearest_mode", "ceil"}}, {1, 2, 3, 4}),
            (V{2, 4}));
  // The middle of five lies between the two: a tie, whatever the scale.
  for (const auto& [rounding, middle] :
       {std::pair("round_prefer_floor", 0.0f), std::pair("round_prefer_ceil", 1.0f)}) {
    EXPECT_EQ(row("nearest",
                  {{"scales", scale(2.7f)},
                   {"coordinate_transformation_mode", "half_pixel_symmetric"},
                   {"nearest_mode", rounding}},
                  {0, 1}),
              (V{0, 0, middle, 1, 1}));
  }
  EXPECT_EQ(row("nearest",
                {{"sizes", Ints{3}},
                 {"coordinate_transformation_mode", "tf_crop_and_resize"},
                 {"roi", Floats{0, 2}},
                 {"extrapolation_value", 9.0f}},
                {1, 2}),
            (V{1, 2, 9}));
}

TEST(Resize, KeepsProportions) {
  for (const auto& [policy, out] : std::vector<std::pair<const char*, Ints>>{
           {"not_larger", {1, 1, 6, 3}}, {"not_smaller", {1, 1, 8, 4}}}) {
    const auto y = reference({.op = "resize",
                              .attrs = {{"mode", "nearest"},
                                        {"keep_aspect_ratio_policy", policy},
                                        {"axes", Ints{2, 3}},
                                        {"sizes", Ints{6, 4}}},
                              .inputs = {{.extents = {1, 1, 4, 2}}}});
    EXPECT_EQ(Ints(y[0].shape().extents().begin(), y[0].shape().extents().end()), out);
  }
}

/// Shapes are inferred at import and again by simplify; rounding may not differ.
TEST(Resize, SizesStayAsTheyWereInferred) {
  for (std::int64_t from = 1; from < 40; ++from) {
    for (std::int64_t to = 1; to < 40; ++to) {
      op_test::OpGraph g({.op = "resize",
                          .attrs = {{"mode", "nearest"}, {"sizes", Ints{to}}},
                          .inputs = {{.extents = {from}}}});
      infer_node(g.graph, g.id);
      ASSERT_EQ(g.ref().output().shape[0], to) << from;
    }
  }
  op_test::OpGraph g({.op = "resize",
                      .attrs = {{"mode", "nearest"},
                                {"keep_aspect_ratio_policy", "not_smaller"},
                                {"axes", Ints{2, 3}},
                                {"sizes", Ints{6, 6}}},
                      .inputs = {{.extents = {1, 1, 5, 4}}}});
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(std::ranges::equal(g.ref().output().shape.extents(), Ints{1, 1, 8, 6}));
    infer_node(g.graph, g.id);
  }
}

TEST(Resize, Errors) {
  const auto code = [](std::map<std::string, Attribute> attrs, const Ints& x = {2, 3}) {
    return error_code_of({.op = "resize", .attrs = std::move(attrs), .inputs = {{.extents = x}}});
  };
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(code({}), 3);
  EXPECT_EQ(code({{"scales", Floats{2}}}), 3);
  EXPECT_EQ(code({{"scales", Floats{1, 0}}}), 3);
  EXPECT_EQ(code({{"scales", Floats{1, -1}}}), 3);
  EXPECT_EQ(code({{"scales", Floats{1, inf}}}), 3);
  EXPECT_EQ(code({{"scales", Floats{1, 1e30f}}}), 6);
  EXPECT_EQ(code({{"sizes", Ints{1, std::int64_t{1} << 62}}}), 6);
  EXPECT_EQ(code({{"sizes", Ints{1, -1}}}), 3);
  EXPECT_EQ(code({{"sizes", Ints{1, 2}}}, {0, 3}), 3);
  EXPECT_EQ(code({{"sizes", Ints{1, 2}}, {"mode", "spline"}}), 4);
  EXPECT_EQ(code({{"sizes", Ints{1, 2}}, {"axes", Ints{0, 0}}}), 3);
  EXPECT_EQ(code({{"sizes", Ints{1, 2}}, {"coordinate_transformation_mode", "tf_crop_and_resize"}}),
            3);
}

}  // namespace
}  // namespace stowage
