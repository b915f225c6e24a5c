// SPDX-License-Identifier: Apache-2.0
// Layouts and shapes as Python callers write them.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "stowage/layout.h"

namespace stowage::python {

/// Axes and their extents, in the caller's order.
using Dims = std::vector<std::pair<Axis, std::int64_t>>;

/// "n=1,c=3", {"n": 1, "c": 3} or None, which is none. Throws Error(usage) for anything else.
Dims dims_of(nanobind::handle object);

/// Throws what Shape throws.
Shape shape_of(const Dims& dims);

/// From a str or a Layout. Throws what Layout::parse throws, Error(usage) for another type.
Layout layout_of(nanobind::handle object);

/// The extents of the array that holds the cells: the digits of a layout in linear memory, in
/// order, or y, x and lane of an image.
std::vector<std::int64_t> physical_extents(const Mapping& mapping);

}  // namespace stowage::python
