// SPDX-License-Identifier: Apache-2.0
// Planes with more rows and columns, or fewer.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/checked.h"
#include "base/index.h"
#include "base/scalar.h"
#include "base/text.h"
#include "mat/shape.h"

namespace stowage {

namespace {

struct Border {
  int top, bottom, left, right;
};

/// An extent with so much around it.
int extended(int extent, int before, int after, int type) {
  if (before < 0 || after < 0) {
    fail(ErrorCode::usage, "a border of ", before, " and ", after, " elements");
  }
  if (type == BORDER_REFLECT && std::max(before, after) >= std::max(extent, 1)) {
    fail(ErrorCode::usage, "a mirrored border of ", std::max(before, after), " around ", extent,
         " elements");
  }
  const std::int64_t all = std::int64_t{extent} + before + after;
  if (all > INT32_MAX) fail(ErrorCode::limit, "an extent of ", all, " is more than a Mat can have");
  return static_cast<int>(all);
}

/// What is at a position of the old extent, counted from its beginning; -1: the constant.
int source_of(int at, int extent, int type) noexcept {
  if (at >= 0 && at < extent) return at;
  if (type == BORDER_REPLICATE) return std::clamp(at, 0, extent - 1);
  if (type == BORDER_REFLECT) return at < 0 ? -at : extent - 2 - (at - extent);
  return -1;
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
    const float whole = std::trunc(value);
    // Scalars are signed or not; the header does not say.
    if (!(whole >= -128 && whole <= 255)) {
      fail(ErrorCode::usage, "a border of ", value, " for scalars of 1 byte");
    }
    scalar[0] = static_cast<std::byte>(static_cast<int>(whole));
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

/// What is packed along w or h: there borders are counted in scalars.
bool packed_inside(const MatShape& s) { return s.dims < 3 && s.elempack > 1; }

/// In the units in which borders are counted, without steps.
MatShape counted_shape(const MatShape& s) {
  MatShape out = s;
  if (packed_inside(s)) {
    const std::int64_t scalars = std::int64_t{s.packed_extent()} * s.elempack;
    out.packed_extent() = static_cast<int>(scalars);  // as complete() has seen to
    out.elemsize = s.lane_bytes();
    out.elempack = 1;
  }
  out.cstep = out.nstep = 0;
  return out;
}

/// A Mat of dims 1 as its scalars, over the same memory, which it does not keep.
Mat scalars_of(const Mat& m) {
  MatShape s = counted_shape(m);
  s.cstep = m.cstep * idx(m.elempack);
  s.nstep = m.nstep * idx(m.elempack);
  return Mat::wrap(s, m.data);
}

/// f(from, to) fills a Mat of `made`, which is in the units of counted_shape, from one that is
/// likewise; the result is in dst, packed like `from` where that divides.
template <class F>
void by_scalars(const Mat& from, Mat& dst, const MatShape& made, F&& f) {
  made.complete();  // before memory is taken
  if (!packed_inside(from)) {
    const Mat to = target_mat(dst, from, made);
    f(from, to);
    dst = to;
    return;
  }
  MatShape packed = made;
  const bool divides = made.packed_extent() % from.elempack == 0;
  if (divides) {
    packed.packed_extent() /= from.elempack;
    packed.elemsize = from.elemsize;
    packed.elempack = from.elempack;
  }
  if (from.dims == 1) {
    const Mat to = target_mat(dst, from, packed);
    f(scalars_of(from), scalars_of(to));
    dst = to;
    return;
  }
  Mat planar;
  convert_packing(from, planar, 1);
  const Mat to = divides ? new_mat(made) : target_mat(dst, from, made);
  f(planar, to);
  if (divides) {
    convert_packing(to, dst, from.elempack);
  } else {
    dst = to;
  }
}

void make_border(const Mat& from, const Mat& to, const Border& border, int type,
                 const std::byte* constant) {
  const std::size_t size = from.elemsize, inner = idx(from.w) * size;
  const int after = border.left + from.w;
  each_slice(from, to, [&](const std::byte* source, std::byte* target) {
    for (int i = 0; i < to.h; ++i) {
      const int y = source_of(i - border.top, from.h, type);
      const std::byte* const row = source + idx(std::max(y, 0)) * inner;
      const auto fill = [&](int begin, int end) {
        for (int j = begin; j < end; ++j) {
          const int x = y < 0 ? -1 : source_of(j - border.left, from.w, type);
          std::memcpy(target + idx(j) * size, x < 0 ? constant : row + idx(x) * size, size);
        }
      };
      fill(0, border.left);
      if (y < 0) {
        fill(border.left, after);
      } else {
        std::memcpy(target + idx(border.left) * size, row, inner);
      }
      fill(after, to.w);
      target += idx(to.w) * size;
    }
  });
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
  MatShape made = counted_shape(from);
  made.h = extended(made.h, top, bottom, type);
  made.w = extended(made.w, left, right, type);
  const std::vector<std::byte> constant = element_of(made, type == BORDER_CONSTANT ? value : 0);
  by_scalars(from, dst, made, [&](const Mat& inner, const Mat& to) {
    make_border(inner, to, {top, bottom, left, right}, type, constant.data());
  });
}

void copy_cut_border(const Mat& src, Mat& dst, int top, int bottom, int left, int right) {
  const Mat from = src;
  MatShape made = counted_shape(from);
  const std::int64_t w = std::int64_t{made.w} - left - right;
  const std::int64_t h = std::int64_t{made.h} - top - bottom;
  if (from.empty() || std::min({top, bottom, left, right}) < 0 || w < 1 || h < 1) {
    fail(ErrorCode::usage, "borders of ", top, ", ", bottom, ", ", left, " and ", right,
         " leave nothing of ", mat_text(from));
  }
  made.w = static_cast<int>(w);
  made.h = static_cast<int>(h);
  by_scalars(from, dst, made, [&](const Mat& outer, const Mat& to) {
    const std::size_t size = outer.elemsize, row = idx(outer.w) * size, kept = idx(to.w) * size;
    each_slice(outer, to, [&](const std::byte* source, std::byte* target) {
      source += idx(top) * row + idx(left) * size;
      for (int y = 0; y < to.h; ++y) {
        std::memcpy(target, source, kept);
        source += row;
        target += kept;
      }
    });
  });
}

}  // namespace stowage
