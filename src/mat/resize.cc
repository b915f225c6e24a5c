// SPDX-License-Identifier: Apache-2.0
// Float Mats of other widths and heights, as ncnn's Interp makes them.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/index.h"
#include "base/text.h"
#include "mat/resized_rows.h"
#include "mat/shape.h"

namespace stowage {

namespace {

constexpr std::size_t kMostTaps = 4;

/// What an output position is made of.
struct Taps {
  std::array<int, kMostTaps> at{};
  std::array<float, kMostTaps> weight{};
};

std::size_t tap_count(ResizeMode mode) {
  return mode == ResizeMode::nearest ? 1 : mode == ResizeMode::bilinear ? 2 : kMostTaps;
}

std::vector<Taps> taps_of(int from, int to, ResizeMode mode) {
  std::vector<Taps> out(idx(to));
  const double scale = static_cast<double>(from) / to;
  const float corner_scale = static_cast<float>(from) / static_cast<float>(to);
  for (int i = 0; i < to; ++i) {
    Taps& taps = out[idx(i)];
    if (mode == ResizeMode::nearest) {
      // From the corner of a pixel, not from its centre.
      taps = {{std::min(static_cast<int>(static_cast<float>(i) * corner_scale), from - 1)}, {1}};
      continue;
    }
    auto fraction = static_cast<float>((i + 0.5) * scale - 0.5);
    const int floor = static_cast<int>(std::floor(fraction));
    fraction -= static_cast<float>(floor);
    const int first = mode == ResizeMode::bilinear ? floor : floor - 1;
    for (std::size_t k = 0; k < tap_count(mode); ++k) {
      const auto distance = static_cast<float>(first + static_cast<int>(k) - floor) - fraction;
      taps.at[k] = std::clamp(first + static_cast<int>(k), 0, from - 1);
      taps.weight[k] =
          mode == ResizeMode::bilinear ? 1 - std::fabs(distance) : keys_cubic(distance);
    }
  }
  return out;
}

/// out[i] = the sum of weights times from[k][i].
void blend(const std::array<const float*, kMostTaps>& from,
           const std::array<float, kMostTaps>& weight, std::size_t taps, std::size_t count,
           float* out) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    float sum = 0;
    for (std::size_t k = 0; k < taps; ++k) sum += weight[k] * from[k][i];
    out[i] = sum;
  }
}

/// Rows of a plane, each narrowed once while it is needed.
struct Lines {
  Lines(const std::vector<Taps>& across, std::size_t tap_count, std::size_t lane_count)
      : columns(across), taps(tap_count), lanes(lane_count) {
    for (std::size_t k = 0; k < taps; ++k) lines[k].resize(columns.size() * lanes);
  }

  const float* line(const float* row, int y) {
    const std::size_t place = idx(y) % taps;
    float* const out = lines[place].data();
    if (row_of[place] == row) return out;
    row_of[place] = row;
    for (std::size_t x = 0; x < columns.size(); ++x) {
      std::array<const float*, kMostTaps> from{};
      for (std::size_t k = 0; k < taps; ++k) from[k] = row + idx(columns[x].at[k]) * lanes;
      blend(from, columns[x].weight, taps, lanes, out + x * lanes);
    }
    return out;
  }

  const std::vector<Taps>& columns;
  std::size_t taps, lanes;
  std::array<std::vector<float>, kMostTaps> lines;
  std::array<const float*, kMostTaps> row_of{};
};

/// dims 1: each scalar as a plane.
Mat spread(const Mat& from, int w, int h) {
  Mat planar;
  convert_packing(from, planar, 1);
  MatShape shape = MatShape::of(w, h, planar.w);
  shape.n = planar.n;
  const Mat out = new_mat(shape);
  for (int sample = 0; sample < out.n; ++sample) {
    const Mat scalars = planar.batch(sample), planes = out.batch(sample);
    for (int q = 0; q < out.c; ++q) planes.channel(q).fill(scalars.at<float>(q));
  }
  return out;
}

void resize(const Mat& src, Mat& dst, int w, int h, ResizeMode mode) {
  const Mat from = src;  // dst may be src
  if (from.empty() || from.dims > 3 || from.lane_bytes() != sizeof(float) || w < 1 || h < 1) {
    fail(ErrorCode::usage, "a Mat of dims ", from.dims, ", ", mat_text(from), " is not resized to ",
         w, " x ", h);
  }
  if (from.dims == 1) {
    dst = spread(from, w, h);
    return;
  }
  MatShape shape = from;
  shape.w = w;
  if (from.dims == 3) shape.h = h;
  shape.cstep = shape.nstep = 0;
  const Mat to = target_mat(dst, from, shape);
  const std::vector<Taps> columns = taps_of(from.w, to.w, mode), rows = taps_of(from.h, to.h, mode);
  const std::size_t taps = tap_count(mode), lanes = idx(from.elempack);
  const std::size_t in_row = idx(from.w) * lanes, out_row = idx(to.w) * lanes;
  Lines lines(columns, taps, lanes);
  for (std::int64_t plane = 0; plane < std::int64_t{to.n} * to.c; ++plane) {
    const auto start = [&](const Mat& m) {
      return static_cast<float*>(m.data) +
             (m.nstep * idx(plane / to.c) + m.cstep * idx(plane % to.c)) * lanes;
    };
    const float* const source = start(from);
    float* target = start(to);
    for (int y = 0; y < to.h; ++y, target += out_row) {
      // Rows of dims 2 are channels.
      const Taps alone{{y}, {1}};
      const Taps& row = from.dims == 2 ? alone : rows[idx(y)];
      const std::size_t count = from.dims == 2 ? 1 : taps;
      std::array<const float*, kMostTaps> given{};
      for (std::size_t k = 0; k < count; ++k) {
        given[k] = lines.line(source + idx(row.at[k]) * in_row, row.at[k]);
      }
      blend(given, row.weight, count, out_row, target);
    }
  }
  dst = to;
}

}  // namespace

void resize_nearest(const Mat& src, Mat& dst, int w, int h) {
  resize(src, dst, w, h, ResizeMode::nearest);
}

void resize_bilinear(const Mat& src, Mat& dst, int w, int h) {
  resize(src, dst, w, h, ResizeMode::bilinear);
}

void resize_bicubic(const Mat& src, Mat& dst, int w, int h) {
  resize(src, dst, w, h, ResizeMode::bicubic);
}

}  // namespace stowage
