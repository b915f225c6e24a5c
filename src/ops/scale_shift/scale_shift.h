// SPDX-License-Identifier: Apache-2.0
// What operators share that scale and shift a tensor by constants, or that take such a scale and
// shift into constants of their own.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "graph/constants.h"
#include "graph/op_def.h"

namespace stowage {

/// The elements of an f32 constant that broadcasts to `x`, one for every index over the axes.
/// Nothing when it is null or of another dtype, or varies along another axis.
std::optional<std::vector<float>> constant_along(const Tensor* constant, const Shape& x,
                                                 AxisRange axes);

/// OpDef::scaled_axes of what scales each channel: axis 1 of n c ...
std::optional<AxisRange> channels_of_output(const NodeRef& node);

/// The elements of input 2 of a node without posts, a vector where it is there; nothing where they
/// are not known.
std::optional<std::span<const float>> constant_bias(const NodeRef& node);

/// old * scale + shift; where nothing is in `old`, the shift.
std::vector<float> scaled(std::span<const float> old, const ScaleShift& by);

/// OpDef::take_scale_shift of sums of products: of input 1, the weights, whose element i (in
/// row-major order) only counts for index channel(i) of the scaled axes, and of input 2, the bias.
/// `bias` is what it adds along them now, empty where there is none. Nothing where the weights
/// would have to change and are not constant.
template <class Channel>
std::optional<Rewritten> scale_products(const NodeRef& node, const ScaleShift& by,
                                        std::span<const float> bias, Channel channel) {
  Rewritten out{node.attrs()};
  if (by.scales()) {
    if (node.constant(1) == nullptr) return std::nullopt;
    Tensor weights = *node.constant(1);
    const auto data = weights.as<float>();
    for (std::int64_t i = 0; i < weights.shape().elements(); ++i) {
      data[static_cast<std::size_t>(i)] *= by.scale[static_cast<std::size_t>(channel(i))];
    }
    out.constants.emplace_back(1, std::move(weights));
  }
  out.constants.emplace_back(2, vector_tensor(scaled(bias, by)));
  return out;
}

}  // namespace stowage
