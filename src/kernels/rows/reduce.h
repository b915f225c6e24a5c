// SPDX-License-Identifier: Apache-2.0
// Reductions along axes, and where along an axis the largest or the smallest element is.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/numbers.h"
#include "kernels/copy/digit_loops.h"
#include "kernels/kernel.h"

namespace stowage {

struct ReduceParams {
  Mapping to;
  Follower from;
  Ints axes;

  void fields(Archive& a) { a("to", to)("from", from)("axes", axes); }

  bool along(int i) const { return std::ranges::binary_search(axes, i); }

  /// Elements that become one.
  std::int64_t count() const {
    std::int64_t n = 1;
    for (const std::int64_t axis : axes) n *= from.mapping.shape()[static_cast<int>(axis)];
    return n;
  }
};

extern const KernelDef kReduceSum, kReduceMean, kReduceL1, kReduceL2, kReduceSumSquare, kReduceMax,
    kReduceMin;

/// How the kernel finds the elements: not at all, in short pieces, or in long runs or columns.
enum class ReductionFit { none, pieces, runs };

ReductionFit reduction_fit(const ReduceParams& p);

/// Some axis that is reduced has a tail.
bool reduces_tails(const ReduceParams& p);

struct ArgParams {
  ReduceParams reduce;
  bool last = false;  ///< of equal elements the last, not the first

  void fields(Archive& a) { a("reduce", reduce)("last", last); }
};

extern const KernelDef kArgMax, kArgMin;

}  // namespace stowage
