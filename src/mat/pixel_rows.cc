// SPDX-License-Identifier: Apache-2.0
#include "mat/pixel_rows.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/checked.h"
#include "base/index.h"
#include "base/text.h"

namespace stowage {

namespace {

/// A picture may have sides as long as that.
constexpr int kMaxSide = 1 << 20;
constexpr Sample kOpaque = 255;

constexpr PixelFormat kFormats[] = {PixelFormat::gray, PixelFormat::rgb, PixelFormat::bgr,
                                    PixelFormat::rgba, PixelFormat::bgra};
constexpr std::size_t kFormatCount = std::size(kFormats);

constexpr bool has_alpha(PixelFormat f) { return f == PixelFormat::rgba || f == PixelFormat::bgra; }

constexpr int channels_of(PixelFormat f) {
  if (f == PixelFormat::rgb || f == PixelFormat::bgr) return 3;
  return has_alpha(f) ? 4 : 1;
}

/// Where red is; blue is at 2 minus that.
constexpr int red_of(PixelFormat f) {
  return f == PixelFormat::bgr || f == PixelFormat::bgra ? 2 : 0;
}

/// A sample of the pixel at `p`, or what it counts as.
template <PixelFormat kTo, PixelFormat kFrom>
void colour_pixel(const Sample* p, Sample* to) {
  if constexpr (kTo == PixelFormat::gray) {
    if constexpr (kFrom == PixelFormat::gray) {
      to[0] = p[0];
    } else {
      const int r = p[red_of(kFrom)], g = p[1], b = p[2 - red_of(kFrom)];
      to[0] = static_cast<Sample>((77 * r + 150 * g + 29 * b) >> 8);
    }
  } else {
    const bool gray = kFrom == PixelFormat::gray;
    to[red_of(kTo)] = p[gray ? 0 : red_of(kFrom)];
    to[1] = p[gray ? 0 : 1];
    to[2 - red_of(kTo)] = p[gray ? 0 : 2 - red_of(kFrom)];
    if constexpr (has_alpha(kTo)) to[3] = has_alpha(kFrom) ? p[channels_of(kFrom) - 1] : kOpaque;
  }
}

template <PixelFormat kFrom, PixelFormat kTo>
void colour_pixels(const Sample* src, int count, Sample* dst) noexcept {
  constexpr int kIn = channels_of(kFrom), kOut = channels_of(kTo);
  if constexpr (kFrom == kTo) {
    std::memcpy(dst, src, idx(count) * kIn);
  } else {
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      colour_pixel<kTo, kFrom>(src + i * kIn, dst + i * kOut);
    }
  }
}

struct ColourRows {
  ColourRow rows[kFormatCount][kFormatCount];
};

template <std::size_t... kPair>
constexpr ColourRows colour_rows(std::index_sequence<kPair...>) {
  ColourRows out{};
  ((out.rows[kPair / kFormatCount][kPair % kFormatCount] =
        colour_pixels<kFormats[kPair / kFormatCount], kFormats[kPair % kFormatCount]>),
   ...);
  return out;
}

constexpr ColourRows kColourRows =
    colour_rows(std::make_index_sequence<kFormatCount * kFormatCount>());

Sample clamped(int v) { return static_cast<Sample>(std::clamp(v, 0, 255)); }

/// What a pair of chroma adds to luma, in 64ths.
struct Chroma {
  Chroma(PixelFormat format, const Sample* pair) {
    const int u_at = format == PixelFormat::nv12 ? 0 : 1;
    const int u = pair[u_at] - 128, v = pair[1 - u_at] - 128;
    red = 90 * v;
    green = -46 * v - 22 * u;
    blue = 113 * u;
  }

  void pixel(int luma, Sample* rgb) const noexcept {
    rgb[0] = clamped((luma + red) >> 6);
    rgb[1] = clamped((luma + green) >> 6);
    rgb[2] = clamped((luma + blue) >> 6);
  }

  int red, green, blue;
};

/// Sizes and stride; returns the stride.
std::ptrdiff_t check_picture(PixelFormat format, int width, int height, const void* data,
                             std::ptrdiff_t stride) {
  if (width < 1 || height < 1 || width > kMaxSide || height > kMaxSide) {
    fail(ErrorCode::usage, "a picture of ", width, " x ", height, " pixels is not possible");
  }
  if (data == nullptr) fail(ErrorCode::usage, "a picture without memory");
  if (is_yuv(format) && (width % 2 != 0 || height % 2 != 0)) {
    fail(ErrorCode::usage, "nv12 and nv21 pictures have even sizes, not ", width, " x ", height);
  }
  const std::ptrdiff_t row = std::ptrdiff_t{width} * pixel_channels(format);
  if (stride != 0 && stride < row) {
    fail(ErrorCode::usage, "a stride of ", stride, " bytes is less than a row of ", row);
  }
  if (stride > std::ptrdiff_t{kMaxSide} * 64) {
    fail(ErrorCode::usage, "a stride of ", stride, " bytes is not possible");
  }
  return stride == 0 ? row : stride;
}

}  // namespace

int pixel_channels(PixelFormat format) noexcept { return channels_of(format); }

