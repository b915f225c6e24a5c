// SPDX-License-Identifier: Apache-2.0
// The baseline: memcpy that reads and writes as many bytes as the conversion does, half of them
// each way, between buffers of that size.
#include <cstring>

#include "bench/convert/contender.h"

namespace stowage::bench {

Move make_memcpy(const Case& c, ThreadPool& pool) {
  const std::size_t bytes = c.bytes() / 2;
  return [=, &pool](const void* src, void* dst) {
    const std::size_t parts =
        pool.threads() == 1 ? 1 : static_cast<std::size_t>(pool.threads()) * 4;
    parallel(&pool, parts, [&](std::size_t part) {
      const std::size_t begin = bytes / 64 * part / parts * 64;
      const std::size_t end = part + 1 == parts ? bytes : bytes / 64 * (part + 1) / parts * 64;
      std::memcpy(static_cast<char*>(dst) + begin, static_cast<const char*>(src) + begin,
                  end - begin);
    });
  };
}

}  // namespace stowage::bench
