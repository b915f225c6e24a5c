// SPDX-License-Identifier: Apache-2.0
// Planes with more rows and columns, or fewer.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/checked.h"
#include "base/index.h"
#include "base/scalar.h"
#include "base/text.h"
#include "mat/shape.h"

namespace stowage {

namespace {

/// For each position of the new extent that of the old one, or -1: the constant.
std::vector<int> positions(int extent, int before, int after, int type) {
  if (before < 0 || after < 0) {
    fail(ErrorCode::usage, "a border of ", before, " and ", after, " elements");
  }
  if (type == BORDER_REFLECT && std::max(before, after) >= std::max(extent, 1)) {
    fail(ErrorCode::usage, "a mirrored border of ", std::max(before, after), " around ", extent,
         " elements");
  }
  const std::int64_t all = std::int64_t{extent} + before + after;
  if (all > INT32_MAX) fail(ErrorCode::limit, "an extent of ", all, " is more than a Mat can have");
  std::vector<int> out(idx(all));
  for (int i = 0; i < static_cast<int>(all); ++i) {
    const int at = i - before;
    const bool inside = at >= 0 && at < extent;
    int from = at;
    if (!inside && type == BORDER_CONSTANT) from = -1;
    if (!inside && type == BORDER_REPLICATE) from = std::clamp(at, 0, extent - 1);
    if (!inside && type == BORDER_REFLECT) from = at < 0 ? -at : 2 * (extent - 1) - at;
    out[idx(i)] = from;
  }
  return out;
}

/// An element whose scalars all have the value.
std::vector<std::byte> element_of(const MatShape& s, float value) {
  std::vector<std::byte> out(s.elemsize);
  const std::size_t lane = s.lane_bytes();
  std::array<std::byte, 4> scalar{};
  if (lane == 4) {
    std::memcpy(scalar.data(), &value, 4);
  } else if (lane == 2) {
    const std::uint16_t half = f32_to_f16(value);
    std::memcpy(scalar.data(), &half, 2);
  } else if (lane == 1) {
    scalar[0] = static_cast<std::byte>(real_to_integer<std::int16_t>(value));
  } else if (value != 0) {
    fail(ErrorCode::usage, "a border of ", value, " for scalars of ", lane, " bytes");
  }
  for (std::size_t k = 0; k < s.elemsize && lane <= 4; ++k) out[k] = scalar[k % lane];
  return out;
}

std::byte* plane_of(const Mat& m, int sample, int channel, int slice) {
  const std::size_t element =
      m.nstep * idx(sample) + m.cstep * idx(channel) + idx(m.w) * idx(m.h) * idx(slice);
  return static_cast<std::byte*>(m.data) + element * m.elemsize;
}

/// Calls f(from, to) with the corresponding slices of both.
template <class F>
void each_slice(const Mat& from, const Mat& to, F&& f) {
  for (int sample = 0; sample < to.n; ++sample) {
    for (int q = 0; q < to.c; ++q) {
      for (int z = 0; z < to.d; ++z) f(plane_of(from, sample, q, z), plane_of(to, sample, q, z));
    }
  }
}

Mat resized(const Mat& from, int w, int h) {
  MatShape s = from;
  s.w = w;
  s.h = h;
  s.cstep = s.nstep = 0;
  return new_mat(s);
}

}  // namespace

void copy_make_border(const Mat& src, Mat& dst, int top, int bottom, int left, int right, int type,
                      float value) {
  if (type < BORDER_CONSTANT || type > BORDER_REFLECT) {
    fail(ErrorCode::usage, "border type ", type, " is unknown");
  }
  const Mat from = src;  // dst may be src
  if (from.empty()) fail(ErrorCode::usage, "a border around an empty Mat");
  if (from.dims == 1 && (top != 0 || bottom != 0)) {
    fail(ErrorCode::usage, "rows around a Mat of dims 1");
  }
  const std::vector<int> rows = positions(from.h, top, bottom, type);
  const std::vector<int> columns = positions(from.w, left, right, type);
  const std::vector<std::byte> constant = element_of(from, value);
  const Mat to = resized(from, static_cast<int>(columns.size()), static_cast<int>(rows.size()));
  const std::size_t size = from.elemsize, inner = idx(from.w) * size;
  each_slice(from, to, [&](const std::byte* source, std::byte* target) {
    for (const int y : rows) {
      const std::byte* const row = source + idx(std::max(y, 0)) * inner;
      const auto border = [&](std::size_t x) {
        const bool filled = y < 0 || columns[x] < 0;
        std::memcpy(target + x * size, filled ? constant.data() : row + idx(columns[x]) * size,
                    size);
      };
      for (std::size_t x = 0; x < idx(left); ++x) border(x);
      if (y < 0) {
        for (std::size_t x = idx(left); x < idx(left) + idx(from.w); ++x) border(x);
      } else {
        std::memcpy(target + idx(left) * size, row, inner);
      }
      for (std::size_t x = idx(left) + idx(from.w); x < columns.size(); ++x) border(x);
      target += columns.size() * size;
    }
  });
  dst = to;
}

void copy_cut_border(const Mat& src, Mat& dst, int top, int bottom, int left, int right) {
  const Mat from = src;
  const std::int64_t w = std::int64_t{from.w} - left - right;
  const std::int64_t h = std::int64_t{from.h} - top - bottom;
  if (std::min({top, bottom, left, right}) < 0 || w < 1 || h < 1) {
    fail(ErrorCode::usage, "borders of ", top, ", ", bottom, ", ", left, " and ", right,
         " leave nothing of ", mat_text(from));
  }
  const Mat to = resized(from, static_cast<int>(w), static_cast<int>(h));
  const std::size_t size = from.elemsize, row = idx(from.w) * size, kept = idx(to.w) * size;
  each_slice(from, to, [&](const std::byte* source, std::byte* target) {
    source += idx(top) * row + idx(left) * size;
    for (int y = 0; y < to.h; ++y) {
      std::memcpy(target, source, kept);
      source += row;
      target += kept;
    }
  });
  dst = to;
}

}  // namespace stowage