bool is_yuv(PixelFormat format) noexcept {
  return format == PixelFormat::nv12 || format == PixelFormat::nv21;
}

Pixels checked(const Pixels& pixels) {
  Pixels p = pixels;
  p.stride = check_picture(p.format, p.width, p.height, p.data, p.stride);
  if (p.chroma == nullptr) p.chroma = p.data + p.stride * p.height;
  return p;
}

MutablePixels checked(const MutablePixels& pixels) {
  MutablePixels p = pixels;
  p.stride = check_picture(p.format, p.width, p.height, p.data, p.stride);
  if (p.chroma == nullptr) p.chroma = p.data + p.stride * p.height;
  return p;
}

Pixels part_of(const Pixels& pixels, const PixelRegion& region) {
  const auto& [x, y, width, height] = region;
  if (x < 0 || y < 0 || width < 1 || height < 1 || x > pixels.width - width ||
      y > pixels.height - height) {
    fail(ErrorCode::usage, "the region of ", width, " x ", height, " pixels at ", x, ", ", y,
         " is not inside ", pixels.width, " x ", pixels.height);
  }
  Pixels part = pixels;
  part.width = width;
  part.height = height;
  part.data += y * pixels.stride + std::ptrdiff_t{x} * pixel_channels(pixels.format);
  if (is_yuv(pixels.format)) {
    if (x % 2 != 0 || y % 2 != 0) {
      fail(ErrorCode::usage, "a region of an nv12 or nv21 picture begins at even places, not ", x,
           ", ", y);
    }
    part.chroma += y / 2 * pixels.stride + x;
  }
  return checked(part);
}

std::vector<SamplePlane> planes_of(const Pixels& p) {
  // Planes are written where the picture is a MutablePixels, and read elsewhere.
  auto* const data = const_cast<Sample*>(p.data);
  auto* const chroma = const_cast<Sample*>(p.chroma);
  std::vector<SamplePlane> out = {{p.width, p.height, pixel_channels(p.format), data, p.stride}};
  if (is_yuv(p.format)) out.push_back({p.width / 2, p.height / 2, 2, chroma, p.stride});
  return out;
}

Picture8::Picture8(PixelFormat format, int width, int height) {
  const Sample unread = 0;
  const std::ptrdiff_t stride = check_picture(format, width, height, &unread, 0);
  const std::size_t luma = idx(stride) * idx(height);
  try {
    bytes.resize(is_yuv(format) ? luma / 2 * 3 : luma);
  } catch (const std::exception&) {
    fail(ErrorCode::limit, "cannot allocate a picture of ", width, " x ", height, " pixels");
  }
  view = checked(MutablePixels{format, width, height, bytes.data(), stride, nullptr});
}

ColourRow colour_row(PixelFormat from, PixelFormat to) {
  return kColourRows.rows[idx(static_cast<int>(from))][idx(static_cast<int>(to))];
}

std::size_t arrange_planes(PixelFormat from, PixelFormat to, Sample* planes,
                           std::size_t size) noexcept {
  const int in = channels_of(from), out = channels_of(to);
  const auto plane = [&](int i) { return planes + idx(i) * size; };
  const auto copy = [&](int i, int k) { std::memcpy(plane(k), plane(i), size); };
  if (out == 1) {
    if (in == 1) return 0;
    const Sample *red = plane(red_of(from)), *green = plane(1), *blue = plane(2 - red_of(from));
    Sample* const gray = plane(in);
    for (std::size_t i = 0; i < size; ++i) {
      gray[i] = static_cast<Sample>(
          static_cast<std::uint16_t>(77 * red[i] + 150 * green[i] + 29 * blue[i]) >> 8);
    }
    return idx(in);
  }
  int first = 0;
  if (in == 1) {
    copy(0, 1);
    copy(0, 2);
  } else if (red_of(from) != red_of(to)) {
    // Planes 0 1 2 in the opposite order, beginning at 2; an alpha follows them.
    first = 2;
    if (in == 4 && out == 4) copy(3, 5);
    copy(1, 3);
    copy(0, 4);
  }
  if (in != 4 && out == 4) std::memset(plane(first + 3), kOpaque, size);
  return idx(first);
}

void yuv_row(const Pixels& p, int y, Sample* rgb) noexcept {
  const Sample* luma = p.data + y * p.stride;
  const Sample* chroma = p.chroma + y / 2 * p.stride;
  for (int x = 0; x < p.width; x += 2) {
    const Chroma colour(p.format, chroma + x);
    colour.pixel(luma[x] * 64, rgb + std::ptrdiff_t{x} * 3);
    colour.pixel(luma[x + 1] * 64, rgb + std::ptrdiff_t{x} * 3 + 3);
  }
}

void yuv_half_row(const Pixels& p, int y, Sample* rgb) noexcept {
  const Sample* above = p.data + 2 * y * p.stride;
  const Sample* below = above + p.stride;
  const Sample* chroma = p.chroma + y * p.stride;
  for (int x = 0; x < p.width; x += 2, rgb += 3) {
    const int sum = above[x] + above[x + 1] + below[x] + below[x + 1];
    Chroma(p.format, chroma + x).pixel(sum * 16, rgb);
  }
}

}  // namespace stowage
