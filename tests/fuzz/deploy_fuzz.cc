// SPDX-License-Identifier: Apache-2.0
// Any bytes as a deployment file.
#include "cli/deploy.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stowage;
  const fuzz::MemoryFile file(data, size);
  fuzz::expect_error_or_success([&] { cli::read_deployments(file.path()); });
  return 0;
}
