// SPDX-License-Identifier: Apache-2.0
#include "graph/constants.h"

#include <algorithm>

#include "base/numbers.h"

namespace stowage {

Tensor vector_tensor(std::span<const float> data) {
  Tensor t(DType::f32, Shape("a", {static_cast<std::int64_t>(data.size())}));
  std::ranges::copy(data, t.as<float>().begin());
  return t;
}

bool stretches_over(const Shape& constant, const Shape& shape, int first, int last) {
  const int shift = shape.rank() - constant.rank();
  if (shift < 0) return false;
  for (int i = 0; i < constant.rank(); ++i) {
    const int k = i + shift;
    if (constant[i] != 1 && (k < first || k >= last || constant[i] != shape[k])) return false;
  }
  return true;
}

bool may_stretch(const Shape& shape, int first, int last) {
  constexpr std::int64_t kMost = 1 << 20;
  std::int64_t elements = 1;
  for (int i = first; i < last; ++i) {
    if (shape[i] < 1 || shape[i] > kMost / elements) return false;
    elements *= shape[i];
  }
  return true;
}

Tensor stretched(const Tensor& constant, const Shape& shape, int first, int last) {
  const Ints extents(shape.extents().begin() + first, shape.extents().begin() + last);
  Tensor out(DType::f32, Shape::unnamed(extents));
  const int shift = shape.rank() - constant.shape().rank();
  const auto from = constant.as<float>();
  const auto to = out.as<float>();
  for (std::int64_t i = 0; i < out.shape().elements(); ++i) {
    std::int64_t rest = i, offset = 0, stride = 1;
    for (int k = last - 1; k >= first; --k) {
      const std::int64_t at = rest % shape[k], extent = k < shift ? 1 : constant.shape()[k - shift];
      rest /= shape[k];
      if (extent != 1) offset += at * stride;
      stride *= extent;
    }
    to[static_cast<std::size_t>(i)] = from[static_cast<std::size_t>(offset)];
  }
  return out;
}

}  // namespace stowage
