// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"

#include <cstdlib>
#include <cstring>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "base/text.h"

namespace stowage {

namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20, kHugeFrom = std::size_t{1} << 20;

}  // namespace

void* allocate(std::size_t bytes) {
  const bool huge = bytes >= kHugeFrom;
  // Only whole huge pages are given; not more than a third of the memory goes for that.
  const std::size_t unit = huge && bytes % kHugePage >= kHugePage / 4 * 3 ? kHugePage : kAlignment;
  const std::size_t alignment = huge ? kHugePage : kAlignment;
  const std::size_t padded = (bytes / unit + 1) * unit;
  void* p = nullptr;
  if (padded <= bytes || posix_memalign(&p, alignment, padded) != 0 || p == nullptr)
    fail(ErrorCode::limit, "cannot allocate ", bytes, " bytes");
#if defined(MADV_HUGEPAGE)
  if (huge) madvise(p, padded, MADV_HUGEPAGE);  // where it is refused, small pages do
#endif
  return p;
}

std::byte* allocate_zeroed(std::size_t bytes) {
  void* const p = allocate(bytes);
  std::memset(p, 0, (bytes / kAlignment + 1) * kAlignment);
  return static_cast<std::byte*>(p);
}

}  // namespace stowage
