// SPDX-License-Identifier: Apache-2.0
#include "cli/io/preprocess.h"

#include <cmath>

#include "cli/test_files.h"

namespace stowage::cli {
namespace {

Picture picture_of(int width, int height, int channels, const std::vector<int>& values) {
  Picture picture{width, height, channels, {}};
  for (const int v : values) picture.pixels.push_back(static_cast<std::uint8_t>(v));
  return picture;
}

Picture pattern(int width, int height, int channels) {
  Picture picture{width, height, channels, {}};
  for (int i = 0; i < width * height * channels; ++i) {
    picture.pixels.push_back(static_cast<std::uint8_t>(i * 73 + i / 3));
  }
  return picture;
}

/// The definition, one sample at a time.
double bilinear_at(const Picture& p, double x, double y, int c) {
  const int x0 = static_cast<int>(std::floor(x)), y0 = static_cast<int>(std::floor(y));
  const auto at = [&](int i, int j) {
    i = std::clamp(i, 0, p.width - 1);
    j = std::clamp(j, 0, p.height - 1);
    return double{1} * p.pixels[static_cast<std::size_t>((j * p.width + i) * p.channels + c)];
  };
  const double fx = x - x0, fy = y - y0;
  return (at(x0, y0) * (1 - fx) + at(x0 + 1, y0) * fx) * (1 - fy) +
         (at(x0, y0 + 1) * (1 - fx) + at(x0 + 1, y0 + 1) * fx) * fy;
}

TEST(Resize, BilinearIsItsDefinition) {
  for (const auto& [width, height] : {std::pair{7, 5}, {1, 1}, {20, 3}, {3, 20}}) {
    for (const int channels : {1, 3}) {
      const Picture from = pattern(9, 6, channels);
      const Picture to = resize(from, width, height, ResizeMode::bilinear);
      ASSERT_EQ(to.pixels.size(), static_cast<std::size_t>(width * height * channels));
      for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
          for (int c = 0; c < channels; ++c) {
            const double want =
                bilinear_at(from, (x + 0.5) * 9 / width - 0.5, (y + 0.5) * 6 / height - 0.5, c);
            EXPECT_NEAR(to.pixels[static_cast<std::size_t>((y * width + x) * channels + c)], want,
                        0.501);
          }
        }
      }
    }
  }
}

TEST(Resize, EveryModeKeepsSizeAndConstants) {
  for (const ResizeMode mode : {ResizeMode::nearest, ResizeMode::bilinear, ResizeMode::bicubic}) {
    const Picture from = pattern(11, 7, 3);
    EXPECT_EQ(resize(from, 11, 7, mode).pixels, from.pixels);
    const Picture flat = picture_of(3, 2, 1, {77, 77, 77, 77, 77, 77});
    for (const std::uint8_t v : resize(flat, 13, 5, mode).pixels) EXPECT_EQ(v, 77);
  }
}

TEST(Resize, NearestTakesTheCentre) {
  const Picture from = picture_of(4, 1, 1, {10, 20, 30, 40});
  EXPECT_EQ(resize(from, 2, 1, ResizeMode::nearest).pixels, (std::vector<std::uint8_t>{20, 40}));
  EXPECT_EQ(resize(from, 8, 1, ResizeMode::nearest).pixels,
            (std::vector<std::uint8_t>{10, 10, 20, 20, 30, 30, 40, 40}));
}

TEST(Resize, BicubicWeightsByHand) {
  // a = -0.75 at distances 1.25, 0.25, 0.75, 1.75: -0.10547, 0.87891, 0.26172, -0.03516.
  const Picture from = picture_of(4, 1, 1, {0, 100, 100, 0});
  EXPECT_EQ(resize(from, 8, 1, ResizeMode::bicubic).pixels,
            (std::vector<std::uint8_t>{0, 23, 77, 114, 114, 77, 23, 0}));
}

TEST(Letterbox, CentresInGrey) {
  const Picture from = picture_of(2, 1, 1, {200, 200});
  EXPECT_EQ(letterbox(from, 4, 4, ResizeMode::bilinear).pixels,
            (std::vector<std::uint8_t>{114, 114, 114, 114, 200, 200, 200, 200,  //
                                       200, 200, 200, 200, 114, 114, 114, 114}));
}

TEST(ToGray, GreyStaysItself) {
  for (int v = 0; v < 256; ++v) {
    EXPECT_EQ(to_gray(picture_of(1, 1, 3, {v, v, v})).pixels[0], v);
  }
  EXPECT_EQ(to_gray(picture_of(1, 1, 3, {255, 0, 0})).pixels[0], 76);
  EXPECT_EQ(to_gray(picture_of(1, 1, 3, {0, 255, 0})).pixels[0], 150);
  EXPECT_EQ(to_gray(picture_of(1, 1, 3, {0, 0, 255})).pixels[0], 29);
}

