// SPDX-License-Identifier: Apache-2.0
// Any bytes as an ONNX model, and as a file of one tensor.
#include "import/readers.h"
#include "stowage/inspect.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stowage;
  const fuzz::MemoryFile file(data, size);
  const Limits limits = fuzz::small_limits();
  fuzz::expect_error_or_success([&] {
    const InputFile input = open_input(file.path(), limits.file_bytes);
    fuzz::expect_sound(specialise(*open_onnx(input, limits)));
  });
  fuzz::expect_error_or_success([&] { inspect_model(file.path(), limits); });
  fuzz::expect_error_or_success([&] { tensor_from_pb_file(file.path(), limits); });
  return 0;
}
