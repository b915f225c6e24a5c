// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"

#include <cstdlib>
#include <cstring>

#include "base/text.h"

namespace stowage {

std::byte* allocate_zeroed(std::size_t bytes) {
  // aligned_alloc wants a multiple of the alignment.
  const std::size_t padded = (bytes / kAlignment + 1) * kAlignment;
  void* p = padded > bytes ? std::aligned_alloc(kAlignment, padded) : nullptr;
  if (p == nullptr) fail(ErrorCode::limit, "cannot allocate ", bytes, " bytes");
  std::memset(p, 0, padded);
  return static_cast<std::byte*>(p);
}

}  // namespace stowage
