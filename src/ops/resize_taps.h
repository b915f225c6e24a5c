// SPDX-License-Identifier: Apache-2.0
// Which elements of the input, with which weights, make each index of a resized axis.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "ops/shapes.h"

namespace stowage {

struct AxisTaps {
  int count = 1;                    ///< taps an output index
  std::vector<std::int64_t> index;  ///< [out][count], clamped into the input
  std::vector<float> weight;        ///< likewise; they sum to 1
  std::vector<bool> outside;        ///< [out]: extrapolated instead
  bool identity = true;             ///< output index i is input index i
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
  if (mode == "tf_half_pixel_for_nn") return unscale(a, x + 0.5);
  if (mode == "pytorch_half_pixel") return a.out == 1 ? 0 : unscale(a, x + 0.5) - 0.5;
  if (mode == "half_pixel_symmetric") {
    const double adjustment = static_cast<double>(a.out) / out;
    return in / 2 * (1 - adjustment) + unscale(a, x + 0.5) - 0.5;
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

}  // namespace resize_detail

/// The taps of every axis of a resize node. Its output must have elements.
inline std::vector<AxisTaps> resize_taps(const NodeRef& node) {
  using namespace resize_detail;
  const Attributes& attrs = node.attrs();
  const Shape &x = node.shape(0), &y = node.output().shape;
  const std::string mode = attrs.string("mode", "nearest");
  const std::string place = attrs.string("coordinate_transformation_mode", "half_pixel");
  const std::string rounding = attrs.string("nearest_mode", "round_prefer_floor");
  const Floats scales = attrs.reals("scales"), roi = attrs.reals("roi");
  const bool exact = attrs.integer("exact_sizes", 0) != 0;
  const bool exclude = attrs.integer("exclude_outside", 0) != 0;
  const bool antialias = attrs.integer("antialias", 0) != 0;
  const auto a = static_cast<double>(attrs.real("cubic_coeff_a", -0.75f));
  std::vector<AxisTaps> taps(at(x.rank()));
  for (int k = 0; k < x.rank(); ++k) {
    AxisTaps& t = taps[at(k)];
    const Axis1d axis{x[k],
                      y[k],
                      scales[at(k)],
                      exact,
                      static_cast<double>(roi[at(k)]),
                      static_cast<double>(roi[at(k + x.rank())])};
    // An axis that keeps its extent has one tap, unless a crop moves it.
    const bool kept = axis.in == axis.out && axis.scale == 1.0f &&
                      (place != "tf_crop_and_resize" || (axis.roi_begin == 0 && axis.roi_end == 1));
    // Where it shrinks, antialiasing widens the kernel by as much.
    const double widen = antialias ? std::min(1.0, static_cast<double>(axis.scale)) : 1.0;
    const double radius = mode == "cubic" ? 2 : 1;
    const int before = static_cast<int>(std::floor(-radius / widen)) + 1;
    t.count = kept || mode == "nearest" ? 1 : 2 - 2 * before;
    t.identity = kept;
    for (std::int64_t i = 0; i < axis.out; ++i) {
      const double from = kept ? static_cast<double>(i) : original(axis, i, place);
      const double base = std::floor(from), ratio = from - base;
      t.outside.push_back(place == "tf_crop_and_resize" && !kept &&
                          (from < 0 || from > static_cast<double>(axis.in - 1)));
      const auto clamped = [&](double v) {
        return static_cast<std::int64_t>(std::clamp(v, 0.0, static_cast<double>(axis.in - 1)));
      };
      if (t.count == 1) {
        const bool up = rounding == "floor"               ? false
                        : rounding == "ceil"              ? ratio > 0
                        : rounding == "round_prefer_ceil" ? ratio >= 0.5
                                                          : ratio > 0.5;
        t.index.push_back(clamped(base + (up && !kept ? 1 : 0)));
        t.weight.push_back(1.0f);
        continue;
      }
      std::vector<double> weights;
      double sum = 0;
      for (int j = before; j < before + t.count; ++j) {
        const double distance = (static_cast<double>(j) - ratio) * widen;
        double w = mode == "cubic" ? cubic(distance, a) : std::max(0.0, 1 - std::fabs(distance));
        const double p = base + j;
        if (exclude && (p < 0 || p > static_cast<double>(axis.in - 1))) w = 0;
        weights.push_back(w);
        sum += w;
        t.index.push_back(clamped(p));
      }
      const bool normalise = (exclude || antialias) && sum != 0;
      for (double w : weights) t.weight.push_back(static_cast<float>(normalise ? w / sum : w));
    }
  }
  return taps;
}

}  // namespace stowage
