// SPDX-License-Identifier: Apache-2.0
// Pictures of another size as Pillow makes them, and torchvision and Keras with it.
#pragma once

#include "cli/io/image.h"

namespace stowage::cli {

enum class Filter {
  nearest,      ///< the pixel that holds the centre
  triangle,     ///< linear: Pillow's BILINEAR
  catmull_rom,  ///< Keys' cubic with a = -0.5: Pillow's BICUBIC
};

/// What Image.resize of Pillow makes: but for nearest, a sample is the weighted mean of those below
/// the filter around its centre; where an axis shrinks, the filter is wider by as much; beyond the
/// border there is nothing. First across, then down, both rounding to 8 bits and cutting at 0 and
/// 255; Pillow 13 goes down first where a picture becomes lower but wider, which is why a sample
/// may differ, by 1 as a rule and by up to 20 of a cubic at sharp edges. Throws Error(bad_input,
/// limit) for the size.
Picture resample(const Picture& picture, std::int64_t width, std::int64_t height, Filter filter);

}  // namespace stowage::cli
