// SPDX-License-Identifier: Apache-2.0
// Sliding windows: what convolutions and pools share. Spatial axes are always d h w here; a
// missing one has extent 1.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "graph/op_def.h"

namespace stowage {

using Extents3 = std::array<std::int64_t, 3>;

struct Window {
  Extents3 in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1};
  Extents3 pad_begin{0, 0, 0}, pad_end{0, 0, 0};

  std::int64_t in_pixels() const { return in[0] * in[1] * in[2]; }

  std::int64_t out_pixels() const { return out[0] * out[1] * out[2]; }

  std::int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }

  void fields(Archive& a) {
    a("in", in)("out", out)("kernel", kernel)("stride", stride)("dilation", dilation);
    a("pad_begin", pad_begin)("pad_end", pad_end);
  }
};

/// Taps [begin, end) of an axis.
struct TapRange {
  std::int64_t begin, end;

  std::int64_t count() const { return end - begin; }
};

/// The taps of output index `o` of an axis that read input positions in [lo, hi); found without a
/// walk over the taps.
TapRange taps_within(const Window& w, std::size_t axis, std::int64_t o, std::int64_t lo,
                     std::int64_t hi);

/// Those that read the input, not its padding.
inline TapRange taps_inside(const Window& w, std::size_t axis, std::int64_t o) {
  return taps_within(w, axis, o, 0, w.in[axis]);
}

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

/// A value n c (d) (h) w with the channels last.
Layout channels_last(const Shape& shape);

/// The layout that `pattern` spells, `$0` to `$7` standing for the axes of `shape`.
Layout layout_by_position(const Shape& shape, std::string_view pattern);

/// " $2 $3": the axes behind the first two, for layout_by_position.
std::string spatial_text(const Shape& shape);

/// A vector's only axis with more than one element, its tail rounded up: the layout in which
/// bias and slopes can be read in whole blocks.
Layout padded_vector(const Shape& shape, std::int64_t block);

}  // namespace stowage
