// SPDX-License-Identifier: Apache-2.0
// Pictures of a mapping: which element lies in which cell.
#pragma once

#include <string>

#include "stowage/layout.h"

namespace stowage {

/// A grid of logical indices in memory order: `.` is a tail, `_` a gap, `[a b c d]` a texel. Large
/// tensors are cut off, and a sentence says what is missing.
std::string draw_text(const Mapping& mapping);

/// The same as a self-contained SVG with a legend; cells are coloured by the axis that is split
/// into digits, texels of four lanes are squares.
std::string draw_svg(const Mapping& mapping);

}  // namespace stowage