TEST(ImagePort, Shapes) {
  const struct {
    std::vector<std::int64_t> extents;
    bool image;
    int channels, height, width, channel_axis;
  } cases[] = {
      {{1, 3, 24, 32}, true, 3, 24, 32, 1}, {{1, 1, 28, 28}, true, 1, 28, 28, 1},
      {{1, 24, 32, 3}, true, 3, 24, 32, 3}, {{-1, 3, -1, -1}, true, 3, 0, 0, 1},
      {{3, 24, 32}, true, 3, 24, 32, 0},    {{24, 32, 1}, true, 1, 24, 32, 2},
      {{1, 1, 24, 3}, true, 3, 1, 24, 3},   {{1, 3, 24, 1}, true, 3, 24, 1, 1},
      {{1, 3, 24, 3}, true, 3, 24, 3, 1},   {{1, 1, 24, 1}, true, 1, 24, 1, 1},
      {{2, 3, 24, 32}, false, 0, 0, 0, 0},  {{1, 4, 24, 32}, false, 0, 0, 0, 0},
      {{1, 10}, false, 0, 0, 0, 0},         {{}, false, 0, 0, 0, 0},
  };

  for (const auto& c : cases) {
    const std::optional<ImagePort> port = image_port(c.extents);
    ASSERT_EQ(port.has_value(), c.image);
    if (!c.image) continue;
    EXPECT_EQ(port->channels, c.channels);
    EXPECT_EQ(port->height, c.height);
    EXPECT_EQ(port->width, c.width);
    EXPECT_EQ(port->channel_axis, c.channel_axis);
  }
}

TEST(FitPicture, OptionsMustFit) {
  const ImagePort colour = *image_port(std::vector<std::int64_t>{1, 3, 4, 4});
  const ImagePort grey = *image_port(std::vector<std::int64_t>{1, 1, 4, 4});
  const Picture picture = pattern(8, 8, 3);
  Preprocess how;
  EXPECT_EQ(fit_picture(picture, colour, how).channels, 3);
  EXPECT_EQ(fit_picture(picture, grey, how).channels, 1);
  how.fit = ResizeFit::none;
  expect_error([&] { fit_picture(picture, colour, how); }, ErrorCode::bad_input, "8 x 8");
  how = {};
  how.mean = {1, 2};
  expect_error([&] { fit_picture(picture, colour, how); }, ErrorCode::usage, "--mean has 2");
  how = {};
  how.pixel = PixelOrder::gray;
  expect_error([&] { fit_picture(picture, colour, how); }, ErrorCode::usage, "rgb or bgr");
  how.pixel = PixelOrder::bgr;
  expect_error([&] { fit_picture(picture, grey, how); }, ErrorCode::usage, "must be gray");
  const Picture same = pattern(4, 4, 3), swapped = fit_picture(same, colour, how);
  EXPECT_EQ(swapped.pixels[0], same.pixels[2]);
  EXPECT_EQ(swapped.pixels[1], same.pixels[1]);
}

TEST(PictureView, SeesEveryOrder) {
  const Picture picture = pattern(5, 4, 3);
  for (const std::vector<std::int64_t>& extents :
       {std::vector<std::int64_t>{1, 3, 4, 5}, {1, 4, 5, 3}, {3, 4, 5}}) {
    const ImagePort port = *image_port(extents);
    const Shape shape(std::string_view("abcd").substr(0, extents.size()), extents);
    const TensorView view = picture_view(picture, shape, port);
    std::vector<std::int64_t> x(extents.size(), 0);
    x[static_cast<std::size_t>(port.height_axis)] = 2;
    x[static_cast<std::size_t>(port.width_axis)] = 3;
    x[static_cast<std::size_t>(port.channel_axis)] = 1;
    EXPECT_EQ(view.mapping.offset(x), (2 * 5 + 3) * 3 + 1);
  }
}

TEST(ParseReals, ListsAndFractions) {
  EXPECT_EQ(parse_reals("--mean", "104,117,123"), (std::vector<float>{104, 117, 123}));
  EXPECT_EQ(parse_reals("--mean", "[0.5, -1e2]"), (std::vector<float>{0.5f, -100}));
  EXPECT_EQ(parse_reals("--norm", "1/255"), (std::vector<float>{1.0f / 255}));
  for (const char* bad : {"", "a", "1,", ",1", "1;2", "1/0", "nan", "inf", "1 2", "[1", "1/"}) {
    expect_error([&] { parse_reals("--mean", bad); }, ErrorCode::usage, "list of numbers");
  }
}

TEST(Words, UnknownOnesListTheChoices) {
  expect_error([] { parse_resize_fit("crop"); }, ErrorCode::usage, "stretch, letterbox, none");
  expect_error([] { parse_resize_mode("area"); }, ErrorCode::usage, "nearest, bilinear, bicubic");
  expect_error([] { parse_pixel_order("RGB"); }, ErrorCode::usage, "rgb, bgr, gray");
}

}  // namespace
}  // namespace stowage::cli
