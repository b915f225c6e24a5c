// SPDX-License-Identifier: Apache-2.0
// 8-bit pixels in and out of Mats: colours, resizing, orientation, affine maps, mean and norm.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "stowage/mat.h"

namespace stowage {

/// Interleaved samples of 8 bits in the order of the name; nv12 and nv21 are a plane of luma, then
/// one of chroma of half the size, U before V or V before U (YUV420sp, full range).
enum class PixelFormat : std::uint8_t { gray, rgb, bgr, rgba, bgra, nv12, nv21 };

/// Samples of a pixel: 1, 3 or 4; of nv12 and nv21 those of luma, 1.
int pixel_channels(PixelFormat format) noexcept;

/// Pixels of the caller.
struct Pixels {
  PixelFormat format = PixelFormat::rgb;
  int width = 0, height = 0;
  const std::uint8_t* data = nullptr;
  std::ptrdiff_t stride = 0;             ///< bytes from row to row; 0: rows follow each other
  const std::uint8_t* chroma = nullptr;  ///< nv12, nv21; null: behind the last row of luma
};

/// Pixels of the caller that are written.
struct MutablePixels {
  PixelFormat format = PixelFormat::rgb;
  int width = 0, height = 0;
  std::uint8_t* data = nullptr;
  std::ptrdiff_t stride = 0;
  std::uint8_t* chroma = nullptr;

