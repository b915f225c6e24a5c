// SPDX-License-Identifier: Apache-2.0
// From a picture to what a model's input wants: size, channels, and numbers (x - mean) * norm.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/io/image.h"
#include "stowage/pixels.h"

namespace stowage::cli {

enum class ResizeFit {
  stretch,    ///< to the model's size, whatever becomes of the proportions
  letterbox,  ///< proportions kept, centred, grey (114) around it
  none,       ///< the picture must have the model's size
};

enum class PixelOrder { rgb, bgr, gray };

struct Preprocess {
  ResizeFit fit = ResizeFit::stretch;
  ResizeMode mode = ResizeMode::bilinear;
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

/// The picture as the port wants it, in planes of `dtype`. Throws Error(bad_input) when fit is none
/// and the sizes differ, Error(usage) when the options do not fit the channels, or samples do not
/// fit the type.
Mat fit_picture(const Picture& picture, const ImagePort& port, const Preprocess& how, DType dtype);

/// Such planes seen as the input's shape. The Mat must outlive the view.
TensorView planes_view(const Mat& planes, DType dtype, const Shape& shape, const ImagePort& port);

/// Read from or written to.
MutablePixels pixels_of(Picture& picture);

/// The interleaved pixels seen as the input's shape. The picture must outlive the view.
TensorView picture_view(const Picture& picture, const Shape& shape, const ImagePort& port);

// Words of the command line; all throw Error(usage) that lists the choices.
ResizeFit parse_resize_fit(std::string_view word);
ResizeMode parse_resize_mode(std::string_view word);
PixelOrder parse_pixel_order(std::string_view word);

/// "123.675,116.28,103.53", "[0.5]", "1/255". Throws Error(usage).
std::vector<float> parse_reals(std::string_view option, std::string_view list);

}  // namespace stowage::cli
