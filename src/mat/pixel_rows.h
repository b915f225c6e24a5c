// SPDX-License-Identifier: Apache-2.0
// Rows of pixels: checked pictures and colours.
#pragma once

#include <vector>

#include "stowage/pixels.h"

namespace stowage {

using Sample = std::uint8_t;

/// Luma and chroma in planes of their own.
bool is_yuv(PixelFormat format) noexcept;

/// With its stride and chroma filled in. Throws Error(usage).
Pixels checked(const Pixels& pixels);
MutablePixels checked(const MutablePixels& pixels);

/// The region as a picture of its own. Throws Error(usage).
Pixels part_of(const Pixels& pixels, const PixelRegion& region);

/// Samples behind each other that make a plane: the picture, or luma or chroma of nv12 and nv21.
struct SamplePlane {
  int width, height, channels;
  Sample* data;
  std::ptrdiff_t stride;
};

/// One plane, or two. `pixels` must be checked.
std::vector<SamplePlane> planes_of(const Pixels& pixels);

/// A picture of its own.
struct Picture8 {
  Picture8(PixelFormat format, int width, int height);

  MutablePixels pixels() { return view; }

  std::vector<Sample> bytes;
  MutablePixels view;
};

/// `count` pixels; neither format is nv12 or nv21.
using ColourRow = void (*)(const Sample* src, int count, Sample* dst) noexcept;
ColourRow colour_row(PixelFormat from, PixelFormat to);

/// Planes of `size` samples that arrange_planes needs.
inline constexpr int kColourPlanes = 6;

/// Makes of planes in the order of `from` planes in the order of `to` that follow each other, and
/// says with which they begin.
std::size_t arrange_planes(PixelFormat from, PixelFormat to, Sample* planes,
                           std::size_t size) noexcept;

/// Row y of an nv12 or nv21 picture as rgb.
void yuv_row(const Pixels& pixels, int y, Sample* rgb) noexcept;

/// Row y of its half: each pixel has the mean luma of four, with its fraction.
void yuv_half_row(const Pixels& pixels, int y, Sample* rgb) noexcept;

}  // namespace stowage
