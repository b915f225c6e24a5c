// SPDX-License-Identifier: Apache-2.0
// Pictures of other sizes in every mode, against the definitions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "stowage/error.h"
#include "stowage/pixels.h"

namespace stowage {

namespace {

using Samples = std::vector<std::uint8_t>;

constexpr ResizeMode kModes[] = {ResizeMode::bilinear, ResizeMode::nearest, ResizeMode::bicubic};

Samples pattern(int count) {
  Samples out;
  for (int i = 0; i < count; ++i) out.push_back(static_cast<std::uint8_t>(i * 73 + i / 3));
  return out;
}

Samples resized(PixelFormat format, int w, int h, const Samples& from, int to_w, int to_h,
                ResizeMode mode) {
  Samples out(std::size_t(to_w * to_h * pixel_channels(format)));
  resize_pixels({format, w, h, from.data()}, {format, to_w, to_h, out.data()}, mode);
  return out;
}

Samples resized_row(const Samples& from, int to, ResizeMode mode) {
  return resized(PixelFormat::gray, static_cast<int>(from.size()), 1, from, to, 1, mode);
}

double tent(double x) { return std::max(0.0, 1 - std::fabs(x)); }

double keys(double x) {
  x = std::fabs(x);
  const double a = -0.75;
  if (x <= 1) return (a + 2) * x * x * x - (a + 3) * x * x + 1;
  return x < 2 ? a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a : 0;
}

constexpr int kTargets[][2] = {{7, 5}, {1, 1}, {20, 3}, {3, 20}, {9, 6}};

TEST(ResizedRows, EveryModeIsItsDefinition) {
  for (const PixelFormat format : {PixelFormat::gray, PixelFormat::bgr, PixelFormat::rgba}) {
    const int channels = pixel_channels(format);
    const Samples from = pattern(9 * 6 * channels);
    const auto at = [&](int x, int y, int c) {
      x = std::clamp(x, 0, 8);
      y = std::clamp(y, 0, 5);
      return double{1} * from[std::size_t((y * 9 + x) * channels + c)];
    };
    for (const auto& [w, h] : kTargets) {
      for (const ResizeMode mode : kModes) {
        const Samples to = resized(format, 9, 6, from, w, h, mode);
        for (int i = 0; i < w * h * channels; ++i) {
          const int c = i % channels, x = i / channels % w, y = i / channels / w;
          const double sx = (x + 0.5) * 9 / w, sy = (y + 0.5) * 6 / h;
          double want = 0;
          for (int v = -2; v < 8; ++v) {
            for (int u = -2; u < 11; ++u) {
              const double dx = sx - u - 0.5, dy = sy - v - 0.5;
              want += mode == ResizeMode::nearest
                          ? (u == static_cast<int>(sx) && v == static_cast<int>(sy)) * at(u, v, c)
                      : mode == ResizeMode::bilinear ? tent(dx) * tent(dy) * at(u, v, c)
                                                     : keys(dx) * keys(dy) * at(u, v, c);
            }
          }
          // Bilinear in 11 bits may be another half away.
          const double most = mode == ResizeMode::bilinear ? 1 : 0.501;
          ASSERT_NEAR(to[std::size_t(i)], std::clamp(want, 0.0, 255.0), most)
              << x << " " << y << " " << c << " mode " << static_cast<int>(mode);
        }
      }
    }
  }
}

TEST(ResizedRows, SizeAndConstantsStay) {
  for (const ResizeMode mode : kModes) {
    const Samples from = pattern(11 * 7 * 3);
    EXPECT_EQ(resized(PixelFormat::rgb, 11, 7, from, 11, 7, mode), from);
    for (const std::uint8_t v : resized(PixelFormat::gray, 3, 2, Samples(6, 77), 13, 5, mode)) {
      EXPECT_EQ(v, 77);
    }
  }
}

TEST(ResizedRows, WeightsByHand) {
  const Samples ramp = {10, 20, 30, 40};
  EXPECT_EQ(resized_row(ramp, 2, ResizeMode::nearest), (Samples{20, 40}));
  EXPECT_EQ(resized_row(ramp, 8, ResizeMode::nearest), (Samples{10, 10, 20, 20, 30, 30, 40, 40}));
  // a = -0.75 at distances 1.25, 0.25, 0.75, 1.75: -0.10547, 0.87891, 0.26172, -0.03516.
  EXPECT_EQ(resized_row({0, 100, 100, 0}, 8, ResizeMode::bicubic),
            (Samples{0, 23, 77, 114, 114, 77, 23, 0}));
}

TEST(ResizedRows, MatsAndLetterboxesHaveTheSameRows) {
  const int w = 37, h = 23;
  const Samples from = pattern(w * h * 3);
  const Pixels src{PixelFormat::rgb, w, h, from.data()};
  for (const ResizeMode mode : kModes) {
    const Samples small = resized(PixelFormat::rgb, w, h, from, 16, 10, mode);
    for (const int threads : {1, 3}) {
      const FromPixels how{
          .width = 16, .height = 10, .resize = mode, .dtype = DType::u8, .threads = threads};
      const Mat mat = from_pixels(src, how);
      Samples boxed(16 * 16 * 3);
      const Letterbox box =
          letterbox_pixels(src, {PixelFormat::rgb, 16, 16, boxed.data()}, {1, 2, 3, 4}, mode);
      ASSERT_EQ(box.height, 10);
      for (int i = 0; i < 16 * 10 * 3; ++i) {
        const int c = i % 3, x = i / 3 % 16, y = i / 48;
        ASSERT_EQ(mat.at<std::uint8_t>(x, y, c), small[std::size_t(i)]);
        ASSERT_EQ(boxed[std::size_t(((y + box.top) * 16 + x) * 3 + c)], small[std::size_t(i)]);
      }
    }
  }
}

}  // namespace

}  // namespace stowage
