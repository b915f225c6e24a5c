// SPDX-License-Identifier: Apache-2.0
// Any bytes as a .param of ncnn, text or binary; what stands behind "#bin" is its .bin.
#include <span>
#include <string_view>
#include <utility>

#include "stowage/inspect.h"
#include "tests/fuzz/fuzz.h"

namespace {

using Bytes = std::span<const std::byte>;

/// Where the .param ends and where the .bin begins.
std::pair<Bytes, Bytes> parts_of(const std::uint8_t* data, std::size_t size) {
  const Bytes all = std::as_bytes(std::span(data, size));
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t mark = text.find("#bin");
  if (mark == std::string_view::npos) return {all, {}};
  return {all.first(mark), all.subspan(mark + 4)};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stowage;
  const Limits limits = fuzz::small_limits();
  const auto [param, bin] = parts_of(data, size);
  fuzz::expect_error_or_success([&, p = param, b = bin] {
    const auto model = open_model(p, b, limits);
    SpecialiseOptions options;
    for (const ModelInput& input : model->inputs()) {
      if (!input.dims) options.shapes[input.name] = {3, 9, 8};
    }
    fuzz::expect_sound(specialise(*model, options));
  });
  const fuzz::MemoryFile file(reinterpret_cast<const std::uint8_t*>(param.data()), param.size());
  fuzz::expect_error_or_success([&] { inspect_model(file.path(), limits); });
  fuzz::expect_error_or_success([&] {
    OpenOptions made_up;
    made_up.limits = limits;
    made_up.generate_weights = true;
    const auto model = open_model(file.path(), made_up);
    SpecialiseOptions options;
    for (const ModelInput& input : model->inputs()) {
      if (!input.dims) options.shapes[input.name] = {3, 9, 8};
    }
    fuzz::expect_sound(specialise(*model, options));
  });
  return 0;
}
