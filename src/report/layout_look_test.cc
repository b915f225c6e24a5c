// SPDX-License-Identifier: Apache-2.0
#include "report/layout_look.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace stowage {
namespace {

using Three = std::array<double, 3>;

/// Linear red, green and blue of "#rrggbb".
Three linear(std::string_view hex) {
  Three out{};
  for (std::size_t i = 0; i < 3; ++i) {
    const double v = std::stoi(std::string(hex.substr(1 + 2 * i, 2)), nullptr, 16) / 255.0;
    out[i] = v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
  }
  return out;
}

Three times(const std::array<Three, 3>& m, const Three& v) {
  Three out{};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t k = 0; k < 3; ++k) out[i] += m[i][k] * v[k];
  }
  return out;
}

/// CIELAB, white D65.
Three lab(const Three& rgb) {
  const Three xyz = times({{{0.4124564, 0.3575761, 0.1804375},
                            {0.2126729, 0.7151522, 0.0721750},
                            {0.0193339, 0.1191920, 0.9503041}}},
                          rgb);
  const Three white = {0.95047, 1.0, 1.08883};
  Three f{};
  for (std::size_t i = 0; i < 3; ++i) {
    const double t = std::max(xyz[i], 0.0) / white[i];
    f[i] = t > 216.0 / 24389 ? std::cbrt(t) : (24389.0 / 27 * t + 16) / 116;
  }
  return {116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])};
}

double contrast(std::string_view a, std::string_view b) {
  const auto luminance = [](std::string_view hex) {
    const Three c = linear(hex);
    return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
  };
  const double x = luminance(a), y = luminance(b);
  return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

// G. Machado, M. Oliveira, L. Fernandes 2009, severity 1.
TEST(LayoutLook, ColoursDifferWhateverColoursOneSees) {
  const std::pair<const char*, std::array<Three, 3>> eyes[] = {
      {"all", {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}},
      {"no red",
       {{{0.152286, 1.052583, -0.204868},
         {0.114503, 0.786281, 0.099216},
         {-0.003882, -0.048116, 1.051998}}}},
      {"no green",
       {{{0.367322, 0.860646, -0.227968},
         {0.280085, 0.672501, 0.047413},
         {-0.011820, 0.042940, 0.968881}}}},
      {"no blue",
       {{{1.255528, -0.076749, -0.178779},
         {-0.078411, 0.930809, 0.147602},
         {0.004733, 0.691367, 0.303900}}}}};
  const auto colours = layout_colours();
  for (const auto& [name, matrix] : eyes) {
    for (std::size_t i = 0; i < colours.size(); ++i) {
      for (std::size_t k = 0; k < i; ++k) {
        const Three a = lab(times(matrix, linear(colours[i].colour)));
        const Three b = lab(times(matrix, linear(colours[k].colour)));
        const double distance = std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
        EXPECT_GT(distance, 15) << name << ": " << colours[i].colour << " " << colours[k].colour;
      }
    }
  }
}

TEST(LayoutLook, WordsAreLegibleOnEveryColour) {
  for (const LayoutLook& look : layout_colours()) {
    EXPECT_GE(contrast(look.colour, look.ink), 4.5) << look.colour;
  }
}

// Pages of different models and versions are compared: these colours stay.
TEST(LayoutLook, AColourBelongsToItsLayout) {
  const std::pair<std::string, std::string_view> cases[] = {
      {"NCHW", "#56b4e9"},   {"NHWC", "#009e73"},
      {"nChw4c", "#f0e442"}, {"nChw8c", "#e69f00"},
      {"NC", "#d55e00"},     {"nChw16c", "#cc79a7"},
      {"ABC", "#c4c4c4"},    {"image-channel in an image", "#0072b2"}};
  std::set<std::string_view> colours;
  for (const auto& [layout, colour] : cases) {
    const LayoutLook look = layout_looks(std::vector<std::string>{layout})[0];
    EXPECT_EQ(look.colour, colour) << layout;
    EXPECT_EQ(look.pattern, 0) << layout;
    colours.insert(colour);
  }
  EXPECT_EQ(colours.size(), std::size(cases)) << "layouts that models mostly meet share a colour";
}

TEST(LayoutLook, NoTwoOfAPageAreAlike) {
  std::string letters = "ABCD";
  std::vector<std::string> layouts;
  do {
    layouts.push_back(letters);
  } while (std::next_permutation(letters.begin(), letters.end()));
  const std::vector<LayoutLook> looks = layout_looks(layouts);
  std::set<std::pair<std::string_view, int>> seen;
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    EXPECT_TRUE(seen.emplace(looks[i].colour, looks[i].pattern).second) << layouts[i];
    EXPECT_EQ(looks[i].colour, layout_looks(std::vector<std::string>{layouts[i]})[0].colour);
  }
}

TEST(LayoutLook, SaysWhatANameMeans) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"NCHW", "batch, channel, row, column (activations of ONNX, ncnn and MACE's CPU)"},
      {"nChw16c",
       "batch, blocks of 16 channels, row, column, the 16 channels of a block (blocks of 16, "
       "AVX-512)"},
      {"DEBC", "axes d, e, b, c; no operator names them"},
      {"A", "axis a; no operator names it"},
      {"abDc16d", "axes a, b, blocks of 16 d, c, the 16 d of a block; no operator names them"},
      {"n c~8 h w", "batch, channel (rounded up to 8 with zeros), row, column"},
      {"c/4 (h w)~16B c%4",
       "blocks of 4 channels, row, column (these together padded to a multiple of 16 bytes), the 4 "
       "channels of a block"},
      {"image-channel in an image, f16",
       "rows of the image: batch, row; across: blocks of 4 channels, column; in a texel: the 4 "
       "channels of a block; in an image of the device; stored as f16 (MACE channel-major: "
       "activations)"},
      {"NCHW in a buffer",
       "batch, channel, row, column; in a buffer of the device (activations of ONNX, ncnn and "
       "MACE's CPU)"},
      {"OIhw4i16o4i",
       "blocks of 16 output channels, blocks of 16 input channels, row, column, groups of 4 input "
       "channels in a block, the 16 output channels of a block, the 4 input channels of a block "
       "(filter for int8 dot products (VNNI))"},
      {"()", "one element"},
      {"n c/", ""}};
  for (const auto& [layout, words] : cases) EXPECT_EQ(layout_meaning(layout), words) << layout;
}

}  // namespace
}  // namespace stowage
