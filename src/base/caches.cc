// SPDX-License-Identifier: Apache-2.0
#include "base/caches.h"

#include <unistd.h>

#include <fstream>
#include <type_traits>

namespace stowage {

namespace {

/// What the cores beside this one share, as the kernel says it ("32768K"); 0 where it does not.
/// sysconf adds up those of all sockets that a hypervisor tells of.
std::int64_t shared_cache() {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index3/size");
  std::int64_t size = 0;
  char unit = 0;
  if (!(file >> size >> unit)) return 0;
  return size << (unit == 'K' ? 10 : unit == 'M' ? 20 : 0);
}

/// Where the system does not know, it says 0 or -1, or the name is missing.
Caches find_caches() {
  Caches found;
  const auto take = [](std::int64_t value, auto& to) {
    if (value > 0) to = static_cast<std::remove_reference_t<decltype(to)>>(value);
  };
#if defined(_SC_LEVEL2_CACHE_SIZE)
  take(sysconf(_SC_LEVEL1_DCACHE_SIZE), found.l1);
  take(sysconf(_SC_LEVEL1_DCACHE_ASSOC), found.l1_ways);
  take(sysconf(_SC_LEVEL2_CACHE_SIZE), found.l2);
  take(sysconf(_SC_LEVEL2_CACHE_ASSOC), found.l2_ways);
  take(sysconf(_SC_LEVEL3_CACHE_SIZE), found.l3);
#endif
  take(shared_cache(), found.l3);
  return found;
}

}  // namespace

const Caches& host_caches() noexcept {
  static const Caches found = find_caches();
  return found;
}

}  // namespace stowage
