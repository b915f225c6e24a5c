// SPDX-License-Identifier: Apache-2.0
#include "plan/cost.h"

#include <algorithm>

namespace stowage::plan {

namespace {

/// Threads share the memory, not the arithmetic.
double bandwidth_scale(const Target& target) { return std::min(target.threads, 4); }

}  // namespace

double kernel_us(const Rates& rates, const Target& target, double flops, double efficiency,
                 double bytes) {
  const double peak = rates.gflops_per_lane * 1e3 * target.lanes * target.threads;
  const double compute = flops / (peak * std::max(efficiency, 0.001));
  const double memory = bytes / (rates.kernel_gb_per_s * 1e3 * bandwidth_scale(target));
  return rates.call_us + std::max(compute, memory);
}

double reference_us(const Rates& rates, double flops, double elements) {
  return rates.call_us + elements / rates.reference_elements_per_us +
         flops / (rates.reference_gflops * 1e3);
}

double conversion_us(const Rates& rates, const Target& target, const Conversion& conversion) {
  double rate = rates.shuffle_gb_per_s;
  switch (conversion.speed()) {
    case Conversion::Speed::none:
      return 0;
    case Conversion::Speed::copy:
      rate = rates.copy_gb_per_s;
      break;
    case Conversion::Speed::single:
      rate = rates.generic_gb_per_s;
      break;
    case Conversion::Speed::shuffle:
      break;
  }
  return rates.call_us +
         static_cast<double>(conversion.bytes_moved()) / (rate * 1e3 * bandwidth_scale(target));
}

}  // namespace stowage::plan
