// SPDX-License-Identifier: Apache-2.0
// For tests: memory that ends where it should.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <span>

namespace stowage {

/// Bytes with an unreadable page before and after. The wanted bytes touch one of the two pages.
class Guarded {
 public:
  Guarded(std::size_t bytes, bool at_end) : bytes_(bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    inner_ = (bytes + page - 1) / page * page;
    total_ = inner_ + 2 * page;
    base_ = static_cast<unsigned char*>(
        mmap(nullptr, total_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base_ == MAP_FAILED) abort();
    if (inner_ > 0 && mprotect(base_ + page, inner_, PROT_READ | PROT_WRITE) != 0) abort();
    data_ = base_ + page + (at_end ? inner_ - bytes : 0);
  }

  ~Guarded() { munmap(base_, total_); }

  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  unsigned char* data() { return data_; }

  std::span<unsigned char> bytes() { return {data_, bytes_}; }

 private:
  std::size_t bytes_, inner_, total_;
  unsigned char *base_, *data_;
};

}  // namespace stowage
