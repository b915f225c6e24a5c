// SPDX-License-Identifier: Apache-2.0
// The roof: memcpy of as many bytes as the conversion reads and writes together.
#include <algorithm>
#include <cstring>
#include <memory>

#include "bench/convert/contender.h"

namespace stowage::bench {

Move make_memcpy(const Case& c, int threads) {
  const std::size_t bytes = c.bytes() / 2;
  // Of unequal sides the smaller one is walked as often as it takes.
  const std::size_t room = std::min(c.source().bytes(), c.destination().bytes());
  const auto pool = std::make_shared<ThreadPool>(threads);
  return [=](const void* src, void* dst) {
    for (std::size_t done = 0; done < bytes; done += room) {
      const std::size_t now = std::min(room, bytes - done);
      const std::size_t parts = threads == 1 ? 1 : static_cast<std::size_t>(threads) * 4;
      parallel(pool.get(), parts, [&](std::size_t part) {
        const std::size_t begin = now / 64 * part / parts * 64;
        const std::size_t end = part + 1 == parts ? now : now / 64 * (part + 1) / parts * 64;
        std::memcpy(static_cast<char*>(dst) + begin, static_cast<const char*>(src) + begin,
                    end - begin);
      });
    }
  };
}

}  // namespace stowage::bench
