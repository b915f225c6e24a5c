// SPDX-License-Identifier: Apache-2.0
#include "ops/op_test_util.h"

namespace stowage {
namespace {

using namespace op_test;

TEST(Gather, KnownIndicesInEveryLayout) {
  for (const std::int64_t axis : {0, 1, 2, 3}) {
    for (const bool one : {true, false}) {
      const In indices = one ? In::of(tensor_of<std::int64_t>(DType::i64, {}, {1}))
                             : In::of(ints_tensor({1, 0, -1, 1}));
      for (const DType dtype : {DType::f32, DType::i8}) {
        const OpCase c{.op = "gather",
                       .attrs = {{"axis", axis}},
                       .inputs = {{.dtype = dtype, .extents = {2, 17, 3, 5}}, indices}};
        EXPECT_GE(check_offers(c), !one ? 5 : axis == 1 ? 2 : 4);
      }
    }
  }
}

TEST(Gather, RowsThatFollowEachOtherAreAStretchOfTheInput) {
  const auto views = [](const Tensor& indices, std::int64_t axis) {
    OpGraph g({.op = "gather",
               .attrs = {{"axis", axis}},
               .inputs = {{.extents = {4, 32, 3, 16}}, In::of(indices)}});
    const auto row_major = [](const Shape& shape) {
      return std::vector<Layout>{Layout::row_major(shape)};
    };
    const auto offers = offers_of(g, Target{}, row_major);
    EXPECT_EQ(offers.size(), 1u);
    return offers.empty() ? std::vector<Part>() : offers[0].outputs_in_input;
  };
  constexpr std::size_t kRow = 32 * 3 * 16 * sizeof(float);
  const auto scalar = [](std::int64_t i) { return tensor_of<std::int64_t>(DType::i64, {}, {i}); };
  ASSERT_EQ(views(scalar(2), 0).size(), 1u);
  EXPECT_EQ(views(scalar(2), 0)[0].offset, 2 * kRow);
  EXPECT_EQ(views(scalar(-1), 0)[0].offset, 3 * kRow);
  EXPECT_EQ(views(ints_tensor({1, 2, -1}), 0)[0].offset, kRow);
  EXPECT_TRUE(views(ints_tensor({1, 3}), 0).empty());
  EXPECT_TRUE(views(ints_tensor({1, 1}), 0).empty());
  EXPECT_TRUE(views(scalar(2), 1).empty());
}

TEST(Gather, ValuesAndErrors) {
  const In x = In::of(floats_tensor({3, 2}, {1, 2, 3, 4, 5, 6}), false);
  const auto run = [&](std::int64_t axis, const Tensor& indices) {
    return elements<float>(
        reference({.op = "gather", .attrs = {{"axis", axis}}, .inputs = {x, In::of(indices)}})[0]);
  };
  using V = std::vector<float>;
  EXPECT_EQ(run(0, ints_tensor({2, -3})), (V{5, 6, 1, 2}));
  EXPECT_EQ(run(1, tensor_of<std::int32_t>(DType::i32, {1, 1}, {-1})), (V{2, 4, 6}));
  const auto code = [&](const char* op, In indices, std::int64_t axis = 0) {
    return error_code_of({.op = op, .attrs = {{"axis", axis}}, .inputs = {x, std::move(indices)}});
  };
  EXPECT_EQ(code("gather", In::of(ints_tensor({3}))), 3);
  EXPECT_EQ(code("gather", In::of(ints_tensor({-4}))), 3);
  EXPECT_EQ(code("gather", In::of(ints_tensor({0})), 2), 3);
  EXPECT_EQ(code("gather", {.extents = {1}}), 4);
  EXPECT_EQ(code("gather_elements", In::of(tensor_of<std::int64_t>(DType::i64, {1, 1}, {9}))), 3);
  EXPECT_EQ(code("gather_nd", In::of(ints_tensor({9}))), 3);
  EXPECT_EQ(code("gather_nd", In::of(ints_tensor({0, 0, 0}))), 3);
}

TEST(Gather, ElementsAndTuples) {
  const In x = In::of(floats_tensor({2, 2}, {1, 2, 3, 4}), false);
  using V = std::vector<float>;
  EXPECT_EQ(
      elements<float>(reference(
          {.op = "gather_elements",
           .attrs = {{"axis", std::int64_t{1}}},
           .inputs = {x, In::of(tensor_of<std::int64_t>(DType::i64, {2, 2}, {0, 0, 1, -2}))}})[0]),
      (V{1, 1, 4, 3}));
  EXPECT_EQ(
      elements<float>(reference(
          {.op = "gather_nd",
           .inputs = {x, In::of(tensor_of<std::int64_t>(DType::i64, {2, 2}, {0, 0, 1, 1}))}})[0]),
      (V{1, 4}));
}

}  // namespace
}  // namespace stowage
