// SPDX-License-Identifier: Apache-2.0
// Layouts that kernels read and write, for operands given by the positions of their axes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stowage/layout.h"

namespace stowage {

/// A value n c (d) (h) w with the channels last.
Layout channels_last(const Shape& shape);

/// The layout that `pattern` spells, `$0` to `$7` standing for the axes of `shape`.
Layout layout_by_position(const Shape& shape, std::string_view pattern);

/// " $2 $3": the axes behind the first two, for layout_by_position.
std::string spatial_text(const Shape& shape);

/// A vector's only axis with more than one element, its tail rounded up: the layout in which
/// bias and slopes can be read in whole blocks.
Layout padded_vector(const Shape& shape, std::int64_t block);

/// An image with texels along `axis`: MACE's channel-major one where that is c of n c h w, else a
/// row for every index of the other axes.
Layout texels_along(const Shape& shape, int axis);

/// The image in which devices keep activations: channel-major for a value over n c h w, else with
/// texels along the last axis. Needs an axis.
Layout texels(const Shape& shape);

/// An image as linear memory in which its rows follow each other. Nothing where these have gaps.
std::optional<Layout> linear_layout(const Layout& image);

}  // namespace stowage
