// SPDX-License-Identifier: Apache-2.0
// Sliding windows: what convolutions and pools share. Spatial axes are always d h w here; a
// missing one has extent 1.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/archive.h"

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

/// Output indices [begin, end) of an axis.
struct OutRange {
  std::int64_t begin, end;
};

/// Those under which both input positions at + first and at + first + reach are inside, `at` being
/// that of the first tap.
OutRange outputs_inside(const Window& w, std::size_t axis, std::int64_t first, std::int64_t reach);

/// Those all of whose taps read the input, not its padding.
inline OutRange outputs_inside(const Window& w, std::size_t axis) {
  return outputs_inside(w, axis, 0, (w.kernel[axis] - 1) * w.dilation[axis]);
}

/// Of a transposed convolution: the outputs `first + j * stride` of one axis, which see the same
/// taps, and for each of these its number and the input index of j = 0.
struct PhaseAxis {
  std::int64_t first = 0, count = 0;
  std::vector<std::int64_t> taps, base;
};

PhaseAxis phase_axis(const Window& w, std::size_t axis, std::int64_t first);

/// How many taps count at each output index of an axis: those inside the input, or inside the
/// padded input.
std::vector<std::int64_t> count_taps(const Window& w, std::size_t axis, bool count_padding);

}  // namespace stowage
