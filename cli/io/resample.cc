// SPDX-License-Identifier: Apache-2.0
#include "cli/io/resample.h"

#include <algorithm>
#include <cmath>

namespace stowage::cli {
namespace {

/// Weights are integers of so many bits behind the point: Pillow's, so that sums round as there.
constexpr int kBits = 22;
constexpr std::int64_t kHalf = std::int64_t{1} << (kBits - 1);

double radius(Filter filter) { return filter == Filter::triangle ? 1 : 2; }

double weight_at(Filter filter, double x) {
  x = std::fabs(x);
  if (filter == Filter::triangle) return std::max(0.0, 1 - x);
  constexpr double a = -0.5;
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

/// What one output sample is made of: inputs first, first + 1, ..., one a weight.
struct Taps {
  std::int64_t first = 0;
  std::vector<std::int32_t> weights;
};

/// Centres are summed up, as Pillow does: of those that lie between two pixels, the sum chooses.
std::vector<Taps> nearest_taps(std::int64_t from, std::int64_t to) {
  const double step = static_cast<double>(from) / static_cast<double>(to);
  std::vector<Taps> out;
  double centre = step / 2;
  for (std::int64_t i = 0; i < to; ++i, centre += step) {
    out.push_back({std::min(static_cast<std::int64_t>(centre), from - 1), {1 << kBits}});
  }
  return out;
}

Taps blend_taps(std::int64_t i, std::int64_t from, std::int64_t to, Filter filter) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double widened = std::max(scale, 1.0), reach = radius(filter) * widened;
  const double centre = (static_cast<double>(i) + 0.5) * scale;
  Taps taps;
  taps.first = std::max(static_cast<std::int64_t>(centre - reach + 0.5), std::int64_t{0});
  const std::int64_t end = std::min(static_cast<std::int64_t>(centre + reach + 0.5), from);
  std::vector<double> weights;
  double sum = 0;
  for (std::int64_t k = taps.first; k < end; ++k) {
    weights.push_back(weight_at(filter, (static_cast<double>(k) - centre + 0.5) / widened));
    sum += weights.back();
  }
  for (const double w : weights) {
    taps.weights.push_back(static_cast<std::int32_t>(std::lround(w / sum * (1 << kBits))));
  }
  return taps;
}

/// Of each index of an axis.
std::vector<Taps> axis_taps(std::int64_t from, std::int64_t to, Filter filter) {
  if (filter == Filter::nearest) return nearest_taps(from, to);
  std::vector<Taps> out;
  for (std::int64_t i = 0; i < to; ++i) out.push_back(blend_taps(i, from, to, filter));
  return out;
}

/// The blend of samples from[0], from[step], ...
std::uint8_t blend(const std::uint8_t* from, std::int64_t step, const Taps& taps) {
  std::int64_t sum = kHalf;
  for (const std::int32_t w : taps.weights) {
    sum += std::int64_t{w} * *from;
    from += step;
  }
  return static_cast<std::uint8_t>(std::clamp<std::int64_t>(sum >> kBits, 0, 255));
}

Picture resized(const Picture& like, std::int64_t width, std::int64_t height) {
  Picture out = new_picture(width, height);
  out.channels = like.channels;
  out.pixels.resize(static_cast<std::size_t>(width * height * like.channels));
  return out;
}

Picture across(const Picture& picture, std::int64_t width, Filter filter) {
  Picture out = resized(picture, width, picture.height);
  const std::vector<Taps> columns = axis_taps(picture.width, width, filter);
  const std::int64_t channels = picture.channels;
  const std::uint8_t* row = picture.pixels.data();
  std::uint8_t* to = out.pixels.data();
  for (int y = 0; y < picture.height; ++y, row += picture.width * channels) {
    for (const Taps& taps : columns) {
      const std::uint8_t* const from = row + taps.first * channels;
      for (std::int64_t c = 0; c < channels; ++c) *to++ = blend(from + c, channels, taps);
    }
  }
  return out;
}

Picture down(const Picture& picture, std::int64_t height, Filter filter) {
  Picture out = resized(picture, picture.width, height);
  const std::int64_t row = std::int64_t{picture.width} * picture.channels;
  std::uint8_t* to = out.pixels.data();
  for (const Taps& taps : axis_taps(picture.height, height, filter)) {
    const std::uint8_t* const from = picture.pixels.data() + taps.first * row;
    for (std::int64_t i = 0; i < row; ++i) *to++ = blend(from + i, row, taps);
  }
  return out;
}

}  // namespace

Picture resample(const Picture& picture, std::int64_t width, std::int64_t height, Filter filter) {
  check_picture_size(width, height);
  Picture out = picture;
  if (width != out.width) out = across(out, width, filter);
  if (height != out.height) out = down(out, height, filter);
  return out;
}

}  // namespace stowage::cli
