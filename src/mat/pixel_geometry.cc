// SPDX-License-Identifier: Apache-2.0
// Pixels to other places: sizes, orientations, affine maps.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/index.h"
#include "base/text.h"
#include "mat/pixel_rows.h"
#include "mat/resized_rows.h"

namespace stowage {

namespace {

void expect_one_format(const Pixels& src, const Pixels& dst) {
  if (src.format != dst.format) {
    fail(ErrorCode::usage, "source and destination are of different pixel formats");
  }
}

void expect_one_plane(const Pixels& src) {
  if (is_yuv(src.format)) {
    fail(ErrorCode::usage, "nv12 and nv21 pictures must be converted to rgb first");
  }
}

void resize_plane(const SamplePlane& src, const SamplePlane& dst, ResizeMode mode) {
  ResizedRows rows(src, dst.width, dst.height, mode);
  for (int y = 0; y < dst.height; ++y) rows.row(y, dst.data + y * dst.stride);
}

/// dst(x, y) = src at origin + x * dx + y * dy.
template <int kChannels>
void copy_turned(const Sample* origin, std::ptrdiff_t dx, std::ptrdiff_t dy,
                 const SamplePlane& dst) noexcept {
  for (int y = 0; y < dst.height; ++y) {
    const Sample* from = origin + y * dy;
    Sample* to = dst.data + y * dst.stride;
    for (int x = 0; x < dst.width; ++x, from += dx, to += kChannels) {
      std::memcpy(to, from, kChannels);
    }
  }
}

void rotate_plane(const SamplePlane& src, const SamplePlane& dst, int orientation) {
  const bool transposed = orientation >= 5;
  const bool from_right =
      orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_bottom =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const std::ptrdiff_t along_x = from_right ? -src.channels : src.channels;
  const std::ptrdiff_t along_y = from_bottom ? -src.stride : src.stride;
  const Sample* origin = src.data;
  if (from_right) origin += std::ptrdiff_t{src.width - 1} * src.channels;
  if (from_bottom) origin += (src.height - 1) * src.stride;
  const std::ptrdiff_t dx = transposed ? along_y : along_x, dy = transposed ? along_x : along_y;
  switch (src.channels) {
    case 1:
      return copy_turned<1>(origin, dx, dy, dst);
    case 2:
      return copy_turned<2>(origin, dx, dy, dst);
    case 3:
      return copy_turned<3>(origin, dx, dy, dst);
    default:
      return copy_turned<4>(origin, dx, dy, dst);
  }
}

/// 10 bits behind the point, as ncnn has it.
constexpr int kAffineBits = 10;
constexpr std::int64_t kAffineOne = 1 << kAffineBits;

std::int64_t affine_fixed(float v) {
  // Beyond that nothing of a picture is near.
  const float scaled = std::clamp(v * static_cast<float>(kAffineOne), -1e15f, 1e15f);
  return static_cast<std::int64_t>(scaled + (scaled >= 0 ? 0.5f : -0.5f));
}

struct WarpSource {
  Pixels pixels;
  int channels;
  std::optional<std::array<Sample, 4>> border;
};

/// One pixel at (x, y) in fixed point.
void warp_pixel(const WarpSource& src, std::int64_t x, std::int64_t y, Sample* to) noexcept {
  const Pixels& p = src.pixels;
  const std::int64_t left = x >> kAffineBits, top = y >> kAffineBits;
  const auto inside = [&](std::int64_t sx, std::int64_t sy) {
    return sx >= 0 && sx < p.width && sy >= 0 && sy < p.height;
  };
  const bool whole = inside(left, top) && inside(left + 1, top + 1);
  if (!whole && !src.border.has_value()) return;
  const auto sample = [&](std::int64_t sx, std::int64_t sy) {
    return inside(sx, sy) ? p.data + sy * p.stride + sx * src.channels : src.border->data();
  };
  const Sample* const a0 = sample(left, top);
  const Sample* const a1 = sample(left + 1, top);
  const Sample* const b0 = sample(left, top + 1);
  const Sample* const b1 = sample(left + 1, top + 1);
  const int fx = static_cast<int>(x & (kAffineOne - 1)),
            fy = static_cast<int>(y & (kAffineOne - 1));
  const int gx = static_cast<int>(kAffineOne) - fx, gy = static_cast<int>(kAffineOne) - fy;
  for (int k = 0; k < src.channels; ++k) {
    const int above = (a0[k] * gx + a1[k] * fx) >> 5, below = (b0[k] * gx + b1[k] * fx) >> 5;
    to[k] = static_cast<Sample>((above * gy + below * fy) >> 15);
  }
}

}  // namespace

void resize_pixels(const Pixels& src, const MutablePixels& dst, ResizeMode mode) {
  const Pixels from = checked(src);
  const MutablePixels to = checked(dst);
  expect_one_format(from, to);
  const auto sources = planes_of(from), targets = planes_of(to);
  for (std::size_t i = 0; i < sources.size(); ++i) resize_plane(sources[i], targets[i], mode);
}

void rotate_pixels(const Pixels& src, const MutablePixels& dst, int orientation) {
  const Pixels from = checked(src);
  const MutablePixels to = checked(dst);
  expect_one_format(from, to);
  if (orientation < 1 || orientation > 8) {
    fail(ErrorCode::usage, "orientation ", orientation, " is not one of EXIF's 1 to 8");
  }
  const bool turned = orientation >= 5;
  if (to.width != (turned ? from.height : from.width) ||
      to.height != (turned ? from.width : from.height)) {
    fail(ErrorCode::usage, "orientation ", orientation, " of ", from.width, " x ", from.height,
         " pixels does not give ", to.width, " x ", to.height);
  }
  const auto sources = planes_of(from), targets = planes_of(to);
  for (std::size_t i = 0; i < sources.size(); ++i)
    rotate_plane(sources[i], targets[i], orientation);
}

AffineMatrix get_rotation_matrix(float angle, float scale, float x, float y) {
  const float radians = angle * static_cast<float>(3.14159265358979323846 / 180);
  const float alpha = std::cos(radians) * scale, beta = std::sin(radians) * scale;
  return {alpha, beta, (1 - alpha) * x - beta * y, -beta, alpha, beta * x + (1 - alpha) * y};
}

void get_rotation_matrix(float angle, float scale, float x, float y, float* matrix) {
  const AffineMatrix made = get_rotation_matrix(angle, scale, x, y);
  std::copy(made.begin(), made.end(), matrix);
}

AffineMatrix get_affine_transform(std::span<const float> from, std::span<const float> to) {
  if (from.size() != to.size() || from.size() % 2 != 0 || from.size() < 4) {
    fail(ErrorCode::usage, "a similarity needs two points or more and as many; ", from.size(),
         " and ", to.size(), " coordinates were given");
  }
  const std::size_t points = from.size() / 2;
  std::array<double, 4> mean{};  // x, y, x', y'
  for (std::size_t i = 0; i < points; ++i) {
    for (std::size_t k = 0; k < 2; ++k) {
      mean[k] += from[2 * i + k] / static_cast<double>(points);
      mean[2 + k] += to[2 * i + k] / static_cast<double>(points);
    }
  }
  // Around the means the least squares have a closed form: a + ib = sum conj(z) z' / sum |z|^2.
  double real = 0, imaginary = 0, square = 0;
  for (std::size_t i = 0; i < points; ++i) {
    const double x = from[2 * i] - mean[0], y = from[2 * i + 1] - mean[1];
    const double u = to[2 * i] - mean[2], v = to[2 * i + 1] - mean[3];
    real += x * u + y * v;
    imaginary += x * v - y * u;
    square += x * x + y * y;
  }
  if (!(square > 0) || !std::isfinite(square)) {
    fail(ErrorCode::usage, "the points of a similarity must be numbers and not all the same");
  }
  const double a = real / square, b = imaginary / square;
  return {static_cast<float>(a),
          static_cast<float>(-b),
          static_cast<float>(mean[2] - a * mean[0] + b * mean[1]),
          static_cast<float>(b),
          static_cast<float>(a),
          static_cast<float>(mean[3] - b * mean[0] - a * mean[1])};
}

void get_affine_transform(const float* from, const float* to, int points, float* matrix) {
  const std::size_t count = points < 0 ? 0 : idx(points) * 2;
  const AffineMatrix made = get_affine_transform(std::span(from, count), std::span(to, count));
  std::copy(made.begin(), made.end(), matrix);
}

AffineMatrix invert_affine_transform(const AffineMatrix& m) {
  const double determinant = static_cast<double>(m[0]) * m[4] - static_cast<double>(m[1]) * m[3];
  if (determinant == 0 || !std::isfinite(determinant)) {
    fail(ErrorCode::usage, "an affine map of determinant ", determinant, " has no inverse");
  }
  const double a = m[4] / determinant, b = -m[1] / determinant;
  const double d = -m[3] / determinant, e = m[0] / determinant;
  return {static_cast<float>(a), static_cast<float>(b), static_cast<float>(-a * m[2] - b * m[5]),
          static_cast<float>(d), static_cast<float>(e), static_cast<float>(-d * m[2] - e * m[5])};
}

void invert_affine_transform(const float* matrix, float* inverse) {
  AffineMatrix given;
  std::copy_n(matrix, given.size(), given.begin());
  const AffineMatrix made = invert_affine_transform(given);
  std::copy(made.begin(), made.end(), inverse);
}

void warpaffine_pixels(const Pixels& src, const MutablePixels& dst, const AffineMatrix& inverse,
                       std::optional<std::array<std::uint8_t, 4>> border) {
  const Pixels from = checked(src);
  const MutablePixels to = checked(dst);
  expect_one_format(from, to);
  expect_one_plane(from);
  if (!std::all_of(inverse.begin(), inverse.end(), [](float v) { return std::isfinite(v); })) {
    fail(ErrorCode::usage, "an affine map holds a number that is not finite");
  }
  const int channels = pixel_channels(from.format);
  const WarpSource source{from, channels, border};
  const AffineMatrix& m = inverse;
  std::vector<std::array<std::int64_t, 2>> steps(idx(to.width));
  for (int x = 0; x < to.width; ++x) {
    const auto at = static_cast<float>(x);
    steps[idx(x)] = {affine_fixed(m[0] * at), affine_fixed(m[3] * at)};
  }
  for (int y = 0; y < to.height; ++y) {
    const auto at = static_cast<float>(y);
    const std::int64_t x0 = affine_fixed(m[1] * at + m[2]), y0 = affine_fixed(m[4] * at + m[5]);
    Sample* out = to.data + y * to.stride;
    for (const auto& [dx, dy] : steps) {
      warp_pixel(source, x0 + dx, y0 + dy, out);
      out += channels;
    }
  }
}

Letterbox letterbox_pixels(const Pixels& src, const MutablePixels& dst,
                           std::array<std::uint8_t, 4> border, ResizeMode mode) {
  const Pixels from = checked(src);
  const MutablePixels to = checked(dst);
  expect_one_format(from, to);
  expect_one_plane(from);
  Letterbox box;
  box.scale = std::min(static_cast<double>(to.width) / from.width,
                       static_cast<double>(to.height) / from.height);
  const auto fitted = [&](int size, int most) {
    return std::clamp(static_cast<int>(std::lround(size * box.scale)), 1, most);
  };
  box.width = fitted(from.width, to.width);
  box.height = fitted(from.height, to.height);
  box.left = (to.width - box.width) / 2;
  box.top = (to.height - box.height) / 2;
  const int channels = pixel_channels(from.format);
  for (int y = 0; y < to.height; ++y) {
    const bool empty = y < box.top || y >= box.top + box.height;
    Sample* const row = to.data + y * to.stride;
    for (int x = 0; x < to.width; ++x) {
      // Between left and right is the picture.
      if (!empty && x == box.left) x += box.width;
      if (x < to.width)
        std::memcpy(row + std::ptrdiff_t{x} * channels, border.data(), idx(channels));
    }
  }
  MutablePixels inner = to;
  inner.width = box.width;
  inner.height = box.height;
  inner.data += box.top * to.stride + std::ptrdiff_t{box.left} * channels;
  inner.chroma = nullptr;
  resize_pixels(from, inner, mode);
  return box;
}

}  // namespace stowage