  operator Pixels() const {  // NOLINT(google-explicit-constructor)
    return {format, width, height, data, stride, chroma};
  }
};

/// How samples between pixels are found. All are at pixel centres, repeat the border, and do not
/// smooth what becomes smaller.
enum class ResizeMode : std::uint8_t {
  bilinear,  ///< in ncnn's fixed point, 11 bits: at most 1 from the exact number
  nearest,   ///< the pixel that holds the centre
  bicubic,   ///< Keys' with a = -0.75, as OpenCV has it; rounded to nearest even
};

struct PixelRegion {
  int x = 0, y = 0, width = 0, height = 0;
};

/// What from_pixels does, in this order: region, orientation, size, colours, (x - mean) * norm.
struct FromPixels {
  std::optional<PixelRegion> region;  ///< none: all of the picture
  int orientation = 1;                ///< EXIF's: 1 as it is, ... 8; see rotate_pixels
  int width = 0, height = 0;          ///< 0: as it is
  ResizeMode resize = ResizeMode::bilinear;
  std::optional<PixelFormat> to;  ///< none: the picture's; of nv12 and nv21 rgb
  DType dtype = DType::f32;
  int elempack = 1;  ///< where it does not divide the channels the last pack is filled with zeros
  std::span<const float> mean, norm;  ///< one a channel of `to`, one for all, or none
  int threads = 1;
};

/// A Mat of w, h, c. Where nothing but colours in their order, mean, norm, type and packing is
/// asked for, the pixels are read once and the Mat is written once; else rows pass through a
/// scratch of some KiB, and an orientation, or nv12 with a size, through a picture of its own.
/// Throws Error(usage) for a region beyond the picture, sizes below 1, a stride shorter than a row,
/// odd sizes of nv12 and nv21, lists of another length, Error(limit).
Mat from_pixels(const Pixels& pixels, const FromPixels& how = {});

/// The same into `out`: into its memory where that has the shape already, with any cstep, and
/// nobody shares it, so that nothing is allocated for the next picture.
void from_pixels(const Pixels& pixels, Mat& out, const FromPixels& how = {});

/// The same into a tensor, an input of a Session say, of axes c, h and w by name, with an n of 1 or
/// not, in any layout that the engine writes. Type and packing are the tensor's; so is the size
/// where `how` has none. Layouts that lie as a Mat does (NCHW, nChw16c, NHWC) are written like
/// one; into others pixels are converted at once where nothing but mean and norm is asked for, else
/// by way of a picture in their colours and size. Throws Error(usage) for another shape, too.
void from_pixels(const Pixels& pixels, const MutableTensorView& out, const FromPixels& how);

/// The opposite, into pixels of dst.format and of the Mat's size, or resized to dst's.
struct ToPixels {
  PixelFormat from = PixelFormat::rgb;  ///< what the Mat's channels are
  std::optional<DType> dtype;           ///< none: f32, f16 or u8, by the size of scalars
  std::span<const float> mean, norm;    ///< (x - mean) * norm before rounding
  int threads = 1;
};

/// Rounds to nearest even and saturates; NaN becomes 0. Throws Error(usage).
void to_pixels(const Mat& mat, const MutablePixels& dst, const ToPixels& how);

// Pixels to pixels. All throw Error(usage) for sizes or formats that do not go together.

/// Colours; sizes equal, or of nv12 and nv21 half as large: pixels then have the mean luma of four.
/// Gray is (77 R + 150 G + 29 B) >> 8, a new alpha 255, nv12 and nv21 become
/// R = Y + 90 (V - 128) / 64, G = Y - (46 (V - 128) + 22 (U - 128)) / 64, B = Y + 113 (U - 128)
/// / 64. Nothing becomes nv12 or nv21.
void convert_pixels(const Pixels& src, const MutablePixels& dst);

/// Formats equal.
void resize_pixels(const Pixels& src, const MutablePixels& dst,
                   ResizeMode mode = ResizeMode::bilinear);

/// By the EXIF orientation of src: 1 copies, 2 mirrors left and right, 3 turns by 180 degrees, 4
/// mirrors top and bottom, 5 transposes, 6 turns right, 7 transposes along the other diagonal, 8
/// turns left. From 5 on width and height change places. Formats equal. ncnn calls it kanna_rotate.
void rotate_pixels(const Pixels& src, const MutablePixels& dst, int orientation);

/// [a b c; d e f]: x' = a x + b y + c, y' = d x + e y + f.
using AffineMatrix = std::array<float, 6>;

/// Turns by `angle` degrees and scales around (x, y), as OpenCV has it, in floats as ncnn does.
AffineMatrix get_rotation_matrix(float angle, float scale, float x, float y);

/// The similarity (turn, scale, shift) that takes points `from` to points `to` with the least
/// squares; x, y alternate. Throws Error(usage) for lists of different lengths, fewer than two
/// points, or points that are all the same.
AffineMatrix get_affine_transform(std::span<const float> from, std::span<const float> to);

/// Throws Error(usage) where there is no inverse.
AffineMatrix invert_affine_transform(const AffineMatrix& matrix);

// The same as ncnn calls them: points are x, y alternating, matrices six floats.
void get_rotation_matrix(float angle, float scale, float x, float y, float* matrix);
void get_affine_transform(const float* from, const float* to, int points, float* matrix);
void invert_affine_transform(const float* matrix, float* inverse);

/// dst(x, y) = src(inverse (x, y)), bilinear in ncnn's fixed point (10 bits). Samples beyond src
/// are `border`, in the order of the format; without one, pixels that need such a sample keep what
/// they hold. Formats equal, not nv12 or nv21.
void warpaffine_pixels(const Pixels& src, const MutablePixels& dst, const AffineMatrix& inverse,
                       std::optional<std::array<std::uint8_t, 4>> border = {{}});

/// Where a picture has gone: x_there = x * scale + left.
struct Letterbox {
  double scale = 1;
  int left = 0, top = 0, width = 0, height = 0;
};

/// Fits src into dst, proportions kept, centred, `border` around it. Formats equal, not nv12 or
/// nv21.
Letterbox letterbox_pixels(const Pixels& src, const MutablePixels& dst,
                           std::array<std::uint8_t, 4> border = {114, 114, 114, 114},
                           ResizeMode mode = ResizeMode::bilinear);

}  // namespace stowage
