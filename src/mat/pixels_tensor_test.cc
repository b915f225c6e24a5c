// SPDX-License-Identifier: Apache-2.0
// Pixels into tensors of any layout, and blocks of rows out of Mats.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "stowage/convert.h"
#include "stowage/error.h"
#include "stowage/pixels.h"

namespace stowage {

namespace {

using Samples = std::vector<std::uint8_t>;

Samples noise(std::size_t count) {
  Samples out(count);
  std::uint32_t state = 1;
  for (auto& v : out) {
    state = state * 1664525 + 1013904223;
    v = static_cast<std::uint8_t>(state >> 24);
  }
  return out;
}

/// The planar Mat as a tensor.
Tensor planar_tensor(const Mat& m, DType dtype, const Shape& shape, const std::string& order) {
  Tensor out(dtype, shape, Layout::parse(order));
  const std::size_t plane = std::size_t(m.w * m.h) * m.elemsize;
  for (int q = 0; q < m.c; ++q) {
    std::memcpy(out.data() + plane * std::size_t(q), m.channel(q).data, plane);
  }
  return out;
}

TEST(PixelsIntoTensors, AreThePlanesConverted) {
  const std::vector<float> mean = {104, 117, 123, 9}, norm = {0.25f, 0.5f, 0.125f, 3};

  const struct {
    const char* layout;
    bool batch;
  } layouts[] = {{"NCHW", true},         {"NHWC", true},           {"nChw4c", true},
                 {"nChw16c", true},      {"image-channel", true},  {"image-height", true},
                 {"c h w", false},       {"h w c", false},         {"w h c", false},
                 {"c/4 h w c%4", false}, {"ncnn-3d-pack4", false}, {"c h (w)~64", false},
                 {"h (w c)~64", false},  {"h c w", false},         {"ncnn-batch-pack4", true}};

  const int w = 9, h = 7;
  const auto samples = noise(40 * 30 * 4);
  const auto pixels = [&](PixelFormat format, int width, int height, int gap) {
    return Pixels{format, width, height, samples.data(),
                  std::ptrdiff_t{width} * pixel_channels(format) + gap};
  };

  const struct {
    const char* name;
    Pixels from;
    FromPixels how;
  } cases[] = {
      {"as it is", pixels(PixelFormat::rgb, w, h, 0), {}},
      {"rows with gaps", pixels(PixelFormat::rgb, w, h, 5), {}},
      {"alpha", pixels(PixelFormat::rgba, w, h, 0), {}},
      {"gray", pixels(PixelFormat::gray, w, h, 0), {}},
      {"reversed", pixels(PixelFormat::rgb, w, h, 3), {.to = PixelFormat::bgr}},
      {"to gray", pixels(PixelFormat::bgra, w, h, 0), {.to = PixelFormat::gray}},
      {"resized", pixels(PixelFormat::rgb, 20, 11, 2), {.width = w, .height = h}},
      {"turned", pixels(PixelFormat::rgb, h, w, 0), {.orientation = 6}},
      {"region", pixels(PixelFormat::rgb, 20, 20, 0), {.region = PixelRegion{3, 2, w, h}}},
      {"nv12",
       Pixels{PixelFormat::nv12, 20, 12, samples.data()},
       {.width = w, .height = h, .to = PixelFormat::bgr}},
  };

  for (const auto& c : cases) {
    for (const auto& to : layouts) {
      for (const DType dtype : {DType::f32, DType::f16, DType::u8}) {
        const std::string what = std::string(c.name) + " into " + to.layout;
        FromPixels how = c.how;
        const PixelFormat seen =
            c.from.format == PixelFormat::nv12 ? PixelFormat::rgb : c.from.format;
        const int channels = pixel_channels(how.to.value_or(seen));
        if (dtype != DType::u8) {
          how.mean = std::span(mean).first(std::size_t(channels));
          how.norm = std::span(norm).first(std::size_t(channels));
        }
        how.dtype = dtype;
        const Mat planes = from_pixels(c.from, how);
        const Shape shape =
            to.batch ? Shape("nchw", {1, channels, h, w}) : Shape("whc", {w, h, channels});
        const Tensor want =
            convert(planar_tensor(planes, dtype, shape, to.batch ? "NCHW" : "c h w"),
                    Layout::parse(to.layout));
        Tensor got(dtype, shape, Layout::parse(to.layout));
        // Neither type, packing nor size need be said.
        how.dtype = DType::f32;
        how.width = how.height = 0;
        for (const int threads : {1, 2}) {
          how.threads = threads;
          from_pixels(c.from, got.mutable_view(), how);
          ASSERT_EQ(got.bytes(), want.bytes());
          ASSERT_EQ(std::memcmp(got.data(), want.data(), want.bytes()), 0) << what;
        }
      }
    }
  }
}

TEST(PixelsIntoTensors, Errors) {
  const auto samples = noise(9 * 7 * 3);
  const Pixels rgb{PixelFormat::rgb, 9, 7, samples.data()};
  const float two[2] = {1, 2};

  const struct {
    Shape shape;
    const char* layout;
    FromPixels how;
    const char* says;
  } cases[] = {
      {Shape("nchw", {2, 3, 7, 9}), "NCHW", {}, "no picture"},
      {Shape("ncdhw", {1, 3, 1, 7, 9}), "n c d h w", {}, "no picture"},
      {Shape("cab", {3, 7, 9}), "c a b", {}, "no picture"},
      {Shape("hw", {7, 9}), "h w", {}, "no picture"},
      {Shape("nchw", {1, 4, 7, 9}), "NHWC", {}, "does not hold"},
      {Shape("nchw", {1, 3, 7, 9}), "NCHW", {.width = 8}, "does not hold"},
      {Shape("nchw", {1, 3, 7, 9}), "image-channel", {.to = PixelFormat::gray}, "does not hold"},
      {Shape("nchw", {1, 3, 7, 9}), "image-channel", {.mean = two}, "2 values"},
      {Shape("nchw", {1, 3, 7, 9}), "NCHW", {.mean = two}, "2 values"},
      {Shape("nchw", {1, 3, 0, 9}), "NCHW", {}, ""},
  };

  for (const auto& c : cases) {
    Tensor out(DType::f32, c.shape, Layout::parse(c.layout));
    try {
      from_pixels(rgb, out.mutable_view(), c.how);
      ADD_FAILURE() << c.says << " " << c.shape.text();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::usage) << e.what();
      EXPECT_NE(e.sentence().find(c.says), std::string::npos) << e.what();
    }
  }
}

TEST(PixelsOutOfMats, OtherColoursInBlocksAndThreads) {
  for (const auto& [w, h] : {std::array{1, 1}, {1, 6000}, {3, 2731}, {130, 67}, {333, 201}}) {
    const auto samples = noise(std::size_t(w * h * 3));
    const Pixels rgb{PixelFormat::rgb, w, h, samples.data()};
    for (const int pack : {1, 2, 4}) {
      for (const DType dtype : {DType::f32, DType::u8}) {
        // Memory that ends with the last element: what reads behind it is seen by the sanitizer.
        const Mat made = from_pixels(rgb, {.dtype = dtype, .elempack = pack});
        MatShape shape = made;
        shape.cstep = made.plane() + 3;
        shape = shape.complete();
        std::vector<std::byte> memory(shape.cstep * std::size_t(shape.c) * shape.elemsize);
        Mat mat = Mat::wrap(shape, memory.data());
        from_pixels(rgb, mat, {.dtype = dtype, .elempack = pack});
        ASSERT_EQ(static_cast<void*>(mat.data), memory.data());
        for (const int threads : {1, 2, 3}) {
          Samples out(samples.size());
          to_pixels(mat, {PixelFormat::bgr, w, h, out.data()},
                    {.from = PixelFormat::rgb, .threads = threads});
          for (std::size_t i = 0; i < out.size(); ++i) {
            ASSERT_EQ(out[i], samples[i / 3 * 3 + 2 - i % 3]) << w << " x " << h << " at " << i;
          }
        }
      }
    }
  }
}

// The numbers are those of ncnn's own function.
TEST(Pixels, MatricesAsNcnnMakesThem) {
  const struct {
    float angle, scale, x, y;
    std::array<float, 6> want;
  } cases[] = {
      {30,
       1.5f,
       10,
       20,
       {0x1.4c8dc2p+0f, 0x1.8p-1f, -0x1.1fd89ap+4f, -0x1.8p-1f, 0x1.4c8dc2p+0f, 0x1.84ecd8p+0f}},
      {-77.3f,
       0.37f,
       123.4f,
       -5.5f,
       {0x1.4d2e66p-4f, -0x1.719c4cp-2f, 0x1.bd821ap+6f, 0x1.719c4cp-2f, 0x1.4d2e66p-4f,
        -0x1.8cbfa2p+5f}},
      {90, 1, 3, 4, {-0x1.777a5cp-25f, 0x1p+0f, -0x1p+0f, -0x1p+0f, -0x1.777a5cp-25f, 0x1.cp+2f}},
      {179.9f,
       2.25f,
       -31,
       7,
       {-0x1.1fffe2p+1f, 0x1.015daap-8f, -0x1.931c08p+6f, -0x1.015daap-8f, -0x1.1fffe2p+1f,
        0x1.6a0d4p+4f}},
  };

  for (const auto& c : cases) {
    EXPECT_EQ(get_rotation_matrix(c.angle, c.scale, c.x, c.y), c.want) << c.angle;
    float made[6];
    get_rotation_matrix(c.angle, c.scale, c.x, c.y, made);
    EXPECT_TRUE(std::equal(c.want.begin(), c.want.end(), made));
    float inverse[6];
    invert_affine_transform(made, inverse);
    const AffineMatrix other = invert_affine_transform(c.want);
    EXPECT_TRUE(std::equal(other.begin(), other.end(), inverse));
  }
  const float from[10] = {1, 2, 30, 4, 5, 60, 7, 8, 9, 10};
  float to[10], found[6];
  for (int i = 0; i < 5; ++i) {
    to[2 * i] = 2 * from[2 * i] + 3;
    to[2 * i + 1] = 2 * from[2 * i + 1] - 5;
  }
  get_affine_transform(from, to, 5, found);
  const float want[6] = {2, 0, 3, 0, 2, -5};
  for (int i = 0; i < 6; ++i) EXPECT_NEAR(found[i], want[i], 1e-5f);
  EXPECT_THROW(get_affine_transform(from, to, 1, found), Error);
  EXPECT_THROW(get_affine_transform(from, to, -1, found), Error);
}

}  // namespace

}  // namespace stowage
