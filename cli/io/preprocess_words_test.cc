// SPDX-License-Identifier: Apache-2.0
#include "cli/io/preprocess_words.h"

#include "cli/test_files.h"

namespace stowage::cli {
namespace {

TEST(ParseReals, ListsAndFractions) {
  EXPECT_EQ(parse_reals("--mean", "104,117,123"), (std::vector<float>{104, 117, 123}));
  EXPECT_EQ(parse_reals("--mean", "[0.5, -1e2]"), (std::vector<float>{0.5f, -100}));
  EXPECT_EQ(parse_reals("--norm", "1/255"), (std::vector<float>{1.0f / 255}));
  for (const char* bad : {"", "a", "1,", ",1", "1;2", "1/0", "nan", "inf", "1 2", "[1", "1/"}) {
    expect_error([&] { parse_reals("--mean", bad); }, ErrorCode::usage, "list of numbers");
  }
}

TEST(PreprocessWords, AreParsed) {
  PreprocessWords words;
  words.resize = "shorter=256/224";
  words.resize_mode = "bicubic-antialias";
  words.crop = "320x240";
  const Preprocess how = parse_preprocess(words);
  EXPECT_EQ(how.fit, ResizeFit::shorter);
  EXPECT_EQ(how.shorter, 256);
  EXPECT_EQ(how.shorter_of, 224);
  EXPECT_EQ(how.filter, ResizeFilter::bicubic_antialias);
  EXPECT_EQ(how.crop, (PictureSize{320, 240}));
  words.resize = "none";
  words.crop = "224";
  EXPECT_EQ(parse_preprocess(words).crop, (PictureSize{224, 224}));
}

TEST(PreprocessWords, UnknownOnesListTheChoices) {
  const struct {
    PreprocessWords words;
    const char* told;
  } cases[] = {
      {{"crop"}, "stretch, letterbox, shorter=N, none"},
      {{"shorter"}, "write shorter=256"},
      {{"shorter="}, "write shorter=256"},
      {{"shorter=0"}, "write shorter=256"},
      {{"shorter=256/0"}, "write shorter=256"},
      {{"shorter=256/2/2"}, "write shorter=256"},
      {{"shorter=99999999999"}, "write shorter=256"},
      {{"shortest"}, "choose one of stretch"},
      {{"", "area"}, "nearest, bilinear, bicubic, bilinear-antialias, bicubic-antialias"},
      {{"none", "", "224,224"}, "--crop '224,224' is no size; write 224"},
      {{"none", "", "-1"}, "is no size"},
      {{"", "", "224"}, "--crop '224' cuts nothing off what --resize stretch makes"},
      {{"letterbox", "", "224"}, "use it with --resize shorter=N or none"},
      {{"", "", "", "", "", "RGB"}, "rgb, bgr, gray"},
  };

  for (const auto& c : cases) {
    expect_error([&] { parse_preprocess(c.words); }, ErrorCode::usage, c.told);
  }
}

TEST(PreprocessWords, NamesStandForOptions) {
  EXPECT_EQ(preprocess_names(), "imagenet, keras-tf, keras-caffe, keras-torch");
  EXPECT_EQ(preprocess_named("ImageNet"), nullptr);
  const Preprocess imagenet = parse_preprocess({}, *preprocess_named("imagenet"));
  EXPECT_EQ(imagenet.fit, ResizeFit::shorter);
  EXPECT_EQ(imagenet.filter, ResizeFilter::bilinear_antialias);
  for (std::size_t c = 0; c < 3; ++c) {
    const float mean[] = {0.485f, 0.456f, 0.406f}, deviation[] = {0.229f, 0.224f, 0.225f};
    EXPECT_FLOAT_EQ(imagenet.mean[c], 255 * mean[c]);
    EXPECT_FLOAT_EQ(imagenet.norm[c], 1 / (255 * deviation[c]));
  }
  EXPECT_EQ(parse_preprocess({}, *preprocess_named("keras-caffe")).pixel, PixelOrder::bgr);
  // What is said wins.
  PreprocessWords words;
  words.resize = "letterbox";
  words.norm = "1";
  const Preprocess other = parse_preprocess(words, *preprocess_named("imagenet"));
  EXPECT_EQ(other.fit, ResizeFit::letterbox);
  EXPECT_EQ(other.filter, ResizeFilter::bilinear_antialias);
  EXPECT_EQ(other.norm, (std::vector<float>{1}));
  EXPECT_EQ(other.mean, imagenet.mean);
}

}  // namespace
}  // namespace stowage::cli
