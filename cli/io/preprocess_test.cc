// SPDX-License-Identifier: Apache-2.0
#include "cli/io/preprocess.h"

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

const ImagePort kColour = {4, 4, 3, 2, 3, 1};
const ImagePort kGrey = {4, 4, 1, 2, 3, 1};

TEST(FitPicture, OptionsMustFit) {
  const Picture picture = pattern(8, 8, 3);
  const auto fitted = [&](const ImagePort& port, const Preprocess& how) {
    return fit_picture(picture, port, how, DType::f32);
  };
  Preprocess how;
  EXPECT_EQ(fitted(kColour, how).c, 3);
  EXPECT_EQ(fitted(kGrey, how).c, 1);
  how.fit = ResizeFit::none;
  expect_error([&] { fitted(kColour, how); }, ErrorCode::bad_input, "8 x 8");
  how = {};
  how.mean = {1, 2};
  expect_error([&] { fitted(kColour, how); }, ErrorCode::usage, "--mean has 2");
  how = {};
  how.pixel = PixelOrder::gray;
  expect_error([&] { fitted(kColour, how); }, ErrorCode::usage, "rgb or bgr");
  how.pixel = PixelOrder::bgr;
  expect_error([&] { fitted(kGrey, how); }, ErrorCode::usage, "must be gray");
  expect_error([&] { fit_picture(picture, kColour, {}, DType::i8); }, ErrorCode::usage, "is i8");
  how = {};
  how.mean = {128};
  EXPECT_EQ(fit_picture(picture, kColour, how, DType::i8).elemsize, 1u);
}

TEST(FitPicture, IsWhatFromPixelsMakes) {
  const Picture picture = pattern(4, 4, 3);
  Preprocess how;
  how.mean = {1, 2, 3};
  how.norm = {0.5f, 0.25f, 2};
  how.pixel = PixelOrder::bgr;
  const Mat bgr = fit_picture(picture, kColour, how, DType::f32);
  for (int c = 0; c < 3; ++c) {
    const auto at = static_cast<std::size_t>(c);
    const float sample = picture.pixels[static_cast<std::size_t>((2 * 4 + 1) * 3 + 2 - c)];
    EXPECT_EQ(bgr.at<float>(1, 2, c), (sample - how.mean[at]) * how.norm[at]);
  }
  const Mat samples = fit_picture(picture, kColour, {}, DType::u8);
  EXPECT_EQ(samples.at<std::uint8_t>(3, 1, 2), picture.pixels[(4 + 3) * 3 + 2]);
  const Mat gray = fit_picture(picture, kGrey, {}, DType::u8);
  const std::uint8_t* p = picture.pixels.data();
  EXPECT_EQ(gray.at<std::uint8_t>(0, 0, 0), (77 * p[0] + 150 * p[1] + 29 * p[2]) >> 8);
  // Grey stays what it is.
  for (int v = 0; v < 256; ++v) {
    const ImagePort one = {1, 1, 1, 2, 3, 1};
    EXPECT_EQ(
        fit_picture(picture_of(1, 1, 3, {v, v, v}), one, {}, DType::u8).at<std::uint8_t>(0, 0, 0),
        v);
  }
}

TEST(FitPicture, LetterboxCentresInGrey) {
  Preprocess how;
  how.fit = ResizeFit::letterbox;
  const Mat m = fit_picture(picture_of(2, 1, 1, {200, 200}), kGrey, how, DType::u8);
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 4; ++x) {
      EXPECT_EQ(m.at<std::uint8_t>(x, y, 0), y == 1 || y == 2 ? 200 : 114);
    }
  }
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
    const Mat planes = fit_picture(picture, port, {}, DType::u8);
    const TensorView seen = planes_view(planes, DType::u8, shape, port);
    EXPECT_EQ(static_cast<int>(seen.data[seen.mapping.offset(x)]),
              picture.pixels[(2 * 5 + 3) * 3 + 1]);
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
