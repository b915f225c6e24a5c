// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "bench/convert/contender.h"
#include "stowage/convert.h"

namespace stowage::bench {

Move make_stowage(const Case& c, ThreadPool& pool) {
  const auto move = std::make_shared<const Conversion>(c.src, c.source(), c.dst, c.destination());
  return [=, &pool](const void* src, void* dst) { move->run(src, dst, &pool); };
}

Move make_stowage_later(const Case& c, ThreadPool& pool) {
  const Conversion soon(c.src, c.source(), c.dst, c.destination());
  const auto later = std::make_shared<const Conversion>(c.src, c.source(), c.dst, c.destination(),
                                                        ScalarMap{}, NextUse::later);
  if (later->explain() == soon.explain()) return {};
  return [=, &pool](const void* src, void* dst) { later->run(src, dst, &pool); };
}

}  // namespace stowage::bench
