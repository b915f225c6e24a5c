// SPDX-License-Identifier: Apache-2.0
#include "base/caches.h"

#include <unistd.h>

#include <type_traits>

namespace stowage {

namespace {

/// Where the system does not know, it says 0 or -1, or the name is missing.
Caches find_caches() noexcept {
  Caches found;
  const auto take = [](long value, auto& to) {
    if (value > 0) to = static_cast<std::remove_reference_t<decltype(to)>>(value);
  };
#if defined(_SC_LEVEL2_CACHE_SIZE)
  take(sysconf(_SC_LEVEL1_DCACHE_SIZE), found.l1);
  take(sysconf(_SC_LEVEL1_DCACHE_ASSOC), found.l1_ways);
  take(sysconf(_SC_LEVEL2_CACHE_SIZE), found.l2);
  take(sysconf(_SC_LEVEL2_CACHE_ASSOC), found.l2_ways);
  take(sysconf(_SC_LEVEL3_CACHE_SIZE), found.l3);
#endif
  return found;
}

}  // namespace

const Caches& host_caches() noexcept {
  static const Caches found = find_caches();
  return found;
}

}  // namespace stowage
