// SPDX-License-Identifier: Apache-2.0
#include "tensor/format.h"

#include <algorithm>

namespace stowage {

bool same_bytes(const Format& a, const Format& b, const Shape& shape) {
  if (a.dtype != b.dtype || a.place != b.place) return false;
  return a.layout == b.layout || a.mapping(shape).same_bytes(b.mapping(shape));
}

int FormatTable::intern(const Format& format) {
  const auto known = std::ranges::find(formats_, format);
  if (known != formats_.end()) return static_cast<int>(known - formats_.begin());
  formats_.push_back(format);
  return size() - 1;
}

}  // namespace stowage
