// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: any bytes as an ONNX model, and as a file of one tensor. README.md says how
// to run it.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "graph/graph.h"
#include "import/onnx_tensor.h"
#include "stowage/error.h"
#include "stowage/model.h"

namespace {

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
  } catch (const stowage::Error& e) {
    if (e.code() == stowage::ErrorCode::internal) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file(data, size);
  stowage::ImportOptions options;
  options.limits.tensor_bytes = 16 << 20;
  options.limits.total_bytes = 64 << 20;
  options.limits.nodes = 1000;
  expect_error_or_success([&] {
    const auto graph = stowage::import_model(file.path(), options);
    stowage::verify(*graph);
    stowage::simplify(*graph);
    stowage::verify(*graph);
  });
  expect_error_or_success([&] { stowage::tensor_from_pb_file(file.path(), options.limits); });
  return 0;
}
