// SPDX-License-Identifier: Apache-2.0
// Every offer of many small convolutions against the reference, and the checks of infer.
#include <algorithm>
#include <array>
#include <cmath>

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

struct ConvCase {
  Ints x, w;
  Ints strides = {}, pads = {}, dilations = {};
  std::int64_t group = 1;
  bool bias = true;
  std::string auto_pad = {};
};

In random_in(const Ints& extents, bool constant = false) {
  In in;
  in.extents = extents;
  in.constant = constant;
  return in;
}

OpCase op_case(const ConvCase& c) {
  OpCase o;
  o.op = "conv";
  if (!c.strides.empty()) o.attrs["strides"] = c.strides;
  if (!c.pads.empty()) o.attrs["pads"] = c.pads;
  if (!c.dilations.empty()) o.attrs["dilations"] = c.dilations;
  if (!c.auto_pad.empty()) o.attrs["auto_pad"] = c.auto_pad;
  o.attrs["group"] = c.group;
  o.inputs = {random_in(c.x), random_in(c.w, true)};
  if (c.bias) o.inputs.push_back(random_in({c.w[0]}, true));
  o.rtol = 1e-4;
  o.atol = 1e-4;
  o.exact = true;  // Winograd's method rounds more, see conv/winograd_test.cc
  o.target_lanes = {tile_lanes()};
  return o;
}

std::string name_of(const ConvCase& c) {
  return text("x ", std::span<const std::int64_t>(c.x), " w ", std::span<const std::int64_t>(c.w),
              " strides ", std::span<const std::int64_t>(c.strides), " pads ",
              std::span<const std::int64_t>(c.pads), " dilations ",
              std::span<const std::int64_t>(c.dilations), " group ", c.group);
}

TEST(Conv, EveryOfferMatchesTheReference) {
  const ConvCase cases[] = {
      {{1, 3, 9, 11}, {5, 3, 3, 3}, {1, 1}, {1, 1, 1, 1}, {}},
      {{2, 17, 7, 7}, {33, 17, 3, 3}, {1, 1}, {1, 1, 1, 1}, {}},
      {{1, 16, 14, 14}, {64, 16, 1, 1}, {}, {}, {}},
      {{1, 40, 5, 5}, {72, 40, 1, 1}, {}, {}, {}, 1, false},
      {{1, 3, 23, 21}, {24, 3, 7, 7}, {2, 2}, {3, 3, 3, 3}, {}},
      {{1, 4, 10, 9}, {7, 4, 3, 5}, {2, 3}, {0, 1, 2, 3}, {2, 2}},
      {{3, 8, 6, 1}, {16, 8, 3, 1}, {1, 1}, {2, 0, 2, 0}, {}},
      {{1, 32, 8, 8}, {48, 16, 3, 3}, {1, 1}, {1, 1, 1, 1}, {}, 2},
      {{1, 64, 6, 6}, {64, 32, 3, 3}, {2, 2}, {0, 0, 1, 1}, {}, 2},
      {{1, 12, 6, 6}, {18, 4, 3, 3}, {1, 1}, {1, 1, 1, 1}, {}, 3},
      {{2, 6, 5, 7}, {12, 1, 3, 3}, {1, 1}, {1, 1, 1, 1}, {}, 6},
      {{1, 10, 17}, {20, 10, 5}, {2}, {1, 2}, {}},
      {{1, 5, 4, 6, 5}, {9, 5, 3, 2, 3}, {1, 2, 1}, {1, 0, 1, 1, 1, 1}, {1, 1, 2}},
      {{1, 70, 3, 3}, {20, 70, 3, 3}, {1, 1}, {1, 1, 1, 1}, {}},
      {{1, 130, 1, 1}, {100, 130, 1, 1}, {}, {}, {}},
      {{1, 2, 12, 12}, {3, 2, 3, 3}, {2, 2}, {}, {}, 1, true, "SAME_UPPER"},
      {{1, 2, 12, 11}, {3, 2, 4, 4}, {2, 2}, {}, {}, 1, true, "SAME_LOWER"},
  };
  for_each_target([&] {
    for (const ConvCase& c : cases) {
      SCOPED_TRACE(name_of(c));
      EXPECT_GT(check_offers(op_case(c)), 0);
      expect_infer_repeats(op_case(c));
    }
  });
}

