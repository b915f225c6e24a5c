// SPDX-License-Identifier: Apache-2.0
// Whether two tensors are the same, and if not, in words where.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "stowage/tensor.h"

namespace CLI {
class App;
}

namespace stowage::cli {

struct Tolerance {
  double relative = 1e-3;  ///< of the largest magnitude of the expected tensor
  double absolute = 1e-5;
};

/// Empty when they agree. Floating point: |a - b| <= absolute + relative * max |expected|, NaN
/// equals NaN and infinity itself; everything else exactly. Both row-major, axes by position.
std::string difference(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance);

/// How much two tensors of as many elements are alike, whatever their dtypes.
struct Closeness {
  /// Cosine of the angle between them, MACE's measure: it does not see a common factor. 1 when
  /// both are zero; NaN where one has a number and the other none.
  double similarity = 1;
  /// Power of the expected elements over that of the differences, infinite when they are equal.
  double sqnr_db = 0;
};

/// Elements that are the same infinity, or no number on both sides, do not count.
Closeness closeness(const Tensor& actual, const Tensor& expected);

/// Empty where the similarity reaches the threshold, else "has a similarity of ...". One that is
/// no number does not.
std::string dissimilarity(const Closeness& closeness, std::string_view other, double threshold);

/// As `difference`, but floating-point tensors must reach this similarity.
std::string dissimilarity(const Tensor& actual, const Tensor& expected, double threshold);

/// How --rtol, --atol and --cosine say that tensors are compared.
struct Comparison {
  std::optional<double> rtol, atol;  ///< not said: those of Tolerance
  std::optional<double> cosine;      ///< in place of both

  bool said() const { return rtol.has_value() || atol.has_value() || cosine.has_value(); }
};

void add_comparison_options(CLI::App* command, Comparison& comparison);

/// Throws Error(usage) for numbers that are not possible.
void check_comparison(const Comparison& comparison);

/// Empty, or in words what is wrong: `difference`, or `dissimilarity` where there is a cosine.
std::string compared(const Tensor& actual, const Tensor& expected, const Comparison& comparison);

}  // namespace stowage::cli
