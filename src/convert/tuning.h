// SPDX-License-Identifier: Apache-2.0
// What conversions assume of the machine that they run on.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/caches.h"
#include "stowage/convert.h"

namespace stowage::conversion {

/// Any values give the same bytes; they decide how fast.
struct Tuning : ConversionTuning {
  Caches caches = host_caches();

  /// Destinations from so many bytes on are written with non-temporal stores: source and
  /// destination do not fit into L3 together, or leave nothing of it to other programs.
  std::int64_t huge_from() const noexcept {
    return std::min<std::int64_t>(caches.l3 / 2, std::int64_t{32} << 20);
  }

  /// Whether lines are loaded in pieces: where hardware prefetchers follow few streams by
  /// themselves they bring lines from L3 faster so (docs/performance.md); elsewhere whole lines are
  /// faster.
  bool loads_pieces() const noexcept { return streams > 0; }

  /// Whether a shuffle of bytes of two vectors costs no more than one of one vector. By the same
  /// sign: it does where vectors of 64 bytes have one port for shuffles, which takes it twice.
  bool cheap_two_sources() const noexcept { return streams > 0; }

  /// Whether steps are taken in an order in which no load or store goes on by the distance that it
  /// went on by before, where prefetchers are not needed: hardware that sees such distances fetches
  /// lines of the L2 that are on their way already, and halves its bandwidth (docs/performance.md).
  /// Prefetches for write ask for what the next step in order writes.
  bool scatters() const noexcept { return streams > 0 && !prefetch_for_write; }
};

/// What new conversions use.
Tuning current_tuning() noexcept;

}  // namespace stowage::conversion