TEST(Conv, EveryChannelCount) {
  for (std::int64_t channels = 1; channels <= 33; ++channels) {
    SCOPED_TRACE(channels);
    EXPECT_GT(check_offers(op_case(
                  {{1, channels, 4, 5}, {34 - channels, channels, 3, 3}, {}, {1, 1, 1, 1}, {}})),
              0);
  }
}

TEST(Conv, EveryTileOfPixels) {
  for_each_target([] {
    for (const std::int64_t width : {1, 2, 3, 4, 5, 6, 15, 22}) {
      for (const std::int64_t out : {16, 32, 48, 64}) {
        SCOPED_TRACE(text(width, " pixels, ", out, " channels"));
        const ConvCase c{{1, 3, 1, width}, {out, 3, 1, 3}, {}, {0, 1, 0, 1}};
        EXPECT_GT(check_offers(op_case(c)), 0);
      }
    }
  });
}

/// Whole tiles of pixels whose taps are padding: left out where the weights are finite constants.
TEST(Conv, MostTapsInThePadding) {
  const ConvCase cases[] = {
      {{1, 20, 1, 1}, {40, 20, 7, 7}, {}, {6, 6, 6, 6}},
      {{1, 32, 2, 3}, {64, 32, 3, 3}, {}, {9, 9, 9, 9}},
      {{2, 16, 3, 2, 9}, {32, 16, 3, 3, 3}, {}, {2, 1, 1, 2, 1, 1}},
      {{1, 33, 5, 5}, {48, 33, 3, 3}, {1, 1}, {6, 6, 6, 6}, {6, 6}},
      {{1, 32, 4, 14}, {32, 16, 3, 3}, {1, 1}, {3, 1, 3, 1}, {}, 2},
  };
  for_each_target([&] {
    for (const ConvCase& c : cases) {
      for (const bool constant : {true, false}) {
        SCOPED_TRACE(name_of(c));
        OpCase o = op_case(c);
        o.inputs[1].constant = constant;
        EXPECT_GT(check_offers(o), 0);
      }
    }
  });
}

TEST(Conv, InfiniteWeightsMeetZerosInThePaddingWhateverTheThreads) {
  OpCase o = op_case({{1, 32, 9, 9}, {16, 32, 3, 3}, {}, {1, 1, 1, 1}});
  Tensor weights(DType::f32, Shape::unnamed(o.inputs[1].extents));
  std::ranges::fill(weights.as<float>(), 1.0f);
  weights.as<float>()[4 + 9 * 40] = INFINITY;  // the middle of a filter
  weights.as<float>()[9 * 32 * 3] = INFINITY;  // a corner of another
  o.inputs[1] = In::of(std::move(weights));
  op_test::OpGraph g(o);
  const auto row_major = [](const Shape& shape) { return std::vector{Layout::row_major(shape)}; };
  for (Offer& offer : op_test::offers_of(g, {.lanes = tile_lanes()}, row_major)) {
    if (offer.name() != "conv_blocked" && offer.name() != "conv_channels_last") continue;
    complete_inputs(g.ref(), offer);
    op_test::Buffer x(DType::f32, g.ref().shape(0), offer.in[0].layout);
    op_test::Buffer w(DType::f32, g.ref().shape(1), offer.in[1].layout);
    op_test::Buffer bias(DType::f32, g.ref().shape(2), offer.in[2].layout);
    x.load(g.inputs[0]);
    w.load(g.inputs[1]);
    bias.load(g.inputs[2]);
    const std::byte* const in[] = {x.data, w.data, bias.data};
    const std::byte* const constants[] = {nullptr, w.data, bias.data};
    op_test::Buffer y(DType::f32, g.ref().output().shape, offer.out[0].layout);
    std::byte* const out[] = {y.data};
    offer.call.bind({constants}).run({in, out, nullptr, nullptr});
    // A corner that meets the zeros left of the first column is no number there.
    const auto at = [&](std::int64_t c, std::int64_t row, std::int64_t column) {
      return op_test::element_as_double(
          DType::f32,
          y.data + 4 * y.mapping.offset(std::array<std::int64_t, 4>{0, c, row, column}));
    };
    EXPECT_TRUE(std::isnan(at(3, 4, 0))) << op_test::offer_text(offer);
    EXPECT_TRUE(std::isnan(at(3, 0, 4))) << op_test::offer_text(offer);
    EXPECT_FALSE(std::isnan(at(3, 4, 4))) << op_test::offer_text(offer);
    EXPECT_TRUE(std::isinf(at(1, 0, 0))) << op_test::offer_text(offer);
  }
}

