// SPDX-License-Identifier: Apache-2.0
// Sliding windows: what the shape rules of convolutions and pools share.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "graph/op_def.h"
#include "kernels/layouts.h"
#include "kernels/window/window.h"

namespace stowage {

/// Throws Error unless the input has 1 to 3 spatial axes and the attribute `kernel_shape`, when
/// there, has one entry for each. Returns the number of spatial axes.
int check_spatial_rank(const NodeRef& node);

/// Checks strides, dilations, pads and auto_pad of a node whose input 0 is n c (d) (h) w and
/// computes the extents of the output. The facts strides, dilations, pads and kernel_shape are what
/// they come to. `kernel` has one extent for each spatial axis.
Ints infer_window(const InferRef& node, const Ints& kernel, bool ceil_mode);

/// The same for a transposed convolution, whose output_shape and auto_pad end up in the fact pads.
Ints infer_transposed_window(const InferRef& node, const Ints& kernel);

/// The window of a node after infer, by its facts. `in` and `out` are shapes n c (d) (h) w.
Window window_of(const Attributes& facts, std::span<const std::int64_t> kernel, const Shape& in,
                 const Shape& out);

/// Names n c h w (n c w, n c d h w) for a value.
void name_spatial(const NodeRef& node, AxisLinks& links, ValueId value, std::string_view first,
                  std::string_view second);

/// Names the axes of image, weights and result of a convolution; the weights begin with `first`
/// and `second`.
void link_convolution(const NodeRef& node, AxisLinks& links, std::string_view first,
                      std::string_view second);

}  // namespace stowage
