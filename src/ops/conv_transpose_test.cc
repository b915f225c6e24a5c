// SPDX-License-Identifier: Apache-2.0
// Every offer of small transposed convolutions against the reference, and the checks of infer.
#include <algorithm>
#include <set>

#include "kernels/gemm/tiles.h"
#include "ops/conv/test_util.h"

namespace stowage {
namespace {

using op_test::check_offers;
using op_test::error_code_of;
using op_test::expect_infer_repeats;
using op_test::for_each_target;
using op_test::In;
using op_test::OpCase;

struct Case {
  Ints x, w;
  std::map<std::string, Attribute> attrs = {};
  bool bias = true;
};

OpCase op_case(const Case& c) {
  OpCase o;
  o.op = "conv_transpose";
  o.attrs = c.attrs;
  std::int64_t group = 1;
  if (c.attrs.count("group") != 0) group = std::get<std::int64_t>(c.attrs.at("group"));
  for (const Ints& extents : {c.x, c.w, Ints{c.w[1] * group}}) {
    In in;
    in.extents = extents;
    in.constant = !o.inputs.empty();
    if (o.inputs.size() < 2 || c.bias) o.inputs.push_back(in);
  }
  o.rtol = 1e-4;
  o.atol = 1e-4;
  o.target_lanes = {tile_lanes()};
  return o;
}

TEST(ConvTranspose, EveryOfferMatchesTheReference) {
  const std::int64_t two = 2, three = 3, seven = 7;
  const Case cases[] = {
      {{1, 3, 5, 6}, {3, 4, 3, 3}},
      {{2, 40, 1, 1}, {40, 64, 4, 5}},
      {{1, 32, 1, 2}, {32, 16, 7, 7}, {{"strides", Ints{2, 2}}}},
      {{2, 17, 4, 5}, {17, 33, 4, 4}, {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}},
      {{1, 16, 7, 7}, {16, 64, 2, 2}, {{"strides", Ints{2, 2}}}, false},
      {{1, 5, 4, 4}, {5, 7, 2, 2}, {{"strides", Ints{3, 3}}, {"output_padding", Ints{2, 1}}}},
      {{1, 4, 5, 3},
       {4, 3, 3, 2},
       {{"strides", Ints{2, 3}}, {"dilations", Ints{2, 3}}, {"pads", Ints{1, 0, 2, 1}}}},
      {{1, 64, 3, 4}, {64, 32, 3, 3}, {{"group", two}, {"strides", Ints{2, 1}}}},
      {{1, 9, 5, 4}, {9, 5, 3, 3}, {{"group", three}, {"strides", Ints{2, 2}}}},
      {{1, 7, 5, 4}, {7, 1, 4, 4}, {{"group", seven}, {"strides", Ints{2, 2}}}},
      {{1, 6, 11}, {6, 18, 5}, {{"strides", Ints{3}}, {"pads", Ints{2, 1}}}},
      {{1, 3, 3, 4, 3}, {3, 5, 2, 3, 3}, {{"strides", Ints{2, 1, 2}}}},
      {{1, 1, 3, 3}, {1, 2, 3, 3}, {{"strides", Ints{3, 2}}, {"output_shape", Ints{10, 8}}}},
      {{1, 2, 3, 3},
       {2, 2, 3, 3},
       {{"strides", Ints{2, 2}}, {"auto_pad", std::string("SAME_UPPER")}}},
      {{1, 2, 3, 3},
       {2, 2, 3, 3},
       {{"strides", Ints{2, 2}}, {"auto_pad", std::string("SAME_LOWER")}}},
  };
  for_each_target([&] {
    int i = 0;
    for (const Case& c : cases) {
      SCOPED_TRACE(text("case ", i++));
      EXPECT_GT(check_offers(op_case(c)), 0);
      expect_infer_repeats(op_case(c));
    }
  });
}

/// Products are added where they overlap: more taps than strides and fewer, edges that cut them,
/// rows in bands, and more pixels than are kept at a time.
TEST(ConvTranspose, FewOutputs) {
  for_each_target([] {
    for (std::int64_t o = 1; o <= 5; ++o) {
      for (const std::int64_t k : {1, 2, 3, 5}) {
        for (std::int64_t stride = 1; stride <= 3; ++stride) {
          for (std::int64_t dilation = 1; dilation <= 2; ++dilation) {
            const Ints pads = k > 2 ? Ints{1, k - 1, 0, 1} : Ints{0, 0, 0, 0};
            const OpCase c = op_case({{2, 3 + o, 4, 9},
                                      {3 + o, o, k, k},
                                      {{"strides", Ints{stride, stride}},
                                       {"dilations", Ints{dilation, dilation}},
                                       {"pads", pads}},
                                      k != 3});
            SCOPED_TRACE(text(o, " outputs, ", k, " taps, ", stride, " apart, dilated ", dilation));
            std::set<std::string> offers;
            check_offers(c, &offers);
            EXPECT_EQ(std::ranges::count_if(offers,
                                            [](const std::string& name) {
                                              return name.starts_with("conv_transpose_overlap");
                                            }),
                      o < tile_lanes() ? 1 : 0);
          }
        }
      }
    }
  });
  for (const std::int64_t k : {7, 40, 300}) {
    SCOPED_TRACE(k);
    EXPECT_GT(check_offers(op_case({{1, 3, 301}, {3, 2, k}, {{"strides", Ints{4}}}})), 0);
  }
}

TEST(ConvTranspose, Posts) {
  for (const std::int64_t outputs : {3, 19}) {
    for (const bool bias : {false, true}) {
      const OpCase c = op_case({{1, 3, 4, 5}, {3, outputs, 2, 2}, {{"strides", Ints{2, 2}}}, bias});
      for (const OpCase& o : op_test::with_post_lists(c, {1, outputs, 8, 10}, {outputs, 1, 1})) {
        SCOPED_TRACE(text_of(o.posts));
        EXPECT_GT(check_offers(o), 0);
      }
    }
  }
}

TEST(ConvTranspose, SaysWhatIsWrong) {
  const int bad = static_cast<int>(ErrorCode::bad_input);
  const auto code = [](const Case& c) { return error_code_of(op_case(c)); };
  EXPECT_EQ(code({{1, 3, 5, 5}, {4, 3, 3, 3}}), bad);
  EXPECT_EQ(code({{1, 3, 5}, {3, 3, 3, 3}}), bad);
  EXPECT_EQ(code({{1, 3, 2, 2}, {3, 4, 2, 2}, {{"pads", Ints{2, 2, 2, 2}}}}), bad);
  EXPECT_EQ(code({{1, 3, 2, 2}, {3, 4, 2, 2}, {{"output_padding", Ints{-1, 0}}}}), bad);
  EXPECT_EQ(code({{1, 3, 2, 2}, {3, 4, 2, 2}, {{"output_shape", Ints{4}}}}), bad);
  EXPECT_EQ(code({{1, 3, 2, 2}, {3, 4, 2, 2}, {{"group", std::int64_t{2}}}}), bad);
}

}  // namespace
}  // namespace stowage
