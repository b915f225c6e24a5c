// SPDX-License-Identifier: Apache-2.0
// Work turned into predicted microseconds.
#pragma once

#include <cstddef>

#include "graph/op_def.h"
#include "stowage/convert.h"
#include "stowage/model.h"

namespace stowage::plan {

/// A kernel that does `flops` at `efficiency` of the peak and touches `bytes`.
double kernel_us(const Rates& rates, const Target& target, double flops, double efficiency,
                 double bytes);

/// The reference of a node whose best kernel does `flops` and whose outputs have `elements`.
double reference_us(const Rates& rates, double flops, double elements);

double conversion_us(const Rates& rates, const Target& target, const Conversion& conversion);

}  // namespace stowage::plan
