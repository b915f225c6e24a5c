// SPDX-License-Identifier: Apache-2.0
// Max and average pooling: every offer against the reference, known results, checks of infer.
#include "ops/conv/pool.h"

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/gemm/tiles.h"
#include "ops/conv/test_util.h"

namespace stowage {
namespace {

using op_test::check_offers;
using op_test::elements;
using op_test::error_code_of;
using op_test::expect_infer_repeats;
using op_test::floats_tensor;
using op_test::for_each_target;
using op_test::In;
using op_test::OpCase;

struct Case {
  Ints x;
  std::map<std::string, Attribute> attrs;
};

OpCase op_case(const std::string& op, const Case& c) {
  OpCase o;
  o.op = op;
  o.attrs = c.attrs;
  In in;
  in.extents = c.x;
  o.inputs = {in};
  o.target_lanes = {tile_lanes()};
  o.rtol = 1e-5;
  o.atol = 1e-5;
  return o;
}

TEST(Pool, EveryOfferMatchesTheReference) {
  const std::int64_t yes = 1;
  const Case cases[] = {
      {{1, 5, 9, 11}, {{"kernel_shape", Ints{3, 3}}}},
      {{2, 16, 12, 35},
       {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}},
      {{1, 19, 8, 8}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}},
      {{1, 33, 7, 8}, {{"kernel_shape", Ints{3, 2}}, {"strides", Ints{2, 3}}, {"ceil_mode", yes}}},
      {{1, 3, 2, 2}, {{"kernel_shape", Ints{1, 1}}, {"strides", Ints{2, 2}}, {"ceil_mode", yes}}},
      // Windows longer than the input.
      {{1, 5, 2, 1}, {{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 3}}, {"ceil_mode", yes}}},
      {{2, 17, 3, 9}, {{"kernel_shape", Ints{4, 3}}, {"strides", Ints{2, 2}}, {"ceil_mode", yes}}},
      {{1, 3, 7, 7},
       {{"kernel_shape", Ints{3, 3}},
        {"strides", Ints{3, 3}},
        {"pads", Ints{1, 1, 1, 1}},
        {"ceil_mode", yes}}},
      {{1, 8, 10, 10},
       {{"kernel_shape", Ints{3, 3}}, {"dilations", Ints{2, 3}}, {"pads", Ints{2, 1, 1, 3}}}},
      {{1, 9, 9, 10},
       {{"kernel_shape", Ints{3, 4}},
        {"strides", Ints{2, 2}},
        {"auto_pad", std::string("SAME_UPPER")}}},
      {{1, 9, 9, 10},
       {{"kernel_shape", Ints{3, 4}},
        {"strides", Ints{2, 2}},
        {"auto_pad", std::string("SAME_LOWER")},
        {"ceil_mode", yes}}},
      {{1, 9, 9, 10}, {{"kernel_shape", Ints{4, 4}}, {"auto_pad", std::string("VALID")}}},
      {{2, 21, 13}, {{"kernel_shape", Ints{4}}, {"strides", Ints{3}}, {"pads", Ints{2, 1}}}},
      {{1, 5, 4, 5, 6},
       {{"kernel_shape", Ints{2, 3, 2}},
        {"strides", Ints{1, 2, 2}},
        {"pads", Ints{1, 0, 1, 0, 1, 0}}}},
      {{2, 37, 7, 5}, {{"global", yes}}},
      {{1, 3, 1, 1}, {{"global", yes}}},
      {{1, 2, 1, 3},
       {{"kernel_shape", Ints{2, 2}}, {"dilations", Ints{4, 1}}, {"pads", Ints{2, 0, 2, 0}}}},
  };
  for_each_target([&] {
    for (const std::string op : {"max_pool", "average_pool"}) {
      for (const std::int64_t count_padding : {0, 1}) {
        if (op == "max_pool" && count_padding == 1) continue;
        int i = 0;
        for (Case c : cases) {
          SCOPED_TRACE(text(op, " case ", i++, " count_include_pad ", count_padding));
          if (op == "average_pool") c.attrs["count_include_pad"] = count_padding;
          // Pooling nothing has no sensible maximum; the average is 0.
          if (op == "max_pool" && c.x == Ints{1, 2, 1, 3}) continue;
          EXPECT_GT(check_offers(op_case(op, c)), 0);
          expect_infer_repeats(op_case(op, c));
        }
      }
    }
  });
}