TEST(Conv, AllFiniteSeesEveryElement) {
  for (const std::size_t count : {0u, 1u, 7u, 4095u, 4097u, 9000u}) {
    std::vector<float> x(count + 1, 3e38f);
    x[count] = INFINITY;  // behind the last
    EXPECT_TRUE(all_finite(x.data(), static_cast<std::int64_t>(count)));
    for (const float bad : {INFINITY, -INFINITY, std::nanf("")}) {
      for (std::size_t i = 0; i < count; i += count / 5 + 1) {
        x[i] = bad;
        EXPECT_FALSE(all_finite(x.data(), static_cast<std::int64_t>(count)));
        x[i] = -0.0f;
      }
    }
  }
}

/// Rows of the window of up to eight elements are gathered behind each other.
TEST(Conv, ShortRowsOfTheWindow) {
  const ConvCase cases[] = {
      {{1, 1, 25, 10}, {64, 1, 10, 4}, {2, 2}, {4, 1, 5, 1}, {}},
      {{2, 1, 7, 9}, {40, 1, 3, 3}, {1, 1}, {1, 1, 1, 1}, {}},
      {{1, 2, 9, 8}, {33, 2, 5, 4}, {2, 3}, {2, 3, 1, 3}, {}},
      {{1, 4, 6, 5}, {70, 4, 2, 2}, {1, 1}, {}, {2, 1}},
      {{1, 1, 3, 1}, {48, 1, 3, 7}, {1, 2}, {1, 6, 1, 6}, {}},
      {{1, 1, 3, 2}, {48, 1, 2, 1}, {1, 1}, {1, 3, 1, 2}, {}},
      {{1, 1, 4, 5, 6}, {34, 1, 2, 3, 3}, {1, 1, 2}, {1, 0, 1, 0, 1, 2}, {}},
      {{1, 1, 90, 3}, {35, 1, 60, 2}, {1, 1}, {3, 1, 2, 0}, {}},
  };
  for_each_target([&] {
    for (const ConvCase& c : cases) {
      SCOPED_TRACE(name_of(c));
      EXPECT_GT(check_offers(op_case(c)), 0);
    }
  });
}

TEST(Conv, OneTapOverBlocksOfChannels) {
  for_each_target([] {
    // The blocks of a pixel reach beyond the zeros that stand for padding.
    for (const std::int64_t channels : {9, 24, 32, 33}) {
      for (const std::int64_t width : {5, 6, 11, 40}) {
        for (const Ints& pads : {Ints{}, Ints{0, 1, 1, 2}}) {
          const ConvCase c{{1, channels, 40, width}, {33, channels, 1, 1}, {1, 1}, pads, {}};
          SCOPED_TRACE(name_of(c));
          EXPECT_GT(check_offers(op_case(c)), 0);
        }
      }
    }
  });
}

TEST(Conv, Depthwise) {
  const auto depthwise = [](std::int64_t channels, const Ints& spatial, const Ints& kernel) {
    ConvCase c{{2, channels}, {channels, 1}};
    c.x.insert(c.x.end(), spatial.begin(), spatial.end());
    c.w.insert(c.w.end(), kernel.begin(), kernel.end());
    c.group = channels;
    return c;
  };
  for_each_target([&] {
    for (const std::int64_t channels : {15, 16, 19}) {
      for (const std::int64_t k : {1, 3, 4, 7}) {
        for (const std::int64_t stride : {1, 2}) {
          for (const std::int64_t dilation : {1, 2}) {
            ConvCase c = depthwise(channels, {10, 27}, {k, k});
            c.strides = {stride, stride};
            c.dilations = {dilation, dilation};
            if (k == 7 && dilation == 2) c.pads = {9, 9, 9, 9};
            if (k < 7 && channels != 15) c.pads = {k / 2, k, k / 2 + 1, 0};
            SCOPED_TRACE(name_of(c));
            EXPECT_GT(check_offers(op_case(c)), 0);
          }
        }
      }
    }
  });
  ConvCase narrow = depthwise(5, {4, 1}, {3, 3});
  narrow.pads = {1, 4, 1, 4};
  narrow.dilations = {1, 3};
  EXPECT_GT(check_offers(op_case(narrow)), 0);
  EXPECT_GT(check_offers(op_case(depthwise(18, {29}, {4}))), 0);
  EXPECT_GT(check_offers(op_case(depthwise(18, {4, 5, 6}, {3, 2, 4}))), 0);
}

