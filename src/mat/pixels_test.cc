// SPDX-License-Identifier: Apache-2.0
// Pixels against plain loops over one pixel at a time.
#include "stowage/pixels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "base/scalar.h"
#include "stowage/error.h"

namespace stowage {

namespace {

using Samples = std::vector<std::uint8_t>;

constexpr PixelFormat kFormats[] = {PixelFormat::gray, PixelFormat::rgb, PixelFormat::bgr,
                                    PixelFormat::rgba, PixelFormat::bgra};

Samples noise(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  Samples out(count);
  for (auto& v : out) v = static_cast<std::uint8_t>(random());
  return out;
}

/// A picture whose memory ends with its last sample, so that a read behind it is seen.
struct Picture {
  PixelFormat format;
  int width, height, stride;
  Samples samples;

  Picture(PixelFormat f, int w, int h, int gap = 0, unsigned seed = 1)
      : format(f), width(w), height(h), stride(w * pixel_channels(f) + gap) {
    samples = noise(std::size_t(stride * (h - 1) + w * pixel_channels(f)), seed);
  }

  Pixels pixels() const { return {format, width, height, samples.data(), stride}; }

  MutablePixels target() { return {format, width, height, samples.data(), stride}; }

  std::uint8_t at(int x, int y, int k) const {
    return samples[std::size_t(y * stride + x * pixel_channels(format) + k)];
  }
};

struct Colour {
  int r, g, b, a;
};

Colour colour_at(const Picture& p, int x, int y) {
  const auto at = [&](int k) { return int{p.at(x, y, k)}; };
  switch (p.format) {
    case PixelFormat::gray:
      return {at(0), at(0), at(0), 255};
    case PixelFormat::rgb:
      return {at(0), at(1), at(2), 255};
    case PixelFormat::bgr:
      return {at(2), at(1), at(0), 255};
    case PixelFormat::rgba:
      return {at(0), at(1), at(2), at(3)};
    default:
      return {at(2), at(1), at(0), at(3)};
  }
}

/// Sample k of the colour in a format; `gray` is what a gray source had.
int sample_of(Colour c, PixelFormat format, int k, bool from_gray) {
  if (format == PixelFormat::gray) {
    return from_gray ? c.r : (77 * c.r + 150 * c.g + 29 * c.b) >> 8;
  }
  const bool red_first = format == PixelFormat::rgb || format == PixelFormat::rgba;
  if (k == 3) return c.a;
  if (k == 1) return c.g;
  return (k == 0) == red_first ? c.r : c.b;
}

/// Scalar c at (x, y) of a Mat of dims 3, whatever its packing and type.
double scalar_at(const Mat& m, DType dtype, int x, int y, int c) {
  const std::size_t element = m.cstep * std::size_t(c / m.elempack) + std::size_t(y * m.w + x);
  const std::size_t i = element * std::size_t(m.elempack) + std::size_t(c % m.elempack);
  if (dtype == DType::f32) return static_cast<const float*>(m.data)[i];
  if (dtype == DType::f16) return f16_to_f32(static_cast<const std::uint16_t*>(m.data)[i]);
  return static_cast<const std::uint8_t*>(m.data)[i];
}

void expect_mat(const Mat& m, const Picture& p, const FromPixels& how, const std::string& what) {
  const PixelFormat to = how.to.value_or(p.format);
  const int channels = pixel_channels(to);
  ASSERT_EQ(m.dims, 3) << what;
  ASSERT_EQ(m.w, p.width) << what;
  ASSERT_EQ(m.h, p.height) << what;
  ASSERT_EQ(m.c, (channels + how.elempack - 1) / how.elempack) << what;
  ASSERT_EQ(m.cstep, m.standard_cstep()) << what;
  for (int c = 0; c < m.c * m.elempack; ++c) {
    const auto of = [&](std::span<const float> list, float none) {
      return list.empty() ? none : list.size() == 1 ? list[0] : list[std::size_t(c)];
    };
    for (int y = 0; y < p.height; ++y) {
      for (int x = 0; x < p.width; ++x) {
        double want = 0;
        if (c < channels) {
          const int s = sample_of(colour_at(p, x, y), to, c, p.format == PixelFormat::gray);
          want = (static_cast<float>(s) - of(how.mean, 0)) * of(how.norm, 1);
          if (how.dtype == DType::f16) want = f16_to_f32(f32_to_f16(static_cast<float>(want)));
        }
        ASSERT_EQ(scalar_at(m, how.dtype, x, y, c), want)
            << what << " " << x << " " << y << " " << c;
      }
    }
  }
}

std::string words(PixelFormat from, PixelFormat to) {
  return std::to_string(static_cast<int>(from)) + " to " + std::to_string(static_cast<int>(to));
}

TEST(Pixels, AllColoursIntoMatsOfAnyPacking) {
  const std::vector<float> mean = {104, 117, 123, 100}, norm = {0.25f, 0.5f, 0.125f, 2};
  for (const PixelFormat from : kFormats) {
    for (const PixelFormat to : kFormats) {
      for (const auto& [w, h, gap] :
           {std::array{1, 1, 0}, {7, 5, 0}, {40, 3, 5}, {33, 1, 2}, {1, 9, 1}}) {
        const Picture p(from, w, h, gap);
        for (const int pack : {1, 2, 3, 4, 8}) {
          for (const DType dtype : {DType::f32, DType::f16, DType::u8}) {
            FromPixels how{.to = to, .dtype = dtype, .elempack = pack};
            const auto channels = std::size_t(pixel_channels(to));
            if (pack % 2 == 1 && dtype != DType::u8) {
              how.mean = std::span(mean).first(channels);
              how.norm = std::span(norm).first(channels);
            }
            expect_mat(from_pixels(p.pixels(), how), p, how, words(from, to));
          }
        }
      }
    }
  }
}

TEST(Pixels, LargePicturesInBlocksAndThreads) {
  for (const auto& [from, to] : {std::pair{PixelFormat::rgb, PixelFormat::rgb},
                                 {PixelFormat::rgb, PixelFormat::bgr},
                                 {PixelFormat::bgra, PixelFormat::gray}}) {
    for (const int threads : {1, 2, 3}) {
      const Picture p(from, 333, 201, 3);
      const FromPixels how{.to = to, .elempack = 4, .threads = threads};
      expect_mat(from_pixels(p.pixels(), how), p, how, words(from, to));
    }
  }
}

TEST(Pixels, MemoryOfTheLastPicture) {
  const Picture p(PixelFormat::rgb, 9, 7), q(PixelFormat::rgb, 9, 7, 0, 8);
  Mat m;
  from_pixels(p.pixels(), m);
  const void* const memory = m.data;
  from_pixels(q.pixels(), m);
  EXPECT_EQ(m.data, memory);
  expect_mat(m, q, {}, "again");
  const Mat kept = m;
  from_pixels(p.pixels(), m);
  EXPECT_NE(m.data, memory);
  expect_mat(kept, q, {}, "kept");
}

TEST(Pixels, AndBack) {
  for (const PixelFormat from : kFormats) {
    for (const PixelFormat to : kFormats) {
      for (const auto& [w, h, gap] : {std::array{1, 1, 0}, {7, 5, 3}, {130, 67, 0}}) {
        const Picture p(from, w, h);
        for (const int pack : {1, 3, 4}) {
          for (const DType dtype : {DType::f32, DType::f16, DType::u8}) {
            const Mat m = from_pixels(p.pixels(), {.dtype = dtype, .elempack = pack});
            Picture out(to, w, h, gap, 2);
            const Samples before = out.samples;
            to_pixels(m, out.target(), {.from = from});
            const int channels = pixel_channels(to);
            for (int y = 0; y < h; ++y) {
              for (int x = 0; x < w; ++x) {
                for (int k = 0; k < channels; ++k) {
                  ASSERT_EQ(out.at(x, y, k),
                            sample_of(colour_at(p, x, y), to, k, from == PixelFormat::gray))
                      << words(from, to);
                }
              }
              if (y + 1 == h) continue;
              for (int i = w * channels; i < out.stride; ++i) {
                const auto at = std::size_t(y * out.stride + i);
                ASSERT_EQ(out.samples[at], before[at]);
              }
            }
          }
        }
      }
    }
  }
  // To nearest even, saturated; ncnn truncates.
  Mat m(6, 1, 1);
  const float values[] = {-3, 0.5f, 1.5f, 254.6f, 300, NAN};
  std::copy(std::begin(values), std::end(values), m.row(0));
  std::uint8_t out[6];
  m.to_pixels(out, Mat::PIXEL_GRAY);
  EXPECT_EQ(Samples(out, out + 6), (Samples{0, 0, 2, 255, 255, 0}));
}

/// ncnn's formula, one sample at a time.
Picture resized(const Picture& p, int w, int h) {
  struct Tap {
    int at;
    int a, b;
  };

  const auto tap = [](int i, int from, int to) {
    auto f = static_cast<float>((i + 0.5) * (static_cast<double>(from) / to) - 0.5);
    int s = static_cast<int>(std::floor(f));
    f -= static_cast<float>(s);
    if (s < 0) s = 0, f = 0;
    if (s >= from - 1) s = from - 2, f = 1;
    return Tap{s, static_cast<int>((1 - f) * 2048 + 0.5f), static_cast<int>(f * 2048 + 0.5f)};
  };
  Picture out(p.format, w, h);
  const int channels = pixel_channels(p.format);
  for (int y = 0; y < h; ++y) {
    for (int x = 0; x < w; ++x) {
      const Tap tx = tap(x, p.width, w), ty = tap(y, p.height, h);
      for (int k = 0; k < channels; ++k) {
        const auto row = [&](int sy) {
          const int a = tx.at < 0 ? 0 : p.at(tx.at, sy, k), b = p.at(tx.at + 1, sy, k);
          return (a * tx.a + b * tx.b) >> 4;
        };
        const int above = ty.at < 0 ? 0 : row(ty.at), below = row(ty.at + 1);
        out.samples[std::size_t(y * out.stride + x * channels + k)] =
            static_cast<std::uint8_t>(((above * ty.a >> 16) + (below * ty.b >> 16) + 2) >> 2);
      }
    }
  }
  return out;
}

constexpr int kSizes[][4] = {{24, 48, 24, 48}, {13, 17, 11, 14}, {33, 23, 5, 6}, {5, 4, 11, 16},
                             {23, 11, 15, 21}, {1, 1, 7, 5},     {1, 9, 3, 2},   {150, 3, 1, 1}};

TEST(Pixels, Resized) {
  for (const PixelFormat format : kFormats) {
    for (const auto& [sw, sh, w, h] : kSizes) {
      const Picture p(format, sw, sh, 7);
      const Picture want = resized(p, w, h);
      Picture out(format, w, h, 3, 2);
      resize_pixels(p.pixels(), out.target());
      for (int y = 0; y < h; ++y) {
        ASSERT_EQ(
            std::memcmp(&out.samples[std::size_t(y * out.stride)],
                        &want.samples[std::size_t(y * want.stride)], std::size_t(want.stride)),
            0);
      }
      for (const PixelFormat to : {format, PixelFormat::bgr, PixelFormat::gray}) {
        const FromPixels how{.width = w, .height = h, .to = to, .elempack = 4};
        expect_mat(from_pixels(p.pixels(), how), want, how, words(format, to));
      }
    }
  }
}

TEST(Pixels, RegionsAndOrientations) {
  // The place in src of (x, y) of the result.
  const auto place = [](int orientation, int w, int h, int x, int y) {
    switch (orientation) {
      case 1:
        return std::pair{x, y};
      case 2:
        return std::pair{w - 1 - x, y};
      case 3:
        return std::pair{w - 1 - x, h - 1 - y};
      case 4:
        return std::pair{x, h - 1 - y};
      case 5:
        return std::pair{y, x};
      case 6:
        return std::pair{y, h - 1 - x};
      case 7:
        return std::pair{w - 1 - y, h - 1 - x};
      default:
        return std::pair{w - 1 - y, x};
    }
  };
  for (const PixelFormat format : kFormats) {
    const Picture p(format, 19, 13, 2);
    for (const PixelRegion& r :
         {PixelRegion{0, 0, 19, 13}, {3, 2, 7, 5}, {18, 12, 1, 1}, {0, 12, 19, 1}}) {
      for (int orientation = 1; orientation <= 8; ++orientation) {
        const bool turned = orientation >= 5;
        Picture want(format, turned ? r.height : r.width, turned ? r.width : r.height);
        const int channels = pixel_channels(format);
        for (int y = 0; y < want.height; ++y) {
          for (int x = 0; x < want.width; ++x) {
            const auto [sx, sy] = place(orientation, r.width, r.height, x, y);
            for (int k = 0; k < channels; ++k) {
              want.samples[std::size_t(y * want.stride + x * channels + k)] =
                  p.at(r.x + sx, r.y + sy, k);
            }
          }
        }
        const FromPixels how{.region = r, .orientation = orientation, .to = PixelFormat::rgba};
        expect_mat(from_pixels(p.pixels(), how), want, how, std::to_string(orientation));
      }
    }
  }
}

TEST(Pixels, Yuv) {
  for (const PixelFormat format : {PixelFormat::nv12, PixelFormat::nv21}) {
    for (const auto& [w, h] : {std::pair{2, 2}, {16, 12}, {30, 6}}) {
      const Samples luma = noise(std::size_t(w * h), 3), chroma = noise(std::size_t(w * h / 2), 4);
      Picture want(PixelFormat::rgb, w, h);
      for (int y = 0; y < h; ++y) {
        for (int x = 0; x < w; ++x) {
          const std::size_t pair = std::size_t(y / 2 * w + x / 2 * 2);
          const bool u_first = format == PixelFormat::nv12;
          const int u = chroma[pair + (u_first ? 0 : 1)] - 128,
                    v = chroma[pair + (u_first ? 1 : 0)] - 128;
          const int l = 64 * luma[std::size_t(y * w + x)];
          const int rgb[] = {(l + 90 * v) >> 6, (l - 46 * v - 22 * u) >> 6, (l + 113 * u) >> 6};
          for (int k = 0; k < 3; ++k) {
            want.samples[std::size_t(y * want.stride + x * 3 + k)] =
                static_cast<std::uint8_t>(std::clamp(rgb[k], 0, 255));
          }
        }
      }
      Pixels p{format, w, h, luma.data(), w, chroma.data()};
      for (const PixelFormat to : {PixelFormat::rgb, PixelFormat::bgra, PixelFormat::gray}) {
        const FromPixels how{.to = to, .elempack = 3};
        expect_mat(from_pixels(p, how), want, how, words(format, to));
        const FromPixels smaller{.width = 5, .height = 3, .to = to};
        expect_mat(from_pixels(p, smaller), resized(want, 5, 3), smaller, "smaller");
      }
      // In one buffer, as cameras give it.
      Samples both = luma;
      both.insert(both.end(), chroma.begin(), chroma.end());
      Picture rgb(PixelFormat::rgb, w, h);
      convert_pixels({format, w, h, both.data()}, rgb.target());
      EXPECT_EQ(rgb.samples, want.samples);
      Samples turned(both.size()), back(both.size());
      rotate_pixels({format, w, h, both.data()}, {format, h, w, turned.data()}, 6);
      rotate_pixels({format, h, w, turned.data()}, {format, w, h, back.data()}, 8);
      EXPECT_EQ(back, both);
      EXPECT_EQ(turned[std::size_t(h - 1)], both[0]);
    }
  }
}

// Luma is the mean of four, with its fraction.
TEST(Pixels, YuvToHalfTheSize) {
  for (const PixelFormat format : {PixelFormat::nv12, PixelFormat::nv21}) {
    for (const auto& [w, h] : {std::pair{2, 2}, {16, 12}, {30, 6}}) {
      const Samples both = noise(std::size_t(w * h * 3 / 2), 5);
      Picture rgb(PixelFormat::rgb, w / 2, h / 2, 5), bgra(PixelFormat::bgra, w / 2, h / 2);
      convert_pixels({format, w, h, both.data()}, rgb.target());
      convert_pixels({format, w, h, both.data()}, bgra.target());
      for (int y = 0; y < h / 2; ++y) {
        for (int x = 0; x < w / 2; ++x) {
          const auto luma = [&](int i, int k) {
            return int{both[std::size_t((2 * y + k) * w + 2 * x + i)]};
          };
          const std::size_t pair = std::size_t(w * h + y * w + 2 * x);
          const bool u_first = format == PixelFormat::nv12;
          const int u = both[pair + (u_first ? 0 : 1)] - 128,
                    v = both[pair + (u_first ? 1 : 0)] - 128;
          const int l = 16 * (luma(0, 0) + luma(1, 0) + luma(0, 1) + luma(1, 1));
          const int want[] = {(l + 90 * v) >> 6, (l - 46 * v - 22 * u) >> 6, (l + 113 * u) >> 6};
          for (int k = 0; k < 3; ++k) {
            ASSERT_EQ(rgb.at(x, y, k), std::clamp(want[k], 0, 255)) << x << " " << y;
            ASSERT_EQ(bgra.at(x, y, 2 - k), rgb.at(x, y, k));
          }
        }
      }
    }
  }
}

TEST(Pixels, AffineMaps) {
  const AffineMatrix turn = get_rotation_matrix(90, 1, 10, 20);
  // The centre stays; a point right of it goes above it, for y points down.
  EXPECT_NEAR(turn[0] * 10 + turn[1] * 20 + turn[2], 10, 1e-4);
  EXPECT_NEAR(turn[3] * 15 + turn[4] * 20 + turn[5], 15, 1e-4);
  const float from[] = {0, 0, 10, 0, 0, 10, 3, 7};
  float to[8];
  const AffineMatrix similarity = get_rotation_matrix(33, 1.7f, 4, -2);
  for (int i = 0; i < 4; ++i) {
    for (int k = 0; k < 2; ++k) {
      to[2 * i + k] = similarity[std::size_t(3 * k)] * from[2 * i] +
                      similarity[std::size_t(3 * k + 1)] * from[2 * i + 1] +
                      similarity[std::size_t(3 * k + 2)];
    }
  }
  const AffineMatrix found = get_affine_transform(from, to);
  const AffineMatrix inverse = invert_affine_transform(found);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(found[i], similarity[i], 1e-4) << i;
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR(inverse[0] * to[2 * i] + inverse[1] * to[2 * i + 1] + inverse[2], from[2 * i],
                1e-4);
  }
  const float same[] = {1, 2, 1, 2};
  EXPECT_THROW(get_affine_transform(same, same), Error);
  EXPECT_THROW(get_affine_transform(std::span(from, 2), std::span(to, 2)), Error);
  EXPECT_THROW(get_affine_transform(std::span(from, 4), std::span(to, 6)), Error);
  EXPECT_THROW(invert_affine_transform({1, 2, 0, 2, 4, 0}), Error);
}

TEST(Pixels, Warped) {
  for (const PixelFormat format : kFormats) {
    const int channels = pixel_channels(format);
    const Picture p(format, 31, 22, 3);
    for (const float angle : {0.0f, 30.0f, 200.0f}) {
      for (const bool bordered : {false, true}) {
        AffineMatrix m = get_rotation_matrix(angle, 1.3f, 15, 11);
        m[2] += 2.25f;
        const std::array<std::uint8_t, 4> border = {10, 20, 30, 40};
        Picture out(format, 40, 17, 1, 5);
        const Samples before = out.samples;
        warpaffine_pixels(p.pixels(), out.target(), m,
                          bordered ? std::optional(border) : std::nullopt);
        const auto fixed = [](float v) {
          v *= 1024;
          return static_cast<int>(v + (v >= 0 ? 0.5f : -0.5f));
        };
        for (int y = 0; y < out.height; ++y) {
          for (int x = 0; x < out.width; ++x) {
            const auto fx = static_cast<float>(x), fy = static_cast<float>(y);
            const int sx = fixed(m[0] * fx) + fixed(m[1] * fy + m[2]);
            const int sy = fixed(m[3] * fx) + fixed(m[4] * fy + m[5]);
            const int left = sx >> 10, top = sy >> 10, u = sx & 1023, v = sy & 1023;
            const auto inside = [&](int ax, int ay) {
              return ax >= 0 && ax < p.width && ay >= 0 && ay < p.height;
            };
            const bool whole = inside(left, top) && inside(left + 1, top + 1);
            for (int k = 0; k < channels; ++k) {
              const auto at = [&](int ax, int ay) {
                return inside(ax, ay) ? int{p.at(ax, ay, k)} : int{border[std::size_t(k)]};
              };
              const int above = (at(left, top) * (1024 - u) + at(left + 1, top) * u) >> 5;
              const int below = (at(left, top + 1) * (1024 - u) + at(left + 1, top + 1) * u) >> 5;
              int want = (above * (1024 - v) + below * v) >> 15;
              if (!whole && !bordered)
                want = before[std::size_t(y * out.stride + x * channels + k)];
              ASSERT_EQ(out.at(x, y, k), want) << x << " " << y;
            }
          }
        }
      }
    }
  }
  // ncnn's coordinates saturate at 32767.
  const Picture wide(PixelFormat::gray, 40000, 2);
  Picture out(PixelFormat::gray, 4, 1);
  warpaffine_pixels(wide.pixels(), out.target(), {1, 0, 35000, 0, 1, 0});
  EXPECT_EQ(out.at(2, 0, 0), wide.at(35002, 0, 0));
  EXPECT_THROW(warpaffine_pixels(wide.pixels(), out.target(), {NAN, 0, 0, 0, 1, 0}), Error);
  EXPECT_NO_THROW(warpaffine_pixels(wide.pixels(), out.target(), {3e38f, 3e38f, 0, 3e38f, 1, 0}));
}

TEST(Pixels, Letterboxed) {
  for (const auto& [sw, sh, w, h] : kSizes) {
    const Picture p(PixelFormat::rgb, sw, sh);
    Picture out(PixelFormat::rgb, w, h, 4, 9);
    const Letterbox box = letterbox_pixels(p.pixels(), out.target(), {1, 2, 3, 4});
    const Picture inner = resized(p, box.width, box.height);
    EXPECT_TRUE(box.width == w || box.height == h);
    EXPECT_EQ(box.left, (w - box.width) / 2);
    EXPECT_EQ(box.top, (h - box.height) / 2);
    for (int y = 0; y < h; ++y) {
      for (int x = 0; x < w; ++x) {
        const int ix = x - box.left, iy = y - box.top;
        const bool inside = ix >= 0 && ix < box.width && iy >= 0 && iy < box.height;
        for (int k = 0; k < 3; ++k) {
          ASSERT_EQ(out.at(x, y, k), inside ? inner.at(ix, iy, k) : k + 1) << x << " " << y;
        }
      }
    }
  }
}

TEST(Pixels, CallsOfNcnn) {
  const Picture p(PixelFormat::bgr, 21, 14, 3);
  const FromPixels plain{.to = PixelFormat::rgb};
  expect_mat(Mat::from_pixels(p.samples.data(), Mat::PIXEL_BGR2RGB, 21, 14, p.stride), p, plain,
             "");
  const Picture small = resized(p, 9, 8);
  expect_mat(Mat::from_pixels_resize(p.samples.data(), Mat::PIXEL_BGR2RGB, 21, 14, p.stride, 9, 8),
             small, plain, "resize");
  const Mat part =
      Mat::from_pixels_roi(p.samples.data(), Mat::PIXEL_BGR, 21, 14, p.stride, 4, 5, 6, 7);
  EXPECT_EQ(part.w, 6);
  EXPECT_EQ(part.at<float>(5, 6, 2), p.at(9, 11, 2));
  const Mat both = Mat::from_pixels_roi_resize(p.samples.data(), Mat::PIXEL_BGR, 21, 14, p.stride,
                                               4, 5, 6, 7, 6, 7);
  EXPECT_EQ(both.at<float>(5, 6, 2), p.at(9, 11, 2));
  // to_pixels_resize keeps to the stride where nothing is resized, too; ncnn's does not.
  Samples out(std::size_t(9 * 3 + 5) * 8);
  const Mat m = Mat::from_pixels(small.samples.data(), Mat::PIXEL_BGR, 9, 8);
  m.to_pixels_resize(out.data(), Mat::PIXEL_BGR, 9, 8, 9 * 3 + 5);
  EXPECT_EQ(out[std::size_t(7 * 32 + 5)], small.at(1, 7, 2));
  m.to_pixels(out.data(), Mat::PIXEL_BGR2RGB);
  EXPECT_EQ(out[0], small.at(0, 0, 2));
}

TEST(Pixels, WhatIsRefused) {
  Picture p(PixelFormat::rgb, 8, 6);
  const auto refused = [&](const FromPixels& how) {
    try {
      from_pixels(p.pixels(), how);
      return false;
    } catch (const Error& e) {
      return e.code() == ErrorCode::usage;
    }
  };
  const float two[] = {1, 2};
  EXPECT_TRUE(refused({.region = PixelRegion{5, 0, 4, 1}}));
  EXPECT_TRUE(refused({.region = PixelRegion{0, 0, 0, 1}}));
  EXPECT_TRUE(refused({.region = PixelRegion{2147483647, 0, 2147483647, 1}}));
  EXPECT_TRUE(refused({.orientation = 9}));
  EXPECT_TRUE(refused({.width = -1}));
  EXPECT_TRUE(refused({.to = PixelFormat::nv12}));
  EXPECT_TRUE(refused({.elempack = 0}));
  EXPECT_TRUE(refused({.mean = two}));
  EXPECT_TRUE(refused({.threads = 0}));
  EXPECT_FALSE(refused({}));
  EXPECT_THROW(from_pixels({PixelFormat::rgb, 8, 6, p.samples.data(), 23}), Error);
  EXPECT_THROW(from_pixels({PixelFormat::rgb, 0, 6, p.samples.data()}), Error);
  EXPECT_THROW(from_pixels({PixelFormat::rgb, 8, 6, nullptr}), Error);
  EXPECT_THROW(from_pixels({PixelFormat::nv12, 7, 6, p.samples.data()}), Error);
  EXPECT_THROW(Mat::from_pixels(p.samples.data(), 6, 8, 6), Error);
  EXPECT_THROW(Mat::from_pixels(p.samples.data(), -1, 8, 6), Error);
  EXPECT_THROW(Mat::from_pixels_resize(p.samples.data(), Mat::PIXEL_RGB, 8, 6, 0, 6), Error);
  const Mat m(8, 6, 2);
  EXPECT_THROW(m.to_pixels(p.samples.data(), Mat::PIXEL_RGB), Error);
  EXPECT_THROW(Mat().to_pixels(p.samples.data(), Mat::PIXEL_RGB), Error);
  EXPECT_THROW(resize_pixels(p.pixels(), MutablePixels{PixelFormat::gray, 8, 6, p.samples.data()}),
               Error);
  EXPECT_THROW(rotate_pixels(p.pixels(), p.target(), 5), Error);
  Picture half(PixelFormat::rgb, 4, 3);
  EXPECT_THROW(convert_pixels(p.pixels(), half.target()), Error);
  const Samples camera(96);
  EXPECT_THROW(convert_pixels({PixelFormat::nv12, 8, 8, camera.data()}, half.target()), Error);
}

}  // namespace

}  // namespace stowage
