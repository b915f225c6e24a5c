// SPDX-License-Identifier: Apache-2.0
// reshape and its kin, transpose: operators that move no byte.
#include "ops/op_test_util.h"

namespace stowage {
namespace {

using namespace op_test;

Ints shape_after(const std::string& op, std::map<std::string, Attribute> attrs,
                 const Ints& extents) {
  OpGraph g({.op = op, .attrs = std::move(attrs), .inputs = {{.extents = extents}}});
  const Shape& y = g.ref().output().shape;
  return {y.extents().begin(), y.extents().end()};
}

TEST(Reshape, Shapes) {
  const auto reshape = [](const Ints& shape, const Ints& extents, std::int64_t allow = 0) {
    return shape_after("reshape", {{"shape", shape}, {"allowzero", allow}}, extents);
  };
  EXPECT_EQ(reshape({0, -1}, {2, 3, 4}), (Ints{2, 12}));
  EXPECT_EQ(reshape({-1}, {2, 3, 4}), (Ints{24}));
  EXPECT_EQ(reshape({}, {1, 1}), (Ints{}));
  EXPECT_EQ(reshape({3, 0}, {0, 5}, 1), (Ints{3, 0}));
  EXPECT_EQ(shape_after("flatten", {}, {2, 3, 4}), (Ints{2, 12}));
  EXPECT_EQ(shape_after("flatten", {{"axis", std::int64_t{0}}}, {2, 3}), (Ints{1, 6}));
  EXPECT_EQ(shape_after("flatten", {{"axis", std::int64_t{3}}}, {2, 3, 4}), (Ints{24, 1}));
  EXPECT_EQ(shape_after("squeeze", {}, {1, 3, 1}), (Ints{3}));
  EXPECT_EQ(shape_after("squeeze", {{"axes", Ints{-1}}}, {1, 3, 1}), (Ints{1, 3}));
  EXPECT_EQ(shape_after("unsqueeze", {{"axes", Ints{-1, 0}}}, {3}), (Ints{1, 3, 1}));
  EXPECT_EQ(shape_after("transpose", {}, {2, 3, 4}), (Ints{4, 3, 2}));
  EXPECT_EQ(shape_after("transpose", {{"perm", Ints{1, 0, 2}}}, {2, 3, 4}), (Ints{3, 2, 4}));
}

// A shape of no numbers is a scalar's; its list has no storage to copy into.
TEST(Reshape, ToAScalar) {
  for (const DType dtype : {DType::i64, DType::i32}) {
    OpGraph g(
        {.op = "reshape", .inputs = {{.extents = {1, 1}}, In::of(Tensor(dtype, Shape("a", {0})))}});
    EXPECT_EQ(g.ref().output().shape.rank(), 0);
  }
}

TEST(Reshape, Errors) {
  struct Line {
    const char* op;
    std::map<std::string, Attribute> attrs;
    Ints extents;
    int code = 3;
  };

  const std::int64_t huge = std::int64_t{1} << 40;
  for (const Line& l : std::vector<Line>{{"reshape", {{"shape", Ints{5}}}, {2, 3}},
                                         {"reshape", {{"shape", Ints{-1, -1}}}, {2, 3}},
                                         {"reshape", {{"shape", Ints{-2, 3}}}, {2, 3}},
                                         {"reshape", {{"shape", Ints{4, -1}}}, {2, 3}},
                                         {"reshape", {{"shape", Ints{6, 1, 0}}}, {2, 3}},
                                         {"reshape", {{"shape", Ints{0, -1}}}, {0, 3}},
                                         {"reshape", {}, {2, 3}},
                                         {"reshape", {{"shape", Ints{huge, huge}}}, {2, 3}, 6},
                                         {"reshape", {{"shape", Ints(9, 1)}}, {1}, 6},
                                         {"flatten", {{"axis", std::int64_t{3}}}, {2, 3}},
                                         {"squeeze", {{"axes", Ints{1}}}, {1, 3}},
                                         {"squeeze", {{"axes", Ints{0, 0}}}, {1, 3}},
                                         {"unsqueeze", {{"axes", Ints{3}}}, {3}},
                                         {"unsqueeze", {{"axes", Ints(9, 0)}}, {3}, 6},
                                         {"unsqueeze", {}, {3}},
                                         {"transpose", {{"perm", Ints{0, 0}}}, {2, 3}},
                                         {"transpose", {{"perm", Ints{0}}}, {2, 3}}}) {
    EXPECT_EQ(error_code_of({.op = l.op, .attrs = l.attrs, .inputs = {{.extents = l.extents}}}),
              l.code)
        << l.op;
  }
}

TEST(Reshape, RelabelsWhereTheBytesAreTheSame) {
  const auto offers = [](const char* op, std::map<std::string, Attribute> attrs, const Ints& x) {
    std::set<std::string> seen;
    check_offers({.op = op, .attrs = std::move(attrs), .inputs = {{.extents = x}}}, &seen);
    return seen;
  };
  // Pooled features: the blocks of the channels stay.
  const auto flat = offers("flatten", {}, {1, 20, 1, 1});
  EXPECT_TRUE(flat.contains("relabel: [a b/8 c d b%8] -> [b/8 b%8]")) << flat.size();
  const auto squeezed = offers("squeeze", {{"axes", Ints{2, 3}}}, {2, 20, 1, 1});
  EXPECT_GE(squeezed.size(), 5u);
  // A channel shuffle in channels-last: the channels are cut, the pixels joined.
  const auto shuffle = offers("reshape", {{"shape", Ints{8, 2, 12}}}, {1, 16, 3, 4});
  EXPECT_TRUE(shuffle.contains("relabel: [a c d b] -> [c a b]"));
  EXPECT_TRUE(shuffle.contains("relabel: [a b/8 c d b%8] -> [a/4 c a%4 b]"));
  // The join of channels and pixels needs them side by side, and tails stay with their axis.
  for (const std::string& s : offers("reshape", {{"shape", Ints{2, 60}}}, {2, 5, 3, 4})) {
    EXPECT_EQ(s.find("/8"), s.npos) << s;
  }
  // The single channel has seven cells of tail that the flat side does not have.
  for (const std::string& s : offers("squeeze", {}, {1, 1, 1, 9})) EXPECT_EQ(s.find("b/8"), s.npos);
}

TEST(Reshape, EveryRelabelKeepsEveryElement) {
  const std::vector<std::pair<Ints, Ints>> cases = {
      {{1, 16, 3, 4}, {8, 2, 12}},
      {{1, 48, 2, 2}, {1, 3, 16, 4}},
      {{2, 24, 5}, {2, 4, 6, 5}},
      {{1, 17, 3, 4}, {17, 12}},
      {{4, 6, 10}, {24, 10}},
      {{4, 6, 10}, {2, 12, 10}},
      {{1, 32, 4, 4}, {2, 16, 2, 8}},
      {{2, 3, 1, 5}, {1, 2, 3, 5}},
      {{64}, {2, 2, 4, 4}},
      {{6, 4}, {4, 6}},
      {{1, 1, 1}, {}},
      {{2, 0, 3}, {0, 3}},
  };
  for (const auto& [x, y] : cases) {
    for (const auto& [from, to] : {std::pair(x, y), std::pair(y, x)}) {
      OpCase c{.op = "reshape",
               .attrs = {{"shape", to}, {"allowzero", std::int64_t{1}}},
               .inputs = {{.extents = from}}};
      c.layouts = {"a b/2 c b%2", "c a b", "b/16 a b/4%4 c d b%4", "d c b a"};
      EXPECT_GE(check_offers(c), 1);
    }
  }
}

TEST(Transpose, RenamesEveryLayout) {
  for (const Ints& perm :
       {Ints{0, 2, 3, 1}, Ints{0, 3, 1, 2}, Ints{3, 2, 1, 0}, Ints{0, 1, 2, 3}}) {
    EXPECT_GE(
        check_offers(
            {.op = "transpose", .attrs = {{"perm", perm}}, .inputs = {{.extents = {2, 5, 3, 7}}}}),
        5);
  }
}

TEST(Identity, KeepsEveryLayout) {
  EXPECT_EQ(check_offers({.op = "identity", .inputs = {{.extents = {2, 5, 3, 7}}}}), 5);
}

TEST(Dropout, IsAnIdentityUnlessItsMaskIsRead) {
  EXPECT_EQ(check_offers({.op = "dropout", .inputs = {{.extents = {2, 5, 3, 7}}}}), 5);
  const auto r = reference({.op = "dropout", .inputs = {{.extents = {2, 3}}}, .outputs = 2});
  EXPECT_EQ(elements<std::uint8_t>(r[1]), std::vector<std::uint8_t>(6, 1));
}

}  // namespace
}  // namespace stowage