/// Squares of 3 and 5 are walked column by column, two rows at a time: every width around a group
/// of columns, odd and even numbers of rows, and padding on any side.
TEST(Conv, DepthwiseOfSquares) {
  for_each_target([] {
    for (const std::int64_t k : {3, 5}) {
      for (const std::int64_t stride : {1, 2}) {
        for (std::int64_t width = 1; width <= 13; ++width) {
          for (std::int64_t pad = 0; pad < k; ++pad) {
            const std::int64_t behind = (width + pad) % k, height = 1 + (width + pad) % 6;
            if (height + pad + 2 < k || width + pad + behind < k) continue;
            const std::int64_t channels = pad % 2 == 0 ? 16 : 1 + (7 * width) % 33;
            ConvCase c{{1, channels, height, width}, {channels, 1, k, k}};
            c.group = channels;
            c.strides = {stride, stride};
            c.pads = {2, pad, pad, behind};
            c.bias = width % 2 == 0;
            SCOPED_TRACE(name_of(c));
            EXPECT_GT(check_offers(op_case(c)), 0);
          }
        }
      }
    }
  });
}

/// Offers whose kernel is `name`.
std::int64_t count_offers(const std::set<std::string>& offers, std::string_view name) {
  return std::ranges::count_if(offers, [&](const std::string& o) { return o.starts_with(name); });
}

/// Groups of a few channels, several of which a vector holds.
TEST(Conv, NarrowGroups) {
  for_each_target([] {
    for (const std::int64_t width : {2, 4, 8}) {
      for (const std::int64_t groups : {2, 3, 4, 9}) {
        for (const std::int64_t k : {1, 3, 4}) {
          for (const std::int64_t stride : {1, 2}) {
            ConvCase c{{2, groups * width, 7, 19}, {groups * width, width, k, k}};
            c.group = groups;
            c.strides = {stride, stride};
            c.pads = {k / 2, k - 1, 0, k / 2};
            if (groups == 3) c.dilations = {1, 2};
            c.bias = k != 3;
            SCOPED_TRACE(name_of(c));
            std::set<std::string> offers;
            check_offers(op_case(c), &offers);
            EXPECT_EQ(count_offers(offers, "conv_grouped"), tile_lanes() % width == 0 ? 4 : 0);
          }
        }
      }
    }
  });
  ConvCase deep{{1, 12, 3, 4, 40}, {12, 4, 3, 2, 3}};
  deep.group = 3;
  EXPECT_GT(check_offers(op_case(deep)), 0);
  ConvCase line{{1, 24, 37}, {24, 8, 5}};
  line.group = 3;
  EXPECT_GT(check_offers(op_case(line)), 0);
}

/// Sums along the input channels, of every length around a vector, over whole and cut windows.
TEST(Conv, FewOutputs) {
  for_each_target([] {
    for (std::int64_t o = 1; o <= 9; ++o) {
      for (const std::int64_t channels : {1, 7, 16, 33}) {
        for (const std::int64_t k : {1, 3, 4}) {
          ConvCase c{{2, channels, 5, 21}, {o, channels, k, k}};
          c.pads = {k / 2, k - 1, 0, k / 2};
          c.strides = {1, 1 + channels % 2};
          if (channels == 16) c.dilations = {2, 3};
          c.bias = k == 3;
          SCOPED_TRACE(name_of(c));
          std::set<std::string> offers;
          check_offers(op_case(c), &offers);
          EXPECT_EQ(count_offers(offers, "conv_dots"), o <= 8 && tile_lanes() > 1 ? 1 : 0);
        }
      }
    }
  });
  EXPECT_GT(check_offers(op_case({{1, 5, 37}, {2, 5, 4}})), 0);
  ConvCase deep{{1, 6, 3, 4, 40}, {3, 6, 3, 2, 3}};
  deep.pads = {1, 1, 1, 1, 0, 9};
  EXPECT_GT(check_offers(op_case(deep)), 0);
}