TEST(Pool, EveryChannelCount) {
  for (std::int64_t channels = 1; channels <= 33; ++channels) {
    const Case c{{1, channels, 4, 13}, {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}}};
    EXPECT_GT(check_offers(op_case("max_pool", c)), 0) << channels;
    EXPECT_GT(check_offers(op_case("average_pool", c)), 0) << channels;
  }
}

TEST(Pool, Squares) {
  for_each_target([] {
    for (const std::int64_t k : {3, 5}) {
      for (const std::int64_t stride : {1, 2}) {
        for (std::int64_t width = k; width <= 13; ++width) {
          for (std::int64_t pad = 0; pad < k; ++pad) {
            const Case c{{1, width == k ? 16 : 19, k + width % 3, width},
                         {{"kernel_shape", Ints{k, k}},
                          {"strides", Ints{stride, stride}},
                          {"pads", Ints{pad, k - 1 - pad, k - 1 - pad, pad}}}};
            SCOPED_TRACE(text(k, " stride ", stride, " width ", width, " pad ", pad));
            EXPECT_GT(check_offers(op_case("max_pool", c)), 0);
          }
        }
      }
    }
  });
}

std::vector<float> run(const std::string& op, const std::vector<float>& x,
                       const std::map<std::string, Attribute>& attrs) {
  OpCase c;
  c.op = op;
  c.attrs = attrs;
  c.inputs = {In::of(floats_tensor({1, 1, static_cast<std::int64_t>(x.size())}, x), false)};
  return elements<float>(op_test::reference(c)[0]);
}

TEST(Pool, KnownResults) {
  const std::map<std::string, Attribute> same = {{"kernel_shape", Ints{3}}, {"pads", Ints{1, 1}}};
  EXPECT_EQ(run("max_pool", {1, -2, 3}, same), (std::vector<float>{1, 3, 3}));
  EXPECT_EQ(run("average_pool", {1, 2, 6}, same), (std::vector<float>{1.5f, 3, 4}));
  auto counted = same;
  counted["count_include_pad"] = std::int64_t{1};
  EXPECT_EQ(run("average_pool", {1, 2, 6}, counted), (std::vector<float>{1, 3, 8.0f / 3}));
  // The last window is cut: the padding that ceil_mode adds never counts.
  const std::map<std::string, Attribute> ceil = {{"kernel_shape", Ints{2}},
                                                 {"strides", Ints{2}},
                                                 {"ceil_mode", std::int64_t{1}},
                                                 {"count_include_pad", std::int64_t{1}}};
  EXPECT_EQ(run("average_pool", {1, 2, 6}, ceil), (std::vector<float>{1.5f, 6}));
  // So is the only one of an input that is shorter than it, by less than a stride.
  std::map<std::string, Attribute> longer = ceil;
  longer["kernel_shape"] = Ints{4};
  longer["strides"] = Ints{3};
  EXPECT_EQ(run("average_pool", {1, 2}, longer), (std::vector<float>{1.5f}));
  EXPECT_EQ(run("average_pool", {1, 2, 6}, longer), (std::vector<float>{3}));
  EXPECT_THROW(run("average_pool", {1}, longer), Error);
  EXPECT_THROW(run("average_pool", {}, longer), Error);
}

TEST(Pool, IndicesOfMaxima) {
  OpCase c;
  c.op = "max_pool";
  c.outputs = 2;
  c.attrs = {{"kernel_shape", Ints{2, 2}}};
  c.inputs = {In::of(floats_tensor({1, 1, 2, 3}, {1, 5, 2, 4, 3, 6}), false)};
  EXPECT_EQ(elements<std::int64_t>(op_test::reference(c)[1]), (std::vector<std::int64_t>{1, 5}));
  c.attrs["storage_order"] = std::int64_t{1};
  EXPECT_EQ(elements<std::int64_t>(op_test::reference(c)[1]), (std::vector<std::int64_t>{2, 5}));
}

