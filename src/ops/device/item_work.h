// SPDX-License-Identifier: Apache-2.0
// Which way of a device kernel is the fastest, and what it claims. A work item does so many units
// of work: a unit is a multiplication and addition of four lanes of a texel, or a texel that is
// read. While an item waits for memory others must work: a device is busy with as many as do,
// together, enough units in the time of one latency. Fewer items take as long as these would.
#pragma once

#include <algorithm>

#include "kernels/launch.h"
#include "stowage/device.h"

namespace stowage {

struct ItemWork {
  double items = 0;  ///< of the launch
  double units = 0;  ///< that one does
  double batch = 1;  ///< of them, between two waits for memory

  /// Items that keep a device busy.
  double busy(const DeviceRates& rates) const {
    // Those that compute at once: graphics cards are balanced alike.
    constexpr double kItemsPerGbPerS = 4.7;
    constexpr double kLatency = 40;  // in units of an item
    return rates.gb_per_s * kItemsPerGbPerS * (1 + kLatency / batch);
  }

  /// In units of all items of a device that is busy.
  double total(const DeviceRates& rates) const { return std::max(items, busy(rates)) * units; }

  /// For an offer of so many flops.
  double efficiency(const DeviceRates& rates, double flops) const {
    constexpr double kClaim = 0.45;  // of a kernel that did nothing but multiply and add
    return kClaim * flops / (2 * double{kTexel} * total(rates));
  }
};

/// Of an item that does nothing: it finds its coordinates.
inline constexpr double kItemUnits = 60;

}  // namespace stowage
