// SPDX-License-Identifier: Apache-2.0
// Constants of f32: vectors, and those that broadcast to a tensor and vary along some of its axes
// alone, such as the scale of each channel.
#pragma once

#include <span>

#include "stowage/tensor.h"

namespace stowage {

/// Of rank 1.
Tensor vector_tensor(std::span<const float> data);

/// A tensor of shape `constant`, broadcast to `shape`, differs along its axes [first, last) alone.
bool stretches_over(const Shape& constant, const Shape& shape, int first, int last);

/// So many elements may be made of a constant of few: a file's shapes may be anything.
bool may_stretch(const Shape& shape, int first, int last);

/// An f32 constant that stretches over the axes [first, last) of `shape`, with their extents.
Tensor stretched(const Tensor& constant, const Shape& shape, int first, int last);

}  // namespace stowage
