// SPDX-License-Identifier: Apache-2.0
// Softmax and its logarithm along axes of any layout.
#pragma once

#include <cstdint>

#include "kernels/kernel.h"

namespace stowage {

struct SoftmaxParams {
  Mapping mapping;  ///< of x and y
  int axis = 0;
  bool flatten = false;  ///< along all axes from `axis` on
  int workers = 1;

  bool along(int i) const { return i == axis || (flatten && i > axis); }

  void fields(Archive& a) {
    a("mapping", mapping)("axis", axis)("flatten", flatten)("workers", workers);
  }
};

/// softmax and log_softmax, for axes that are one strided loop, and for those that are not.
extern const KernelDef kSoftmaxStrided[2], kSoftmaxGathered[2];

/// The axes are one loop that can be walked in rows or in columns.
bool softmax_in_strides(const SoftmaxParams& p);

std::int64_t softmax_row_elements(const SoftmaxParams& p);

/// Scratch of one worker that gathers.
std::int64_t softmax_row_floats(const SoftmaxParams& p);

/// About how many contiguous elements a gathered row is made of: the elements along the axes that
/// are neighbours in memory.
double softmax_gathered_run(const SoftmaxParams& p);

}  // namespace stowage
