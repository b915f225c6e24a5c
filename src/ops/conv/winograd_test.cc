// SPDX-License-Identifier: Apache-2.0
// Convolution by Winograd's method on the CPU: every offer against the reference, its error
// against the stated bound, and when plans choose it.
#include "kernels/window/winograd.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "kernels/gemm/tiles.h"
#include "ops/conv/test_util.h"
#include "stowage/plan.h"

namespace stowage {
namespace {

using op_test::check_offers;
using op_test::for_each_target;
using op_test::In;
using op_test::OpCase;
using op_test::OpGraph;

OpCase op_case(const Ints& x, std::int64_t out, const Ints& pads, bool bias = false,
               const Ints& taps = {3, 3}) {
  OpCase c{.op = "conv", .attrs = {{"pads", pads}}};
  Ints weights{out, x[1]};
  weights.insert(weights.end(), taps.begin(), taps.end());
  c.inputs = {{.extents = x}, {.extents = weights, .constant = true}};
  if (bias) c.inputs.push_back({.extents = {out}, .constant = true});
  c.rtol = 0;
  c.target_lanes = {tile_lanes()};
  return c;
}

double largest(const Tensor& t) {
  double most = 0;
  for (const float x : op_test::elements<float>(t)) {
    most = std::max(most, std::fabs(static_cast<double>(x)));
  }
  return most;
}

/// How many forms have such taps along the two last axes; one tap along an axis that is not there.
std::int64_t forms_of(const Ints& weights) {
  const auto taps = [&](std::size_t from_last) {
    return weights.size() > 2 + from_last ? weights[weights.size() - 1 - from_last] : 1;
  };
  return std::ranges::count_if(kWinogradForms, [&](const WinogradForm& f) {
    return f.x.taps == taps(0) && f.y.taps == taps(1);
  });
}

/// The rows of Winograd that were offered, each in four pairs of layouts. An error is relative to
/// the largest result.
void check(OpCase c) {
  const std::int64_t rows = forms_of(c.inputs[1].extents);
  ASSERT_GT(rows, 0);
  c.atol = kWinogradError * largest(op_test::reference(c).at(0));
  std::set<std::string> seen;
  check_offers(c, &seen);
  EXPECT_EQ(std::ranges::count_if(
                seen, [](const std::string& o) { return o.starts_with("conv_winograd"); }),
            4 * rows);
}

TEST(Winograd, EveryChannelCount) {
  for_each_target([] {
    for (std::int64_t channels = 1; channels <= 33; ++channels) {
      SCOPED_TRACE(channels);
      check(op_case({1, channels, 4, 5}, 34 - channels, {1, 1, 1, 1}, channels % 2 == 0));
    }
  });
}

/// Tiles that stick out on every side, several images and blocks of channels: what lies beside an
/// edge of the image in memory is another row's, block's or image's.
TEST(Winograd, EveryEdge) {
  const Ints pads[] = {{0, 0, 0, 0}, {1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0},
                       {0, 0, 0, 1}, {1, 1, 1, 1}, {2, 2, 2, 2}, {5, 9, 3, 16}};
  for_each_target([&] {
    for (const Ints& p : pads) {
      SCOPED_TRACE(std::span<const std::int64_t>(p)[1]);
      check(op_case({3, 9, 5, 6}, 10, p, true));
      check(op_case({2, 5, 13, 11}, 4, p));
    }
  });
  for (std::int64_t h = 1; h <= 13; ++h) {
    for (std::int64_t w = 1; w <= 11; ++w) {
      SCOPED_TRACE(text(h, " x ", w));
      check(op_case({1, 3, h, w}, 2, {1, 1, 1, 1}));
    }
  }
}

/// Every form, images of all sizes around its tiles, tails of channels.
TEST(Winograd, EveryForm) {
  const Ints windows[] = {{3, 3}, {5, 5}, {7, 7}, {1, 3}, {1, 5}, {1, 7}, {3, 1}, {5, 1}, {7, 1}};
  for_each_target([&] {
    for (const Ints& taps : windows) {
      const std::int64_t dy = taps[0] / 2, dx = taps[1] / 2;
      SCOPED_TRACE(text(taps[0], " x ", taps[1]));
      for (std::int64_t extent = 1; extent <= 11; ++extent) {
        check(op_case({2, 5, extent, 12 - extent}, 18, {dy, dx, dy, dx}, true, taps));
      }
      check(op_case({1, 17, 9, 12}, 3, {0, 0, 1, 2}, false, taps));
      check(op_case({1, 3, 12, 9}, 37, {dy + 2, dx + 1, 0, dx}, true, taps));
    }
  });
}

TEST(Winograd, OneAxis) {
  for_each_target([] {
    for (const std::int64_t taps : {3, 5, 7}) {
      for (std::int64_t extent = taps; extent <= 20; ++extent) {
        SCOPED_TRACE(text(taps, " taps, ", extent));
        check(op_case({2, 9, extent}, 20, {extent % 3, taps / 2}, true, {taps}));
      }
      OpCase dilated = op_case({1, 5, 61}, 18, {taps, 1}, true, {taps});
      dilated.attrs["dilations"] = Ints{4};
      check(dilated);
    }
  });
}

/// Taps of the first axis: padded and apart, with strides, one and many; planes and images.
TEST(Winograd, Volumes) {
  for_each_target([] {
    for (const std::int64_t depth : {1, 2, 3, 7}) {
      for (const std::int64_t stride : {1, 2, 3}) {
        SCOPED_TRACE(text(depth, " taps, stride ", stride));
        OpCase c = op_case({2, 5, 7, 6, 9}, 18, {1, 1, 1, 2, 1, 1}, true, {depth, 3, 3});
        c.attrs["strides"] = Ints{stride, 1, 1};
        check(c);
        c.attrs["dilations"] = Ints{depth < 4 ? 2 : 1, 1, 2};
        check(c);
      }
      check(op_case({1, 17, 9, 5, 8}, 9, {depth, 2, 0, 0, 2, 2}, false, {depth, 5, 5}));
      check(op_case({1, 3, 8, 12, 7}, 5, {0, 0, 1, 0, 0, 1}, false, {depth, 1, 3}));
    }
  });
}

/// Taps apart: tiles lie inside one another, the last of them with fewer results or none.
TEST(Winograd, EveryDilation) {
  const auto dilated = [](OpCase c, std::int64_t dy, std::int64_t dx) {
    c.attrs["dilations"] = Ints{dy, dx};
    return c;
  };
  for_each_target([&] {
    for (std::int64_t d = 1; d <= 6; ++d) {
      SCOPED_TRACE(d);
      check(dilated(op_case({2, 5, 13, 12}, 18, {d, d, d, d}, true), d, d));
      check(dilated(op_case({1, 3, 25, 23}, 4, {0, 1, 2, 0}), d, 3));
      check(dilated(op_case({1, 17, 7, 26}, 3, {1, d, 1, d}), 1, d));
    }
  });
}

/// Strips that all threads share and strips of each; groups of output channels.
TEST(Winograd, LargeResults) {
  for_each_target([] {
    check(op_case({1, 3, 70, 75}, 37, {1, 1, 1, 1}, true));
    check(op_case({2, 6, 1, 301}, 150, {1, 1, 1, 1}));
    check(op_case({1, 70, 9, 10}, 200, {0, 1, 2, 1}, true));
  });
}

TEST(Winograd, Posts) {
  for_each_target([] {
    const OpCase plain = op_case({2, 5, 6, 5}, 19, {1, 1, 1, 1}, true);
    for (const OpCase& c : op_test::with_post_lists(plain, {2, 19, 6, 5}, {19, 1, 1})) check(c);
  });
}

/// Sums of so many channels of unit variance, relative to the largest result.
TEST(Winograd, ErrorIsBounded) {
  std::mt19937 random(5);
  const auto normal = [&](const Ints& extents) {
    std::int64_t count = 1;
    for (const std::int64_t e : extents) count *= e;
    std::vector<float> values(static_cast<std::size_t>(count));
    std::normal_distribution<float> next;
    for (float& v : values) v = next(random);
    return op_test::floats_tensor(extents, values);
  };
  for_each_target([&] {
    for (const std::int64_t channels : {1, 3, 64, 256, 1024}) {
      for (const Ints& taps : {Ints{3, 3}, Ints{5, 5}, Ints{7, 7}, Ints{1, 3}, Ints{5, 1}}) {
        SCOPED_TRACE(text(channels, " channels, ", taps[0], " x ", taps[1]));
        OpCase c = op_case({1, channels, 14, 14}, 8, {1, 1, 1, 1}, false, taps);
        c.inputs = {In::of(normal({1, channels, 14, 14}), false),
                    In::of(normal({8, channels, taps[0], taps[1]}))};
        check(c);
      }
    }
  });
}

/// The tile's transform mixes neighbours, but never what lies behind an edge.
TEST(Winograd, WhatIsBehindAnEdgeDoesNotCount) {
  OpCase c = op_case({2, 5, 4, 4}, 6, {0, 0, 0, 0});
  std::vector<float> x(2 * 5 * 4 * 4, 1.0f);
  for (std::size_t i = 5 * 4 * 4; i < x.size(); ++i) x[i] = NAN;  // the second image
  c.inputs[0] = In::of(op_test::floats_tensor({2, 5, 4, 4}, x), false);
  c.atol = 1e-4;
  for_each_target([&] {
    c.target_lanes = {tile_lanes()};
    EXPECT_GT(check_offers(c), 0);
  });
}

std::vector<Offer> offered(const OpCase& c, const Target& target) {
  OpGraph g(c);
  std::vector<Offer> offers = op_test::offers_of(
      g, target, [](const Shape& shape) { return std::vector<Layout>{Layout::row_major(shape)}; });
  std::erase_if(offers, [](const Offer& o) { return !o.name().starts_with("conv_winograd"); });
  return offers;
}

TEST(Winograd, OtherConvolutionsAreDirect) {
  const OpCase plain = op_case({1, 8, 7, 8}, 8, {1, 1, 1, 1});
  OpCase computed = plain, strided = plain, dilated = plain, grouped = plain, wide = plain;
  computed.inputs[1].constant = false;
  strided.attrs["strides"] = Ints{1, 2};
  dilated.attrs["dilations"] = Ints{3, 1};
  grouped.inputs[1].extents = {8, 4, 3, 3};
  grouped.attrs["group"] = std::int64_t{2};
  wide.inputs[1].extents = {8, 8, 3, 5};
  Target target{.lanes = tile_lanes()};
  EXPECT_EQ(offered(plain, target).size(), 12u);
  for (const OpCase& c : {computed, strided, dilated, grouped, wide}) {
    EXPECT_TRUE(offered(c, target).empty());
  }
  // More channels add up more errors, and larger tiles begin with more.
  EXPECT_EQ(offered(op_case({1, 2048, 7, 8}, 8, {1, 1, 1, 1}), target).size(), 8u);
  target.exact = true;
  EXPECT_TRUE(offered(plain, target).empty());
}

/// However the work is cut, a sum adds the same numbers in the same order.
TEST(Winograd, ThreadsDoNotChangeResults) {
  for_each_target([] {
    for (const Ints& x : {Ints{1, 11, 9, 10}, Ints{2, 5, 60, 61}}) {
      OpGraph g(op_case(x, 70, {1, 1, 1, 1}, true));
      const auto shape_of = [&](ValueId v) -> const Shape& { return g.graph.value(v).shape; };
      std::map<std::string, std::vector<std::byte>> first;
      for (const int threads : {1, 2, 3, 4, 16}) {
        ThreadPool pool(std::min(threads, 4));
        OpCase c = op_case(x, 70, {1, 1, 1, 1}, true);
        for (const Offer& offer : offered(c, {.lanes = tile_lanes(), .threads = threads})) {
          std::vector<op_test::Buffer> in;
          for (std::size_t i = 0; i < g.inputs.size(); ++i) {
            in.emplace_back(DType::f32, shape_of(g.graph.node(g.id).inputs[i]), offer.in[i].layout);
            in.back().load(g.inputs[i]);
          }
          op_test::Buffer out(DType::f32, shape_of(g.graph.node(g.id).outputs[0]),
                              offer.out[0].layout);
          std::vector<const std::byte*> data;
          for (const op_test::Buffer& b : in) data.push_back(b.data);
          std::vector<std::byte> scratch(offer.scratch_bytes + kAlignment);
          std::byte* const results[] = {out.data};
          offer.call.bind({data}).run(
              {data, results,
               reinterpret_cast<std::byte*>(op_test::Buffer::round_up_address(
                   reinterpret_cast<std::uintptr_t>(scratch.data()))),
               &pool});
          const std::vector<std::byte> bytes(out.data, out.data + out.mapping.bytes());
          const auto [at, is_new] = first.emplace(op_test::offer_text(offer), bytes);
          EXPECT_EQ(at->second, bytes) << threads << " threads, " << at->first;
          EXPECT_EQ(is_new, threads == 1);
        }
      }
      EXPECT_EQ(first.size(), 12u);
    }
  });
}

std::string kernel_of(const OpCase& c, bool exact = false) {
  OpGraph g(c);
  PlanOptions options;
  options.exact = exact;
  return report(*make_plan(std::make_shared<Graph>(g.graph), options)).nodes.at(0).kernel;
}

/// One result leaves most of a tile unused, and no sum saves the transforms of few channels.
TEST(Winograd, IsChosenByPrice) {
  const OpCase large = op_case({1, 64, 56, 56}, 64, {1, 1, 1, 1});
  EXPECT_TRUE(kernel_of(large).starts_with("conv_winograd"));
  EXPECT_FALSE(kernel_of(large, true).starts_with("conv_winograd"));
  for (const OpCase& c :
       {op_case({1, 64, 3, 3}, 64, {0, 0, 0, 0}), op_case({1, 1, 56, 56}, 1, {1, 1, 1, 1})}) {
    EXPECT_FALSE(kernel_of(c).starts_with("conv_winograd"));
  }
}

}  // namespace
}  // namespace stowage