TEST(Pool, TapsAreCountedAsOneByOne) {
  std::mt19937 random(3);
  const auto up_to = [&](std::int64_t n) { return static_cast<std::int64_t>(random()) % n; };
  for (int i = 0; i < 2000; ++i) {
    Window w;
    w.in[2] = 1 + up_to(9);
    w.kernel[2] = 1 + up_to(7);
    w.stride[2] = 1 + up_to(4);
    w.dilation[2] = 1 + up_to(4);
    w.pad_begin[2] = up_to(12);
    const std::int64_t lo = up_to(8) - 4, hi = lo + up_to(12), o = up_to(8);
    Ints within;
    for (std::int64_t k = 0; k < w.kernel[2]; ++k) {
      const std::int64_t at = o * w.stride[2] - w.pad_begin[2] + k * w.dilation[2];
      if (at >= lo && at < hi) within.push_back(k);
    }
    const TapRange r = taps_within(w, 2, o, lo, hi);
    ASSERT_EQ(r.count(), static_cast<std::int64_t>(within.size())) << i;
    if (!within.empty()) {
      ASSERT_EQ(r.begin, within[0]) << i;
    }
  }
}

/// As numpy.max: a NaN in the window is its maximum, wherever it is.
TEST(Pool, MaxKeepsNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Case cases[] = {{{1, 5, 4, 7}, {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}}},
                        {{2, 17, 9, 9}, {{"kernel_shape", Ints{2, 3}}, {"strides", Ints{2, 2}}}},
                        {{1, 33, 5, 6}, {{"global", std::int64_t{1}}}}};
  for (const Case& c : cases) {
    OpCase o = op_case("max_pool", c);
    std::int64_t elements = 1;
    for (const std::int64_t e : c.x) elements *= e;
    std::vector<float> x;
    for (std::int64_t i = 0; i < elements; ++i) {
      x.push_back(i % 13 == 1 ? nan : static_cast<float>((i * 7) % 31));
    }
    o.inputs = {In::of(floats_tensor(c.x, x), false)};
    const op_test::OpGraph g(o);
    EXPECT_TRUE(std::isnan(g.results[0].as<float>()[0]));
    for_each_target([&] {
      o.target_lanes = {tile_lanes()};
      EXPECT_GT(check_offers(o), 0);
    });
  }
}

/// Neither offers nor the reference walk over taps that lie in the padding.
TEST(Pool, HugeWindows) {
  constexpr std::int64_t kHuge = 1 << 24;
  for (const char* op : {"average_pool", "max_pool"}) {
    OpCase c = op_case(
        op, {{1, 1, 1}, {{"kernel_shape", Ints{kHuge}}, {"pads", Ints{kHuge - 1, kHuge - 1}}}});
    c.inputs = {In::of(floats_tensor({1, 1, 1}, {3}), false)};
    op_test::OpGraph g(c);
    EXPECT_EQ(g.results[0].as<float>()[kHuge - 1], 3) << op;
    const Target target{.lanes = tile_lanes(), .threads = 2};
    const OfferRequest request{g.ref(), target, {}};
    std::vector<Offer> offers;
    for (int i = 0; i < 1000; ++i) {
      offers.clear();
      g.ref().node().op->offers(request, offers);
    }
    EXPECT_FALSE(offers.empty()) << op;
  }
}

TEST(Pool, SaysWhatIsWrong) {
  const int bad = static_cast<int>(ErrorCode::bad_input);
  const auto code = [](const Case& c) { return error_code_of(op_case("average_pool", c)); };
  EXPECT_EQ(code({{1, 3, 5, 5}, {}}), bad);
  EXPECT_EQ(code({{1, 3, 5, 5}, {{"kernel_shape", Ints{3}}}}), bad);
  EXPECT_EQ(code({{1, 3, 5, 5}, {{"kernel_shape", Ints{3, 0}}}}), bad);
  EXPECT_EQ(code({{1, 3, 5, 5}, {{"kernel_shape", Ints{3, 6}}}}), bad);
  EXPECT_EQ(code({{1, 3}, {{"kernel_shape", Ints{}}}}), bad);
  EXPECT_EQ(code({{1, 3, 0, 5}, {{"global", std::int64_t{1}}}}), bad);
}

}  // namespace
}  // namespace stowage
