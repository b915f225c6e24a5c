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

TEST(PictureFit, SizesAndWords) {
  const auto fit = ResizeFit::shorter;

  const struct {
    PictureSize picture, port;  ///< 0: open
    Preprocess how;
    PictureSize resized, size;
    const char* words;
  } cases[] = {
      // torchvision: the longer side is cut off, not rounded.
      {{500, 375},
       {224, 224},
       {fit, 256},
       {341, 256},
       {224, 224},
       "500 x 375 resized to 341 x 256, centre 224 x 224"},
      {{500, 375},
       {224, 224},
       {fit, 256, 224},
       {341, 256},
       {224, 224},
       "500 x 375 resized to 341 x 256, centre 224 x 224"},
      {{375, 500},
       {299, 299},
       {fit, 256, 224},
       {342, 456},
       {299, 299},
       "375 x 500 resized to 342 x 456, centre 299 x 299"},
      {{100, 100},
       {0, 0},
       {fit, 256, 224},
       {256, 256},
       {224, 224},
       "100 x 100 resized to 256 x 256, centre 224 x 224"},
      {{100, 50}, {0, 0}, {fit, 20}, {40, 20}, {40, 20}, "100 x 50 resized to 40 x 20"},
      {{100, 50},
       {0, 0},
       {fit, 20, 0, {}, PictureSize{16, 8}},
       {40, 20},
       {16, 8},
       "100 x 50 resized to 40 x 20, centre 16 x 8"},
      {{100, 50},
       {16, 0},
       {fit, 20},
       {40, 20},
       {16, 20},
       "100 x 50 resized to 40 x 20, centre 16 x 20"},
      {{100, 50},
       {0, 0},
       {ResizeFit::none, 0, 0, {}, PictureSize{16, 8}},
       {100, 50},
       {16, 8},
       "100 x 50, centre 16 x 8"},
      {{100, 50}, {100, 50}, {ResizeFit::none}, {100, 50}, {100, 50}, "100 x 50"},
      {{100, 50}, {20, 30}, {}, {20, 30}, {20, 30}, "100 x 50 stretched to 20 x 30"},
      {{100, 50}, {0, 0}, {}, {100, 50}, {100, 50}, "100 x 50"},
      {{100, 50},
       {20, 30},
       {ResizeFit::letterbox},
       {20, 10},
       {20, 30},
       "100 x 50 letterboxed to 20 x 30"},
  };

  for (const auto& c : cases) {
    const ImagePort port{c.port.height, c.port.width, 3, 2, 3, 1};
    const PictureFit made = picture_fit(c.picture, port, c.how);
    EXPECT_EQ(made.resized, c.resized) << c.words;
    EXPECT_EQ(made.size, c.size) << c.words;
    EXPECT_EQ(fit_words(c.picture, made, c.how), c.words);
  }
}

TEST(PictureFit, Refusals) {
  const struct {
    PictureSize picture;
    Preprocess how;
    ErrorCode code;
    const char* words;
  } cases[] = {
      {{8, 8},
       {ResizeFit::none},
       ErrorCode::bad_input,
       "use --resize stretch or letterbox, or --crop 4x4"},
      {{3, 8}, {ResizeFit::none}, ErrorCode::bad_input, "use --resize stretch or letterbox"},
      {{3, 8},
       {ResizeFit::none, 0, 0, {}, PictureSize{4, 4}},
       ErrorCode::bad_input,
       "3 x 8 pixels, too few to cut 4 x 4 out; use --resize shorter=4"},
      {{8, 8}, {ResizeFit::shorter, 3}, ErrorCode::bad_input, "too few to cut 4 x 4 out"},
      {{8, 8},
       {ResizeFit::shorter, 8, 0, {}, PictureSize{5, 5}},
       ErrorCode::usage,
       "--crop makes a picture of 5 x 5 but the input wants 4 x 4"},
      {{1, 60000}, {ResizeFit::shorter, 256}, ErrorCode::limit, "256 x 15360000 pixels"},
      {{1, 60000}, {ResizeFit::shorter, 65536, 1}, ErrorCode::limit, "pixels"},
  };

  for (const auto& c : cases) {
    expect_error([&] { picture_fit(c.picture, {4, 4, 3, 2, 3, 1}, c.how); }, c.code, c.words);
  }
}

TEST(FitPicture, CutsTheCentreOut) {
  // 8 x 5 to 3 x 4: of 2.5 and 0.5 the even ones, 2 and 0, as torchvision's CenterCrop.
  const Picture picture = pattern(8, 5, 3);
  Preprocess how;
  how.fit = ResizeFit::none;
  how.crop = PictureSize{3, 4};
  const Mat m = fit_picture(picture, {0, 0, 3, 2, 3, 1}, how, DType::u8);
  ASSERT_EQ(m.w, 3);
  ASSERT_EQ(m.h, 4);
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 3; ++x) {
      EXPECT_EQ(m.at<std::uint8_t>(x, y, 1),
                picture.pixels[static_cast<std::size_t>((y * 8 + x + 2) * 3 + 1)]);
    }
  }
}

TEST(FitPicture, AntialiasesInEveryFit) {
  // Stripes of one pixel become grey; without antialiasing nearest pixels stay black or white.
  Picture stripes{32, 32, 1, {}};
  for (int i = 0; i < 32 * 32; ++i) stripes.pixels.push_back(i % 2 == 0 ? 0 : 255);
  for (const ResizeFit fit : {ResizeFit::stretch, ResizeFit::letterbox, ResizeFit::shorter}) {
    Preprocess how;
    how.fit = fit;
    how.shorter = 4;
    how.filter = ResizeFilter::bilinear_antialias;
    const Mat grey = fit_picture(stripes, kGrey, how, DType::u8);
    how.filter = ResizeFilter::nearest;
    const Mat black_or_white = fit_picture(stripes, kGrey, how, DType::u8);
    for (int x = 0; x < 4; ++x) {
      EXPECT_NEAR(grey.at<std::uint8_t>(x, 2, 0), 127, 6);
      EXPECT_EQ(black_or_white.at<std::uint8_t>(x, 2, 0) % 255, 0);
    }
  }
}

}  // namespace
}  // namespace stowage::cli
