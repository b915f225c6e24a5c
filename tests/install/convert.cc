// SPDX-License-Identifier: Apache-2.0
// Links the core library alone.
#include <stowage/stowage.h>

int main() {
  using namespace stowage;
  Tensor t(DType::f32, Shape("nchw", {1, 6, 2, 3}));
  for (int i = 0; i < 36; ++i) t.as<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i);
  const Tensor packed = convert(t, Layout::parse("nChw4c"));
  const Tensor back = convert(packed, Layout::parse("NCHW"));
  return back.as<float>()[35] == 35.0f && packed.as<float>()[1] == 6.0f ? 0 : 1;
}
