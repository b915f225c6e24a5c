// SPDX-License-Identifier: Apache-2.0
#include "mat/resized_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/index.h"

namespace stowage {

namespace {

/// Calls f with the number of channels as a constant.
template <class F>
void with_channels(int channels, F&& f) {
  switch (channels) {
    case 1:
      return f.template operator()<1>();
    case 2:
      return f.template operator()<2>();
    case 3:
      return f.template operator()<3>();
    default:
      return f.template operator()<4>();
  }
}

std::vector<int> nearest_of(int from, int to) {
  std::vector<int> out(idx(to));
  for (int i = 0; i < to; ++i) {
    out[idx(i)] = std::min(static_cast<int>((i + 0.5) * from / to), from - 1);
  }
  return out;
}

}  // namespace

float keys_cubic(float x) noexcept {
  constexpr float a = -0.75f;
  x = std::fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

NearestRows::NearestRows(const SamplePlane& src, int width, int height)
    : src_(src), columns_(nearest_of(src.width, width)), rows_(nearest_of(src.height, height)) {}

void NearestRows::row(int y, Sample* out) noexcept {
  const Sample* const from = src_.data + rows_[idx(y)] * src_.stride;
  with_channels(src_.channels, [&]<int kChannels>() {
    for (const int x : columns_) {
      std::memcpy(out, from + std::ptrdiff_t{x} * kChannels, kChannels);
      out += kChannels;
    }
  });
}

std::vector<BilinearRows::Tap> BilinearRows::taps_of(int from, int to) {
  constexpr float kOne = 2048;
  std::vector<Tap> out(idx(to));
  const double scale = static_cast<double>(from) / to;
  for (int i = 0; i < to; ++i) {
    auto at = static_cast<float>((i + 0.5) * scale - 0.5);
    int first = static_cast<int>(std::floor(at));
    at -= static_cast<float>(first);
    if (first < 0) {
      first = 0;
      at = 0;
    }
    if (first >= from - 1) {
      first = from - 2;
      at = 1;
    }
    const auto weight = [](float w) { return static_cast<std::int16_t>(w * kOne + 0.5f); };
    // Of a single pixel the first weighs nothing.
    out[idx(i)] = {std::max(first, 0), first + 1, weight(1 - at), weight(at)};
  }
  return out;
}

BilinearRows::BilinearRows(const SamplePlane& src, int width, int height)
    : src_(src), columns_(taps_of(src.width, width)), rows_(taps_of(src.height, height)) {
  for (auto& line : lines_) line.resize(idx(width) * idx(src.channels));
}

const std::int16_t* BilinearRows::narrowed(int y) noexcept {
  const std::size_t place = idx(y % 2);
  std::int16_t* const line = lines_[place].data();
  if (line_of_[place] == y) return line;
  line_of_[place] = y;
  const Sample* const row = src_.data + y * src_.stride;
  with_channels(src_.channels, [&]<int kChannels>() {
    std::int16_t* to = line;
    for (const Tap& tap : columns_) {
      const Sample* const a = row + std::ptrdiff_t{tap.first} * kChannels;
      const Sample* const b = row + std::ptrdiff_t{tap.second} * kChannels;
      for (int k = 0; k < kChannels; ++k) {
        *to++ = static_cast<std::int16_t>((a[k] * tap.a + b[k] * tap.b) >> 4);
      }
    }
  });
  return line;
}

void BilinearRows::row(int y, Sample* out) noexcept {
  const Tap tap = rows_[idx(y)];
  // Of a single row both are the same.
  const std::int16_t* const a = narrowed(tap.first);
  const std::int16_t* const b = narrowed(tap.second);
  const std::size_t count = lines_[0].size();
  for (std::size_t i = 0; i < count; ++i) {
    const int sum = (tap.a * a[i] >> 16) + (tap.b * b[i] >> 16);
    out[i] = static_cast<Sample>((sum + 2) >> 2);
  }
}

std::vector<BicubicRows::Taps> BicubicRows::taps_of(int from, int to) {
  std::vector<Taps> out(idx(to));
  for (int i = 0; i < to; ++i) {
    const double at = (i + 0.5) * from / to - 0.5;
    const int floor = static_cast<int>(std::floor(at));
    const float fraction = static_cast<float>(at - floor);
    for (int k = 0; k < static_cast<int>(kTaps); ++k) {
      out[idx(i)].at[idx(k)] = std::clamp(floor - 1 + k, 0, from - 1);
      out[idx(i)].weight[idx(k)] = keys_cubic(fraction + 1 - static_cast<float>(k));
    }
  }
  return out;
}

BicubicRows::BicubicRows(const SamplePlane& src, int width, int height)
    : src_(src), columns_(taps_of(src.width, width)), rows_(taps_of(src.height, height)) {
  for (auto& line : lines_) line.resize(idx(width) * idx(src.channels));
  line_of_.fill(-1);
}

const float* BicubicRows::narrowed(int y) noexcept {
  const std::size_t place = idx(y) % kTaps;
  float* const line = lines_[place].data();
  if (line_of_[place] == y) return line;
  line_of_[place] = y;
  const Sample* const row = src_.data + y * src_.stride;
  with_channels(src_.channels, [&]<int kChannels>() {
    float* to = line;
    for (const Taps& taps : columns_) {
      for (int c = 0; c < kChannels; ++c) {
        float sum = 0;
        for (std::size_t k = 0; k < kTaps; ++k) {
          sum += taps.weight[k] * row[std::ptrdiff_t{taps.at[k]} * kChannels + c];
        }
        *to++ = sum;
      }
    }
  });
  return line;
}

void BicubicRows::row(int y, Sample* out) noexcept {
  const Taps& taps = rows_[idx(y)];
  std::array<const float*, kTaps> from;
  for (std::size_t k = 0; k < kTaps; ++k) from[k] = narrowed(taps.at[k]);
  const std::size_t count = lines_[0].size();
  for (std::size_t i = 0; i < count; ++i) {
    float sum = 0;
    for (std::size_t k = 0; k < kTaps; ++k) sum += taps.weight[k] * from[k][i];
    out[i] = static_cast<Sample>(std::clamp(std::nearbyint(sum), 0.0f, 255.0f));
  }
}

namespace {

std::variant<BilinearRows, NearestRows, BicubicRows> rows_of(const SamplePlane& src, int width,
                                                             int height, ResizeMode mode) {
  if (mode == ResizeMode::nearest) return NearestRows(src, width, height);
  if (mode == ResizeMode::bicubic) return BicubicRows(src, width, height);
  return BilinearRows(src, width, height);
}

}  // namespace

ResizedRows::ResizedRows(const SamplePlane& src, int width, int height, ResizeMode mode)
    : rows_(rows_of(src, width, height, mode)) {}

}  // namespace stowage
