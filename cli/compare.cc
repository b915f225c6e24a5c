// SPDX-License-Identifier: Apache-2.0
#include "cli/compare.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/text.h"
#include "cli/data.h"

namespace stowage::cli {
namespace {

bool is_real(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f64;
}

/// |a - b|; infinity where only one of the two is a number, or where infinities differ.
double distance(double a, double b) {
  if (std::isnan(a) && std::isnan(b)) return 0;
  if (a == b) return 0;
  if (!std::isfinite(a) || !std::isfinite(b)) return INFINITY;
  return std::fabs(a - b);
}

/// "[0, 3, 1]": coordinates of a row-major index.
std::string coordinates(std::int64_t index, const Shape& shape) {
  std::vector<std::int64_t> x(static_cast<std::size_t>(shape.rank()));
  for (int d = shape.rank() - 1; d >= 0; --d) {
    x[static_cast<std::size_t>(d)] = index % shape[d];
    index /= shape[d];
  }
  return text(std::span<const std::int64_t>(x));
}

/// Of types and shapes.
std::string other_kind(const Tensor& actual, const Tensor& expected) {
  if (actual.dtype() != expected.dtype()) {
    return text("is ", dtype_name(actual.dtype()), ", expected ", dtype_name(expected.dtype()));
  }
  const std::span<const std::int64_t> have = actual.shape().extents();
  const std::span<const std::int64_t> want = expected.shape().extents();
  if (!std::equal(have.begin(), have.end(), want.begin(), want.end())) {
    return text("has shape ", have, ", expected ", want);
  }
  return "";
}

}  // namespace

std::string difference(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance) {
  if (std::string other = other_kind(actual, expected); !other.empty()) return other;
  const std::vector<double> a = values_of(actual), b = values_of(expected);
  const bool real = is_real(actual.dtype());
  double allowed = 0;
  if (real) {
    double largest = 0;
    for (const double v : b) {
      if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
    }
    allowed = tolerance.absolute + tolerance.relative * largest;
  }
  const auto width = static_cast<std::size_t>(dtype_bytes(actual.dtype()));
  std::size_t worst = 0, wrong = 0;
  double error = -1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    double d = distance(a[i], b[i]);
    if (!real) {
      // Large integers that differ may be the same double.
      if (std::memcmp(actual.data() + i * width, expected.data() + i * width, width) == 0) continue;
      d = std::max(d, 1.0);
    } else if (d <= allowed) {
      continue;
    }
    ++wrong;
    if (d > error) {
      error = d;
      worst = i;
    }
  }
  if (wrong == 0) return "";
  return fmt::format(
      "at {} is {:.9g}, expected {:.9g}; largest error {:g}, allowed {:g}, {} of {} "
      "elements differ",
      coordinates(static_cast<std::int64_t>(worst), actual.shape()), a[worst], b[worst], error,
      allowed, wrong, a.size());
}

Closeness closeness(const Tensor& actual, const Tensor& expected) {
  const std::vector<double> a = values_of(actual), b = values_of(expected);
  const auto largest = [](const std::vector<double>& values) {
    double most = 0;
    for (const double v : values) {
      if (std::isfinite(v)) most = std::max(most, std::fabs(v));
    }
    return most == 0 ? 1 : most;
  };
  // One scale for both, or squares of f64 could exceed what a double holds.
  const double scale = std::max(largest(a), largest(b));
  double dot = 0, aa = 0, bb = 0, noise = 0;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) {
      if (distance(a[i], b[i]) == 0) continue;
      return {NAN, -INFINITY};
    }
    const double x = a[i] / scale, y = b[i] / scale;
    dot += x * y;
    aa += x * x;
    bb += y * y;
    noise += (x - y) * (x - y);
  }
  Closeness out;
  out.similarity = aa == 0 && bb == 0   ? 1
                   : aa == 0 || bb == 0 ? 0
                                        : dot / std::sqrt(aa) / std::sqrt(bb);
  out.sqnr_db = noise == 0 ? INFINITY : 10 * std::log10(bb / noise);
  return out;
}

std::string dissimilarity(const Closeness& closeness, std::string_view other, double threshold) {
  if (closeness.similarity >= threshold) return "";
  return fmt::format("has a similarity of {:.9g} to {}, below {:g}", closeness.similarity, other,
                     threshold);
}

std::string dissimilarity(const Tensor& actual, const Tensor& expected, double threshold) {
  if (std::string other = other_kind(actual, expected); !other.empty()) return other;
  if (!is_real(actual.dtype())) return difference(actual, expected, Tolerance{0, 0});
  return dissimilarity(closeness(actual, expected), "what is expected", threshold);
}

void add_comparison_options(CLI::App* command, Comparison& comparison) {
  command->add_option("--rtol", comparison.rtol, "Relative tolerance (default 1e-3)")
      ->type_name("X");
  command->add_option("--atol", comparison.atol, "Absolute tolerance (default 1e-5)")
      ->type_name("X");
  command
      ->add_option("--cosine", comparison.cosine,
                   "The cosine similarity that floating-point outputs must reach, instead of "
                   "tolerances; 0.995 suits half precision")
      ->type_name("X");
}

void check_comparison(const Comparison& comparison) {
  if (!(comparison.rtol.value_or(0) >= 0) || !(comparison.atol.value_or(0) >= 0)) {
    fail(ErrorCode::usage, "--rtol and --atol must be 0 or more");
  }
  if (comparison.cosine.has_value() && !(*comparison.cosine > 0 && *comparison.cosine <= 1)) {
    fail(ErrorCode::usage, "--cosine must be above 0 and up to 1");
  }
}

std::string compared(const Tensor& actual, const Tensor& expected, const Comparison& comparison) {
  if (comparison.cosine.has_value()) return dissimilarity(actual, expected, *comparison.cosine);
  Tolerance tolerance;
  tolerance.relative = comparison.rtol.value_or(tolerance.relative);
  tolerance.absolute = comparison.atol.value_or(tolerance.absolute);
  return difference(actual, expected, tolerance);
}

}  // namespace stowage::cli
