// SPDX-License-Identifier: Apache-2.0
// Any bytes as a TFLite model.
#include "import/readers.h"
#include "stowage/inspect.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stowage;
  const Limits limits = fuzz::small_limits();
  fuzz::expect_error_or_success([&] {
    const InputFile input("fuzz", std::as_bytes(std::span(data, size)));
    check_size(input, limits.file_bytes);
    fuzz::expect_sound(specialise(*open_tflite(input, limits)));
  });
  const fuzz::MemoryFile file(data, size);
  fuzz::expect_error_or_success([&] { inspect_model(file.path(), limits); });
  return 0;
}