TEST(Conv, DepthwiseWithAMultiplier) {
  const auto check = [](const ConvCase& c) {
    SCOPED_TRACE(name_of(c));
    std::set<std::string> offers;
    check_offers(op_case(c), &offers);
    // One input channel for all outputs is an ordinary convolution.
    EXPECT_EQ(count_offers(offers, "conv_depthwise"), c.x[1] == 1 ? 0 : 4);
    EXPECT_GT(std::ssize(offers), 0);
  };
  const auto depthwise = [](std::int64_t channels, std::int64_t multiplier, const Ints& x,
                            const Ints& w) {
    ConvCase c{{1, channels}, {channels * multiplier, 1}};
    c.x.insert(c.x.end(), x.begin(), x.end());
    c.w.insert(c.w.end(), w.begin(), w.end());
    c.group = channels;
    return c;
  };
  const auto check_channels = [&](std::int64_t channels) {
    for (const std::int64_t multiplier : {2, 3, 4}) {
      ConvCase c = depthwise(channels, multiplier, {3, 5}, {3, 3});
      c.pads = {1, 1, 1, 1};
      check(c);
    }
  };
  for (std::int64_t channels = 1; channels <= 33; ++channels) check_channels(channels);
  for_each_target([&] {
    for (const std::int64_t channels : {2, 5, 17}) check_channels(channels);
    for (const std::int64_t k : {1, 2, 3}) {
      for (const std::int64_t stride : {1, 2, 3}) {
        for (const std::int64_t dilation : {1, 2}) {
          ConvCase c = depthwise(7, 2 + k % 2, {7, 13}, {k, k});
          c.strides = {stride, stride};
          c.dilations = {dilation, dilation};
          c.pads = {k / 2, k, k / 2 + 1, 0};
          check(c);
        }
      }
    }
    // Rows longer than their copies, windows beside the image, other numbers of axes.
    ConvCase wide = depthwise(6, 2, {2, 301}, {3, 3});
    wide.pads = {1, 1, 1, 1};
    check(wide);
    wide.strides = {1, 3};
    check(wide);
    ConvCase narrow = depthwise(5, 3, {4, 1}, {3, 3});
    narrow.pads = {1, 4, 1, 4};
    narrow.dilations = {1, 3};
    check(narrow);
    check(depthwise(18, 2, {29}, {4}));
    check(depthwise(7, 3, {4, 5, 6}, {3, 2, 4}));
    check(depthwise(2, 40, {3, 5}, {3, 3}));
  });
}

TEST(Conv, WindowsTooLargeToCopy) {
  // A multiplier needs copies of the rows; without room for them, however narrow vectors are,
  // another kernel takes over.
  ConvCase c{{1, 2, 70, 140}, {4, 1, 3, 3}, {}, {}, {30, 64}, 2};
  std::set<std::string> offers;
  check_offers(op_case(c), &offers);
  EXPECT_EQ(count_offers(offers, "conv_depthwise"), 0);
  EXPECT_GT(std::ssize(offers), 0);
}

TEST(Conv, LongSumsAreCutIntoSlabs) {
  EXPECT_GT(check_offers(op_case({{1, 400, 5, 5}, {72, 400, 3, 3}, {}, {1, 1, 1, 1}, {}})), 0);
  EXPECT_GT(check_offers(op_case({{1, 2000, 1, 3}, {65, 2000, 1, 1}, {}, {}, {}})), 0);
}

TEST(Conv, ManyTapsAndManyBorders) {
  EXPECT_GT(check_offers(op_case({{1, 3, 9, 40}, {5, 3, 11, 31}, {}, {5, 15, 5, 15}, {}})), 0);
  EXPECT_GT(check_offers(op_case({{1, 2, 20, 30}, {3, 2, 1, 1}, {}, {3, 3, 3, 3}, {}})), 0);
}

TEST(Conv, Posts) {
  using Kind = Activation::Kind;
  const Activation activations[] = {{Kind::none, 0, 0},       {Kind::clip, 0, INFINITY},
                                    {Kind::clip, 0, 6},       {Kind::clip, 0.5f, 2},
                                    {Kind::clip, -3, -1},     {Kind::leaky, 0.1f, 0},
                                    {Kind::prelu, 0, 0},      {Kind::sigmoid, 0, 0},
                                    {Kind::tanh, 0, 0},       {Kind::hard_sigmoid, 0.2f, 0.5f},
                                    {Kind::hard_swish, 0, 0}, {Kind::silu, 0, 0},
                                    {Kind::gelu, 0, 0},       {Kind::gelu_tanh, 0, 0},
                                    {Kind::mish, 0, 0},       {Kind::elu, 0.5f, 0},
                                    {Kind::softplus, 0, 0}};
  for (const Activation& activation : activations) {
    for (const bool bias : {false, true}) {
      for (const bool residual : {false, true}) {
        for (const auto& [slopes, group] :
             {std::pair<std::int64_t, std::int64_t>{1, 1}, {19, 1}, {19, 19}}) {
          if (slopes == 1 && activation.kind != Kind::prelu) continue;
          OpCase c =
              op_case({{1, 19, 6, 17}, {19, 19 / group, 3, 3}, {}, {1, 1, 1, 1}, {}, group, bias});
          if (residual) {
            op_test::add_post(c, {.kind = Post::Kind::add}, random_in({1, 19, 6, 17}));
          }
          const auto broadcast = slopes == 1 ? Post::Broadcast::scalar : Post::Broadcast::channel;
          const Post post = op_test::activation_post(activation, broadcast);
          if (activation.kind == Kind::prelu) {
            op_test::add_post(c, post, random_in({slopes, 1, 1}, true));
          } else {
            op_test::add_post(c, post);
          }
          SCOPED_TRACE(text("activation ", static_cast<int>(activation.kind), " bias ", bias,
                            " residual ", residual, " slopes ", slopes, " group ", group));
          EXPECT_GT(check_offers(c), 0);
        }
      }
    }
  }
}

