// SPDX-License-Identifier: Apache-2.0
// Work turned into predicted microseconds.
#pragma once

#include <cstddef>

#include "graph/op_def.h"
#include "stowage/convert.h"

namespace stowage::plan {

/// Rates of a machine. The defaults are round numbers between a laptop and a server core;
/// only their ratios decide between layouts.
struct Rates {
  double gflops_per_lane = 8;      ///< of one thread: two fused multiply-adds a cycle at 2 GHz
  double kernel_gb_per_s = 12;     ///< bytes that a kernel reads and writes, one thread
  double copy_gb_per_s = 12;       ///< a conversion that copies runs
  double shuffle_gb_per_s = 8;     ///< a conversion that transposes or interleaves
  double generic_gb_per_s = 1;     ///< a conversion that moves single elements
  double reference_elements_per_us = 100;  ///< what a reference writes
  double reference_gflops = 1;
  double call_us = 0.5;            ///< of a step, whatever it does
};

/// A kernel that does `flops` at `efficiency` of the peak and touches `bytes`.
double kernel_us(const Rates& rates, const Target& target, double flops, double efficiency,
                 double bytes);

/// The reference of a node whose best kernel does `flops` and whose outputs have `elements`.
double reference_us(const Rates& rates, double flops, double elements);

double conversion_us(const Rates& rates, const Target& target, const Conversion& conversion);

}  // namespace stowage::plan
