// SPDX-License-Identifier: Apache-2.0
// Element packing as ncnn's page tells it: its tables, its pictures and its snippets, which
// docs/ncnn.md quotes.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <numeric>
#include <sstream>

#include "stowage/stowage.h"
#include "test_paths.h"

namespace {

namespace ncnn = stowage;

/// w, h, c; scalars 0, 1, 2, ... in the order of the page.
ncnn::Mat counted(int w, int h, int c) {
  ncnn::Mat m(w, h, c);
  float next = 0;
  for (int q = 0; q < c; ++q)
    for (int y = 0; y < h; ++y)
      for (int x = 0; x < w; ++x) m.at<float>(x, y, q) = next++;
  return m;
}

TEST(NcnnSnippets, Packing) {
  bool packed = false;
  const ncnn::Mat filled = counted(2, 3, 4);
  const auto pack = [&](const ncnn::Mat& given) {
    ncnn::Mat a;
    a = given;
    // quote
    ncnn::Mat a_packed;
    ncnn::convert_packing(a, a_packed, 4);
    if (a_packed.elempack == 4) {
      // check if packing is successful
      packed = true;
    }
    // end
    return a_packed;
  };
  const ncnn::Mat four = pack(filled);
  EXPECT_TRUE(packed);
  // w=2 h=3 c=1 elempack=4: (0,6,12,18) (1,7,13,19) ... (5,11,17,23)
  EXPECT_EQ(four.w, 2);
  EXPECT_EQ(four.h, 3);
  EXPECT_EQ(four.c, 1);
  EXPECT_EQ(four.elemsize, 16u);
  for (int i = 0; i < 24; ++i) {
    EXPECT_EQ(four.row(0)[i], static_cast<float>(i / 4 + i % 4 * 6)) << i;
  }
  packed = false;
  EXPECT_EQ(pack(counted(2, 3, 5)).elempack, 1);  // identity
  EXPECT_FALSE(packed);

  ncnn::Mat b = four;
  // quote
  ncnn::Mat b_unpacked;
  ncnn::convert_packing(b, b_unpacked, 1);
  // end
  EXPECT_EQ(b_unpacked.elempack, 1);
  EXPECT_EQ(b_unpacked.at<float>(1, 2, 3), 23);
  EXPECT_EQ(b_unpacked.cstep, 8u);
}

TEST(NcnnSnippets, TableOfForty) {
  ncnn::Mat a(40);
  ncnn::Mat b;
  ncnn::convert_packing(a, b, 4);
  EXPECT_EQ(b.dims, 1);
  EXPECT_EQ(b.w, 10);
  EXPECT_EQ(b.h, 1);
  EXPECT_EQ(b.c, 1);
  EXPECT_EQ(b.cstep, 10u);
  EXPECT_EQ(b.elemsize, 16u);
  EXPECT_EQ(b.elempack, 4);
  EXPECT_EQ(b.data, a.data);
  const int w = 41, elempack = 4;
  ncnn::convert_packing(ncnn::Mat(w), b, elempack, {.padding = true});
  const int outw = (w + elempack - 1) / elempack;
  EXPECT_EQ(b.w, outw);
}

TEST(NcnnSnippets, InterleavedPixels) {
  const int w = 5, h = 3;
  // quote
  // rgb_interleaved_u8 is RGB RGB RGB ...
  ncnn::Mat rgb_interleaved_u8(w, h, 1, 3, 3);
  ncnn::Mat rgb_planar_u8;
  // end
  EXPECT_EQ(rgb_interleaved_u8.w, w);
  EXPECT_EQ(rgb_interleaved_u8.h, h);
  EXPECT_EQ(rgb_interleaved_u8.c, 1);
  EXPECT_EQ(rgb_interleaved_u8.elemsize, 3u);
  EXPECT_EQ(rgb_interleaved_u8.elempack, 3);
  unsigned char* const pixels = rgb_interleaved_u8;
  std::iota(pixels, pixels + 45, static_cast<unsigned char>(0));
  // quote
  ncnn::convert_packing(rgb_interleaved_u8, rgb_planar_u8, 1);
  // rgb_planar_u8 is now RRR ... GGG ... BBB ...
  // end
  EXPECT_EQ(rgb_planar_u8.w, w);
  EXPECT_EQ(rgb_planar_u8.h, h);
  EXPECT_EQ(rgb_planar_u8.c, 3);
  EXPECT_EQ(rgb_planar_u8.elemsize, 1u);
  EXPECT_EQ(rgb_planar_u8.elempack, 1);
  for (int i = 0; i < 45; ++i) {
    EXPECT_EQ(rgb_planar_u8.at<unsigned char>(i / 3 % w, i / 3 / w, i % 3), i);
  }
  // "Do use ncnn::Mat::from_pixels()"
  // quote
  ncnn::Mat in = ncnn::Mat::from_pixels(pixels, ncnn::Mat::PIXEL_RGB2BGR, w, h);
  const float mean_vals[3] = {104.f, 117.f, 123.f};
  const float norm_vals[3] = {1 / 58.f, 1 / 57.f, 1 / 57.f};
  in.substract_mean_normalize(mean_vals, norm_vals);
  // end
  EXPECT_EQ(in.at<float>(1, 0, 0), (5 - 104.f) * (1 / 58.f));
  // quote
  ncnn::Mat in4;
  ncnn::convert_packing(ncnn::Mat::from_pixels(pixels, ncnn::Mat::PIXEL_RGB2BGR, w, h), in4, 4,
                        {.padding = true});
  in4.substract_mean_normalize(std::span(mean_vals), std::span(norm_vals));
  // end
  EXPECT_EQ(in4.row(0)[4], in.at<float>(1, 0, 0));
  EXPECT_EQ(in4.row(0)[6], in.at<float>(1, 0, 2));
  EXPECT_EQ(in4.row(0)[7], 0);
  // quote
  ncnn::Tensor input(ncnn::DType::f32, ncnn::Shape("nchw", {1, 3, 24, 32}),
                     ncnn::Layout::parse("nChw16c"));
  ncnn::from_pixels({ncnn::PixelFormat::rgb, w, h, pixels}, input.mutable_view(),
                    {.to = ncnn::PixelFormat::bgr, .mean = mean_vals, .norm = norm_vals});
  // end
  const ncnn::Mat resized =
      ncnn::from_pixels({ncnn::PixelFormat::rgb, w, h, pixels}, {.width = 32,
                                                                 .height = 24,
                                                                 .to = ncnn::PixelFormat::bgr,
                                                                 .mean = mean_vals,
                                                                 .norm = norm_vals});
  EXPECT_EQ(input.as<float>()[16 * 77 + 2], resized.channel(2)[77]);
  EXPECT_EQ(input.as<float>()[16 * 77 + 3], 0);
  // quote
  ncnn::FromPixels how;
  how.to = ncnn::PixelFormat::bgr;
  how.mean = mean_vals;
  how.norm = norm_vals;
  how.elempack = 4;
  ncnn::Mat packed = ncnn::from_pixels({ncnn::PixelFormat::rgb, w, h, pixels}, how);
  // end
  ncnn::Mat in_packed;
  ncnn::convert_packing(in, in_packed, 4, {.padding = true});
  ASSERT_EQ(packed.bytes(), in_packed.bytes());
  EXPECT_EQ(packed.c, 1);
  for (int i = 0; i < w * h * 4; ++i) EXPECT_EQ(packed.row(0)[i], in_packed.row(0)[i]) << i;
}

TEST(NcnnSnippets, Memory) {
  float chw[3 * 5 * 7] = {};
  // quote
  // Planes that follow each other; cstep may be anything from w * h on.
  ncnn::Mat m = ncnn::Mat::wrap({.dims = 3, .w = 7, .h = 5, .c = 3, .cstep = 35}, chw);
  // The same memory as a tensor, and a tensor's as a Mat.
  ncnn::TensorView view = m.view(ncnn::DType::f32);
  ncnn::Tensor tensor(ncnn::DType::f32, ncnn::Shape("nchw", {1, 6, 5, 7}),
                      ncnn::Layout::parse("nChw4c"));
  ncnn::Mat t = ncnn::Mat::wrap(std::move(tensor));  // w 7, h 5, c 2, elempack 4
  // end
  EXPECT_EQ(view.data, m.data);
  EXPECT_EQ(t.c, 2);
  EXPECT_EQ(t.elempack, 4);
}

TEST(NcnnSnippets, MatsInAndOutOfASession) {
  const int w = 20, h = 12;
  std::vector<unsigned char> pixels(std::size_t{3} * w * h);
  std::iota(pixels.begin(), pixels.end(), static_cast<unsigned char>(0));
  ncnn::ImportOptions shapes;
  shapes.shapes["image"] = {1, 3, h, w};
  ncnn::Session session(
      ncnn::make_plan(ncnn::import_model(STOWAGE_SOURCE_DIR "/models/upscale_x2.onnx", shapes)));
  std::vector<ncnn::Mat> results;
  for (const int elempack : {1, 3, 4}) {
    const float norm[] = {1 / 255.f};
    ncnn::FromPixels how;
    how.norm = norm;
    how.elempack = elempack;
    const ncnn::Mat in = ncnn::from_pixels({ncnn::PixelFormat::rgb, w, h, pixels.data()}, how);
    ncnn::Mat out(2 * w, 2 * h, (3 + elempack - 1) / elempack, 4u * unsigned(elempack), elempack);
    // quote
    session.set_input(0, in.view(ncnn::DType::f32, 3));
    session.run();
    session.read_output(0, out.mutable_view(ncnn::DType::f32, 3));
    // end
    ncnn::Mat planar;
    ncnn::convert_packing(out, planar, 1);
    results.push_back(planar.channel_range(0, 3).reshape(3 * 4 * w * h));
  }
  for (std::size_t i = 0; i < std::size_t{12} * w * h; ++i) {
    ASSERT_EQ(results[1][i], results[0][i]) << i;
    ASSERT_EQ(results[2][i], results[0][i]) << i;
  }
}

/// The lines of docs/ncnn.md's C++ are in this file or in an example, one behind the other.
TEST(NcnnSnippets, AreWhatThePageQuotes) {
  const auto read = [](const std::string& name) {
    std::ifstream file(std::string(STOWAGE_SOURCE_DIR) + "/" + name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  // Without indentation, and here only what is between the marks.
  const auto bare = [](const std::string& text, bool marked) {
    std::istringstream lines(text);
    std::string out = "\n";
    bool inside = !marked;
    for (std::string line; std::getline(lines, line);) {
      const std::size_t first = line.find_first_not_of(' ');
      const std::string words = first == std::string::npos ? "" : line.substr(first);
      if (marked && words == "// quote") {
        inside = true;
      } else if (marked && words == "// end") {
        inside = false;
      } else if (inside && !words.empty()) {
        out += words + "\n";
      }
    }
    return out;
  };
  const std::string code = bare(read("tests/suite/ncnn_snippets_test.cc"), true) +
                           bare(read("examples/classify.cc"), false) +
                           bare(read("examples/detect.cc"), false);
  const std::string page = read("docs/ncnn.md"), fence = "```";
  const std::size_t end = std::min(page.find("\n## Model files"), page.size());
  std::size_t quotes = 0;
  for (std::size_t at = 0; (at = page.find(fence + "cpp\n", at)) < end; ++quotes) {
    at += fence.size() + 4;
    const std::string quote = bare(page.substr(at, page.find(fence, at) - at), false);
    EXPECT_NE(code.find(quote), std::string::npos) << quote;
  }
  EXPECT_GE(quotes, 4u);
}

}  // namespace
