// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "bench/convert/contender.h"
#include "stowage/convert.h"

namespace stowage::bench {

Move make_stowage(const Case& c, ThreadPool& pool) {
  const auto move = std::make_shared<const Conversion>(c.src, c.source(), c.dst, c.destination());
  return [=, &pool](const void* src, void* dst) { move->run(src, dst, &pool); };
}

}  // namespace stowage::bench
