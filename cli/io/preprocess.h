// SPDX-License-Identifier: Apache-2.0
// From a picture to what a model's input wants: size, channels, and numbers (x - mean) * norm.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/io/image.h"
#include "stowage/pixels.h"

namespace stowage::cli {

enum class ResizeFit {
  stretch,    ///< to the model's size, whatever becomes of the proportions
  letterbox,  ///< proportions kept, centred, grey (114) around it
  shorter,    ///< proportions kept, the shorter side of a given size; then the centre
  none,       ///< the picture keeps its size
};

/// At pixel centres. bilinear and bicubic are those of resize_pixels, which do not smooth what
/// becomes smaller; the others are those of resample.
enum class ResizeFilter { bilinear, nearest, bicubic, bilinear_antialias, bicubic_antialias };

enum class PixelOrder { rgb, bgr, gray };

struct PictureSize {
  int width = 0, height = 0;

  bool operator==(const PictureSize&) const = default;
};

struct Preprocess {
  ResizeFit fit = ResizeFit::stretch;
  /// Of the fit shorter: its pixels, or its pixels for each `shorter_of` of the model's size.
  int shorter = 0, shorter_of = 0;
  ResizeFilter filter = ResizeFilter::bilinear;
  /// The centre that is cut out, of the fits shorter and none. Not set: the model's size.
  std::optional<PictureSize> crop;
  /// Not set: rgb for three channels, gray for one.
  std::optional<PixelOrder> pixel;
  /// One number for all channels or one a channel, in the model's order of channels; means count
  /// from 0 to 255, norm multiplies. Empty: mean 0, norm 1/255.
  std::vector<float> mean, norm;
};

/// How an input takes a picture.
struct ImagePort {
  int height = 0, width = 0, channels = 0;  ///< 0: any
  int height_axis = 0, width_axis = 0, channel_axis = 0;
};

/// [N, C, H, W], [N, H, W, C] with N = 1 and C = 1 or 3, or the same without N. Where both ends
/// could be C, an end of 3 is. An extent that is negative is free.
std::optional<ImagePort> image_port(std::span<const std::int64_t> extents);

/// The picture becomes `resized`, which stands in `size` or from which `size` is cut out, in the
/// centre in both cases.
struct PictureFit {
  PictureSize resized, size;
};

/// Throws Error(bad_input) when the picture cannot have the port's size, Error(usage) when the
/// options do not fit the port, Error(limit).
PictureFit picture_fit(const PictureSize& picture, const ImagePort& port, const Preprocess& how);

/// "640 x 427 resized to 384 x 256, centre 224 x 224"
std::string fit_words(const PictureSize& picture, const PictureFit& fit, const Preprocess& how);

/// The picture as the port wants it, in planes of `dtype`. Throws what picture_fit does, and
/// Error(usage) when the options do not fit the channels, or samples do not fit the type.
Mat fit_picture(const Picture& picture, const ImagePort& port, const Preprocess& how, DType dtype);

/// Such planes seen as the input's shape. The Mat must outlive the view.
TensorView planes_view(const Mat& planes, DType dtype, const Shape& shape, const ImagePort& port);

/// Read from or written to.
MutablePixels pixels_of(Picture& picture);

/// The interleaved pixels seen as the input's shape. The picture must outlive the view.
TensorView picture_view(const Picture& picture, const Shape& shape, const ImagePort& port);

}  // namespace stowage::cli
