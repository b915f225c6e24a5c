// SPDX-License-Identifier: Apache-2.0
// Data formats, in MACE's sense: the order of the axes of a batch of images, and where operators
// stand on it.
#pragma once

#include <optional>
#include <string_view>

#include "stowage/layout.h"

namespace stowage {

/// `none`: a tensor that is no batch of images, or of which it is not known.
enum class DataFormat { none, nchw, nhwc };

/// "NONE", "NCHW", "NHWC"
std::string_view data_format_name(DataFormat format) noexcept;

/// The inverse of data_format_name, in any case; nothing for another word.
std::optional<DataFormat> parse_data_format(std::string_view word) noexcept;

/// By the names of the axes: nchw for n, c, h, w, nhwc for n, h, w, c, none for all others.
DataFormat data_format(const Shape& shape) noexcept;

/// MACE's three categories of operators.
enum class Category {
  fixed,         ///< runs in the layouts that its kernels offer
  transposable,  ///< runs in any layout; axis arguments are renamed
  source,        ///< needs the source order unless it only relabels the same bytes
};

/// "fixed", "transposable", "source"
std::string_view category_name(Category category) noexcept;

}  // namespace stowage
