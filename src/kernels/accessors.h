// SPDX-License-Identifier: Apache-2.0
// How the source of a device kernel reaches the elements of its operands: macros made from the
// layout, the type and the place of each, so that one source serves images and buffers, f32, f16,
// u8 and i8, and any layout. A kernel sees floats, which hold 8 bits exactly; stored as 8 bits they
// are rounded toward zero and saturate, and NaN becomes 0. Extents and strides are arguments: a
// program depends on layouts, not on shapes.
//
// For an operand called x over axes 0 .. r-1, whose texels are four neighbours along axis L:
//
//   ARG_x                    the arguments of the kernel: memory, extents x_e, strides x_s, and
//                            in a buffer x_o, the element with which the operand begins
//   READ_x(i0, .., ir-1)     float4: a texel; iL counts texels; the coordinates are inside
//   READ_IF_x(c, i0, ..)     likewise; zero where c is false
//   AT_x(i0, .., ir-1)       float: an element; the coordinates are inside
//   WRITE_x(v, i0, .., ir-1) stores a texel; its lanes behind the last element become zero
//   ARGS                     ARG_ of all operands, tables and scalars of the launch, in order
//   DECODE_x                 declares x_0 .. x_(r-1), the coordinates of the texel of this work
//                            item (of the element, where there are no texels)
//   STORE_x(v)               stores the texel (element) of this work item; see WRITE_x
//   EACH_x(F)                float4 (F(.., lane 0, ..), ..), zero behind the last element: F is
//                            called with coordinates of elements (float F(..) without texels)
//   VECTOR_x                 float4, or float where there are no texels
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/launch.h"

namespace stowage {

/// The axis along which the four lanes of a texel follow each other, or -1: there are no texels.
/// Rows of a multiple of four elements are rows of texels.
int texel_axis(const Mapping& mapping) noexcept;

/// Extents of the axes, and strides of the digits: of an image each in its own coordinate, of a
/// buffer in texels, or in elements where there are none.
struct AccessorArgs {
  std::array<std::int32_t, 8> extents{}, strides{};
};

/// A launch can have this operand: at most eight digits beside the lane, a type that accessors
/// know, and an image only over a layout with texels.
bool has_accessors(const LaunchView& view);

AccessorArgs accessor_args(const LaunchView& view);

/// What checked accessors of an operand know of it, a row of `int* bounds_` for each operand of the
/// launch: how often it was accessed outside, how many elements (of an image: columns and rows of
/// texels) are there, the extents of its axes with their tails.
struct BoundsRow {
  std::int32_t outside = 0;
  std::array<std::int32_t, 2> there{};
  std::array<std::int32_t, 8> padded{};

  /// `there`: of the memory, from the operand's beginning on; no more than the operand has counts.
  BoundsRow(const LaunchView& view, std::array<std::int64_t, 2> memory);
  BoundsRow() = default;
};

/// The macros above. `output`: memory is written, not read. `checked`: the operand's number in the
/// launch where accesses outside of it are counted in its BoundsRow instead of done, else -1.
std::string accessor_text(std::string_view name, const LaunchView& view, bool output,
                          int checked = -1);

/// One work item for each texel (element, where there are none) of an operand: what DECODE_x and
/// STORE_x expect.
std::array<std::int64_t, 3> items_of(const LaunchView& view);

}  // namespace stowage
