// SPDX-License-Identifier: Apache-2.0
// Which elements of the input, with which weights, make each index of a resized axis.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/archive.h"
#include "base/numbers.h"

namespace stowage {

struct AxisTaps {
  int count = 1;                    ///< taps an output index
  std::vector<std::int64_t> index;  ///< [out][count], clamped into the input
  std::vector<float> weight;        ///< likewise; they sum to 1
  std::vector<bool> outside;        ///< [out]: extrapolated instead
};

/// What a resize says, axis by axis.
struct ResizeRule {
  std::string mode, place, rounding;
  Ints in, out;
  Floats scales, roi;
  bool exact = false, exclude = false, antialias = false;
  float cubic_a = -0.75f;

  void fields(Archive& a) {
    a("mode", mode)("place", place)("rounding", rounding)("in", in)("out", out);
    a("scales", scales)("roi", roi)("exact", exact)("exclude", exclude);
    a("antialias", antialias)("cubic_a", cubic_a);
  }
};

namespace resize_detail {

struct Axis1d {
  std::int64_t in = 0, out = 0;
  float scale = 1;
  bool exact = false;  ///< the scale is out / in
  double roi_begin = 0, roi_end = 1;
};

/// x / scale, or the quotient of extents where it is one: then integers come out exact.
inline double unscale(const Axis1d& a, double x) {
  if (a.exact) return x * static_cast<double>(a.in) / static_cast<double>(a.out);
  return static_cast<double>(static_cast<float>(x) / a.scale);
}

/// The place in the input, as the mode defines it, of output index i.
inline double original(const Axis1d& a, std::int64_t i, std::string_view mode) {
  const auto x = static_cast<double>(i), in = static_cast<double>(a.in);
  // The extent before it was rounded down.
  const double out = a.exact ? static_cast<double>(a.out) : static_cast<double>(a.scale) * in;
  if (mode == "align_corners") return out == 1 ? 0 : x * (in - 1) / (out - 1);
  if (mode == "asymmetric") return unscale(a, x);
  if (mode == "asymmetric_product") {
    const float step = a.exact ? static_cast<float>(a.in) / static_cast<float>(a.out) : 1 / a.scale;
    return static_cast<double>(static_cast<float>(x) * step);
  }
  if (mode == "tf_half_pixel_for_nn") return unscale(a, x + 0.5);
  if (mode == "pytorch_half_pixel") return a.out == 1 ? 0 : unscale(a, x + 0.5) - 0.5;
  // From the centre of the output, which is that of the input: nothing is rounded there.
  if (mode == "half_pixel_symmetric") {
    const double from_centre = x + 0.5 - static_cast<double>(a.out) / 2;
    return (in - 1) / 2 + (a.exact ? unscale(a, from_centre) : from_centre * in / out);
  }
  if (mode == "tf_crop_and_resize") {
    const double length = (a.roi_end - a.roi_begin) * (in - 1);
    return a.roi_begin * (in - 1) + (out == 1 ? length / 2 : x * length / (out - 1));
  }
  return unscale(a, x + 0.5) - 0.5;
}

/// Keys' cubic at distance x.
inline double cubic(double x, double a) {
  x = std::fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

inline Axis1d axis_of(const ResizeRule& r, std::size_t k) {
  return {r.in[k],
          r.out[k],
          r.scales[k],
          r.exact,
          static_cast<double>(r.roi[k]),
          static_cast<double>(r.roi[k + r.in.size()])};
}

/// Where it shrinks, antialiasing widens the kernel by as much.
inline double widening(const ResizeRule& r, std::size_t k) {
  return r.antialias ? std::min(1.0, static_cast<double>(r.scales[k])) : 1.0;
}

/// The first of the taps of a blend, counted from the one at or before the place.
inline int first_tap(const ResizeRule& r, std::size_t k) {
  const double radius = r.mode == "cubic" ? 2 : 1;
  return static_cast<int>(std::floor(-radius / widening(r, k))) + 1;
}

}  // namespace resize_detail

/// Output index i of the axis is input index i.
inline bool keeps_axis(const ResizeRule& r, std::size_t k) {
  const auto axis = resize_detail::axis_of(r, k);
  return axis.in == axis.out && axis.scale == 1.0f &&
         (r.place != "tf_crop_and_resize" || (axis.roi_begin == 0 && axis.roi_end == 1));
}

/// Taps an output index.
inline int count_taps(const ResizeRule& r, std::size_t k) {
  return keeps_axis(r, k) || r.mode == "nearest" ? 1 : 2 - 2 * resize_detail::first_tap(r, k);
}

/// Output index i is extrapolated.
inline bool is_outside(const ResizeRule& r, std::size_t k, std::int64_t i) {
  if (r.place != "tf_crop_and_resize" || keeps_axis(r, k)) return false;
  const double from = resize_detail::original(resize_detail::axis_of(r, k), i, r.place);
  return from < 0 || from > static_cast<double>(r.in[k] - 1);
}

/// Some output index is extrapolated. Places are even along an axis: the ends tell.
inline bool extrapolates(const ResizeRule& r) {
  for (std::size_t k = 0; k < r.in.size(); ++k) {
    if (is_outside(r, k, 0) || is_outside(r, k, r.out[k] - 1)) return true;
  }
  return false;
}

/// The taps of one axis. The output must have elements.
inline AxisTaps axis_taps(const ResizeRule& r, std::size_t k) {
  using namespace resize_detail;
  const Axis1d axis = axis_of(r, k);
  const bool kept = keeps_axis(r, k);
  const double widen = widening(r, k);
  const int before = first_tap(r, k);
  const auto last = static_cast<double>(axis.in - 1);
  const auto clamped = [&](double v) {
    return static_cast<std::int64_t>(std::clamp(v, 0.0, last));
  };
  AxisTaps t;
  t.count = count_taps(r, k);
  for (std::int64_t i = 0; i < axis.out; ++i) {
    const double from = kept ? static_cast<double>(i) : original(axis, i, r.place);
    const double base = std::floor(from), ratio = from - base;
    t.outside.push_back(is_outside(r, k, i));
    if (t.count == 1) {
      const bool up = r.rounding == "floor"               ? false
                      : r.rounding == "ceil"              ? ratio > 0
                      : r.rounding == "round_prefer_ceil" ? ratio >= 0.5
                                                          : ratio > 0.5;
      t.index.push_back(clamped(base + (up && !kept ? 1 : 0)));
      t.weight.push_back(1.0f);
      continue;
    }
    std::vector<double> weights;
    double sum = 0;
    for (int j = before; j < before + t.count; ++j) {
      const double distance = (static_cast<double>(j) - ratio) * widen;
      double w = r.mode == "cubic" ? cubic(distance, static_cast<double>(r.cubic_a))
                                   : std::max(0.0, 1 - std::fabs(distance));
      const double p = base + j;
      if (r.exclude && (p < 0 || p > last)) w = 0;
      weights.push_back(w);
      sum += w;
      t.index.push_back(clamped(p));
    }
    const bool normalise = (r.exclude || r.antialias) && sum != 0;
    for (double w : weights) t.weight.push_back(static_cast<float>(normalise ? w / sum : w));
  }
  return t;
}

inline std::vector<AxisTaps> resize_taps(const ResizeRule& r) {
  std::vector<AxisTaps> taps;
  for (std::size_t k = 0; k < r.in.size(); ++k) taps.push_back(axis_taps(r, k));
  return taps;
}

}  // namespace stowage