TEST(Conv, ListsOfPosts) {
  for_each_target([] {
    for (const std::int64_t group : {1, 19, 2}) {
      const std::int64_t channels = group == 2 ? 64 : 19;
      const OpCase c = op_case({{1, channels, 5, 17},
                                {channels, channels / group, 3, 3},
                                {},
                                {1, 1, 1, 1},
                                {},
                                group,
                                group == 1});
      for (const OpCase& o : op_test::with_post_lists(c, {1, channels, 5, 17}, {channels, 1, 1})) {
        SCOPED_TRACE(text("group ", group, " ", text_of(o.posts)));
        EXPECT_GT(check_offers(o), 0);
      }
    }
  });
}

/// 41 / 41 is 1, and not the product with 1 / 41.
TEST(Conv, DividesAsTheOperatorDoes) {
  std::vector<float> x;
  for (int i = 0; i < 100; ++i) x.push_back(static_cast<float>(i));
  OpCase c = op_case({{1, 1, 1, 100}, {1, 1, 1, 1}});
  c.inputs = {In::of(op_test::floats_tensor({1, 1, 1, 100}, x), false),
              In::of(op_test::floats_tensor({1, 1, 1, 1}, {1}))};
  c.rtol = c.atol = 0;
  for (const float divisor : {41.0f, 7.0f, 1e-40f}) {
    c.posts = {{.kind = Post::Kind::divide, .factor = divisor}};
    EXPECT_GT(check_offers(c), 0);
  }
}

TEST(Conv, SaysWhatIsWrong) {
  const auto code = [](const ConvCase& c) { return error_code_of(op_case(c)); };
  const int bad = static_cast<int>(ErrorCode::bad_input);
  const int unsupported = static_cast<int>(ErrorCode::unsupported);
  EXPECT_EQ(code({{1, 3, 5, 5}, {4, 2, 3, 3}}), bad);
  EXPECT_EQ(code({{1, 3, 5}, {4, 3, 3, 3}}), bad);
  EXPECT_EQ(code({{1, 3}, {4, 3}}), bad);
  EXPECT_EQ(code({{1, 3, 5, 5}, {4, 3, 7, 3}}), bad);
  EXPECT_EQ(code({{1, 3, 5, 5}, {4, 3, 3, 3}, {0, 1}}), bad);
  EXPECT_EQ(code({{1, 3, 5, 5}, {4, 3, 3, 3}, {1}}), bad);
  EXPECT_EQ(code({{1, 3, 5, 5}, {4, 3, 3, 3}, {}, {-1, 0, 0, 0}}), bad);
  EXPECT_EQ(code({{1, 3, 5, 5}, {4, 3, 3, 3}, {}, {}, {0, 1}}), bad);
  EXPECT_EQ(code({{1, 4, 5, 5}, {5, 2, 3, 3}, {}, {}, {}, 2}), bad);
  EXPECT_EQ(code({{1, 4, 5, 5}, {4, 4, 3, 3}, {}, {}, {}, 0}), bad);
  EXPECT_EQ(code({{1, 3, 5, 5}, {4, 3, 3, 3}, {}, {}, {}, 1, true, "SAME"}), bad);
  EXPECT_EQ(code({{1, 1, 2, 2, 2, 2}, {1, 1, 1, 1, 1, 1}}), unsupported);
  OpCase c = op_case({{1, 3, 5, 5}, {4, 3, 3, 3}});
  c.inputs[2].extents = {3};
  EXPECT_EQ(error_code_of(c), bad);
}

}  // namespace
}  // namespace stowage
