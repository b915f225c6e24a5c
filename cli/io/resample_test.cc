// SPDX-License-Identifier: Apache-2.0
#include "cli/io/resample.h"

#include <cmath>

#include "cli/test_files.h"

namespace stowage::cli {
namespace {

Picture pattern(int width, int height, int channels) {
  Picture picture{width, height, channels, {}};
  for (int i = 0; i < width * height * channels; ++i) {
    picture.pixels.push_back(static_cast<std::uint8_t>(i * 73 + i / 3));
  }
  return picture;
}

double filtered(Filter filter, double x) {
  x = std::fabs(x);
  if (filter == Filter::triangle) return x < 1 ? 1 - x : 0;
  if (x < 1) return 1.5 * x * x * x - 2.5 * x * x + 1;
  return x < 2 ? -0.5 * x * x * x + 2.5 * x * x - 4 * x + 2 : 0;
}

/// The weight of input `k` for output `i` of an axis.
double weight(int k, int i, int from, int to, Filter filter) {
  const double scale = static_cast<double>(from) / to, widened = std::fmax(scale, 1);
  const double centre = (i + 0.5) * scale;
  double sum = 0;
  for (int j = 0; j < from; ++j) sum += filtered(filter, (j + 0.5 - centre) / widened);
  return filtered(filter, (k + 0.5 - centre) / widened) / sum;
}

/// Slow: every sample of the picture has a weight for every other, and nothing is rounded.
double reference(const Picture& p, int width, int height, Filter filter, int x, int y, int c) {
  double sum = 0;
  for (int v = 0; v < p.height; ++v) {
    const double down = weight(v, y, p.height, height, filter);
    if (down == 0) continue;
    double row = 0;
    for (int u = 0; u < p.width; ++u) {
      row += weight(u, x, p.width, width, filter) *
             p.pixels[static_cast<std::size_t>((v * p.width + u) * p.channels + c)];
    }
    // Between the two passes samples are 8 bits, so they stop there.
    sum += down * std::fmin(std::fmax(row, 0), 255);
  }
  return std::fmin(std::fmax(sum, 0), 255);
}

TEST(Resample, IsWithinRoundingOfTheReference) {
  const struct {
    int width, height, to_width, to_height;
  } cases[] = {{1, 1, 1, 1},     {1, 1, 5, 3},     {2, 3, 2, 3},   {17, 13, 5, 4},
               {17, 13, 34, 26}, {31, 9, 8, 20},   {9, 31, 20, 8}, {40, 1, 3, 1},
               {1, 40, 1, 7},    {33, 32, 32, 33}, {64, 48, 1, 1}, {29, 23, 28, 22}};

  for (const auto& c : cases) {
    for (const Filter filter : {Filter::triangle, Filter::catmull_rom}) {
      // Both passes round; the second weighs what the first has rounded, some of it negatively.
      const double most = filter == Filter::triangle ? 1 : 0.5 + 0.5 * 1.25;
      for (const int channels : {1, 3}) {
        const Picture from = pattern(c.width, c.height, channels);
        const Picture to = resample(from, c.to_width, c.to_height, filter);
        ASSERT_EQ(to.width, c.to_width);
        ASSERT_EQ(to.height, c.to_height);
        ASSERT_EQ(to.channels, channels);
        std::size_t i = 0;
        for (int y = 0; y < c.to_height; ++y) {
          for (int x = 0; x < c.to_width; ++x) {
            for (int k = 0; k < channels; ++k, ++i) {
              const double want = reference(from, c.to_width, c.to_height, filter, x, y, k);
              ASSERT_NEAR(to.pixels[i], want, most)
                  << c.width << " x " << c.height << " to " << c.to_width << " x " << c.to_height;
            }
          }
        }
        ASSERT_EQ(i, to.pixels.size());
      }
    }
  }
}

/// Image.resize of Pillow 13.0 with NEAREST, BILINEAR and BICUBIC, first across, then down.
TEST(Resample, IsWhatPillowMakes) {
  const struct {
    int width, height, to_width, to_height;
    Filter filter;
    std::vector<int> want;
  } cases[] = {
      {7, 5, 3, 2, Filter::nearest, {74, 221, 112, 77, 224, 114}},
      {5, 7, 9, 3, Filter::nearest, {110, 110, 184, 184, 1,   74, 74, 148, 148,
                                     76,  76,  149, 149, 222, 40, 40, 113, 113,
                                     41,  41,  114, 114, 188, 5,  5,  78,  78}},
      {32, 1, 7, 1, Filter::nearest, {146, 184, 38, 76, 186, 41, 78}},
      {1,
       64,
       1,
       14,
       Filter::nearest,
       {146, 184, 38, 76, 186, 41, 78, 189, 226, 81, 118, 229, 84, 121}},

      {7, 5, 3, 2, Filter::triangle, {64, 146, 122, 67, 148, 125}},
      {7, 5, 3, 2, Filter::catmull_rom, {63, 146, 123, 66, 150, 126}},
      {5, 7, 4, 3, Filter::triangle, {99, 98, 120, 96, 124, 113, 120, 110, 116, 123, 91, 131}},
      {5, 7, 4, 3, Filter::catmull_rom, {96, 98, 123, 91, 130, 106, 124, 109, 115, 129, 84, 137}},
      {3, 2, 5, 4, Filter::triangle, {0,   29,  73, 117, 146, 55,  59,  64, 108, 137,
                                      165, 118, 46, 90,  119, 220, 147, 37, 81,  110}},
      {3, 2, 5, 4, Filter::catmull_rom, {0,   10,  76, 128, 155, 48,  49,  66, 114, 145,
                                         186, 126, 44, 86,  123, 255, 165, 34, 72,  113}},
      {13, 1, 4, 1, Filter::triangle, {95, 118, 100, 119}},
      {13, 1, 4, 1, Filter::catmull_rom, {94, 122, 96, 123}},
  };

  for (const auto& c : cases) {
    const Picture to = resample(pattern(c.width, c.height, 1), c.to_width, c.to_height, c.filter);
    EXPECT_EQ(std::vector<int>(to.pixels.begin(), to.pixels.end()), c.want)
        << c.width << " x " << c.height << " to " << c.to_width << " x " << c.to_height;
  }
}

TEST(Resample, RefusesSizes) {
  const Picture picture = pattern(2, 2, 3);
  expect_error([&] { resample(picture, 0, 2, Filter::triangle); }, ErrorCode::bad_input,
               "no pixels");
  expect_error([&] { resample(picture, 2, kMaxSide + 1, Filter::triangle); }, ErrorCode::limit,
               "make it smaller");
}

}  // namespace
}  // namespace stowage::cli
