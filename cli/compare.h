// SPDX-License-Identifier: Apache-2.0
// Whether two tensors are the same, and if not, in words where.
#pragma once

#include <string>

#include "stowage/tensor.h"

namespace stowage::cli {

struct Tolerance {
  double relative = 1e-3;  ///< of the largest magnitude of the expected tensor
  double absolute = 1e-5;
};

/// Empty when they agree. Floating point: |a - b| <= absolute + relative * max |expected|, NaN
/// equals NaN and infinity itself; everything else exactly. Both row-major, axes by position.
std::string difference(const Tensor& actual, const Tensor& expected, const Tolerance& tolerance);

}  // namespace stowage::cli
