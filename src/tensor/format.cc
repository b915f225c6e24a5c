// SPDX-License-Identifier: Apache-2.0
#include "tensor/format.h"

#include <algorithm>

namespace stowage {

int FormatTable::intern(const Format& format) {
  const auto known = std::ranges::find(formats_, format);
  if (known != formats_.end()) return static_cast<int>(known - formats_.begin());
  formats_.push_back(format);
  return size() - 1;
}

}  // namespace stowage
