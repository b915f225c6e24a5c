// SPDX-License-Identifier: Apache-2.0
// The caches of a core.
#pragma once

#include <cstdint>

namespace stowage {

/// Sizes in bytes. What is not known stays as it is here.
struct Caches {
  std::int64_t l1 = 32 << 10;  ///< data, of one core
  int l1_ways = 8;             ///< lines of a set
  std::int64_t l2 = 1 << 20;   ///< of one core
  int l2_ways = 8;             ///< lines of a set
  std::int64_t l3 = 32 << 20;  ///< of all cores together

  /// Addresses at this distance fall into the same set of the L1.
  std::int64_t l1_span() const { return l1 / l1_ways; }

  /// Likewise of the L2.
  std::int64_t l2_span() const { return l2 / l2_ways; }
};

/// Those of this machine, found once.
const Caches& host_caches() noexcept;

}  // namespace stowage
