// SPDX-License-Identifier: Apache-2.0
#include "ops/scale_shift/scale_shift.h"

namespace stowage {

std::optional<std::vector<float>> constant_along(const Tensor* constant, const Shape& x,
                                                 AxisRange axes) {
  if (constant == nullptr || constant->dtype() != DType::f32 || x.rank() < axes.last ||
      !stretches_over(constant->shape(), x, axes.first, axes.last)) {
    return std::nullopt;
  }
  std::int64_t count = 1;
  for (int i = axes.first; i < axes.last; ++i) count *= x[i];
  if (constant->shape().elements() != count && !may_stretch(x, axes.first, axes.last)) {
    return std::nullopt;
  }
  const Tensor all = stretched(*constant, x, axes.first, axes.last);
  const auto data = all.as<float>().first(static_cast<std::size_t>(all.shape().elements()));
  return std::vector<float>(data.begin(), data.end());
}

std::optional<AxisRange> channels_of_output(const NodeRef&) { return AxisRange{1, 2}; }

std::optional<std::span<const float>> constant_bias(const NodeRef& node) {
  if (!node.has(2)) return std::span<const float>();
  const Tensor* bias = node.constant(2);
  if (bias == nullptr || bias->dtype() != DType::f32) return std::nullopt;
  return bias->as<float>().first(static_cast<std::size_t>(bias->shape().elements()));
}

std::vector<float> scaled(std::span<const float> old, const ScaleShift& by) {
  std::vector<float> out(by.shift);
  for (std::size_t i = 0; i < old.size(); ++i) out[i] += old[i] * by.scale[i];
  return out;
}

}  // namespace stowage
