// SPDX-License-Identifier: Apache-2.0
// What the libFuzzer programs share. README.md says how to run them.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "graph/graph.h"
#include "stowage/error.h"
#include "stowage/model.h"

namespace stowage::fuzz {

/// A file in memory that holds the bytes.
class MemoryFile {
 public:
  MemoryFile(const std::uint8_t* data, std::size_t size) : fd_(memfd_create("fuzz", MFD_CLOEXEC)) {
    if (fd_ < 0 || write(fd_, data, size) != static_cast<ssize_t>(size)) std::abort();
  }

  ~MemoryFile() { close(fd_); }

  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

/// An Error is the right answer to a bad file, unless it blames us.
template <class F>
void expect_error_or_success(F&& action) {
  try {
    action();
  } catch (const Error& e) {
    if (e.code() == ErrorCode::internal) std::abort();
  }
}

/// Small enough that no input takes long.
inline Limits small_limits() {
  Limits limits;
  limits.tensor_bytes = 16 << 20;
  limits.total_bytes = 64 << 20;
  limits.nodes = 1000;
  return limits;
}

/// A model that was read holds together, before it is simplified and after.
inline void expect_sound(const std::shared_ptr<Graph>& graph) {
  verify(*graph);
  simplify(*graph);
  verify(*graph);
}

}  // namespace stowage::fuzz
