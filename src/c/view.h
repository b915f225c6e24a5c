// SPDX-License-Identifier: Apache-2.0
// Views, strides and scalar maps of the C interface as the C++ interface has them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "stowage/convert.h"
#include "stowage/layout.h"
#include "stowage/stowage_c.h"

namespace stowage::c {

/// Throws Error(usage) for a number that is no type.
DType dtype_of(std::int32_t dtype);

inline std::int32_t number_of(DType dtype) { return static_cast<std::int32_t>(dtype); }

/// The layout in which elements of a shape lie at these distances. Throws Error(usage) for another
/// number of strides than axes, Error(unsupported) where no layout says it: negative and broken
/// strides, elements that overlap, axes that do not nest.
Layout strided_layout(const Shape& shape, std::span<const std::int64_t> byte_strides,
                      int element_bytes);

/// A view that has been read.
struct View {
  DType dtype = DType::f32;
  Mapping mapping;
  void* data = nullptr;

  TensorView input() const { return {dtype, mapping, data}; }

  MutableTensorView output() const { return {dtype, mapping, data}; }
};

/// `whole`: the shape that a view of rank 0 stands for, and the axes of one without names; null
/// where there is none. Throws Error(usage, unsupported, limit).
View read_view(const stowage_view* pointer, std::string_view what, const Shape* whole = nullptr);

/// Null is a map that does nothing. The spans are the caller's memory.
ScalarMap read_map(const stowage_scalar_map* pointer);

}  // namespace stowage::c
