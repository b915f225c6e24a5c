// SPDX-License-Identifier: Apache-2.0
#include "stowage/data_format.h"

#include <string>

namespace stowage {

std::string_view data_format_name(DataFormat format) noexcept {
  switch (format) {
    case DataFormat::none:
      return "NONE";
    case DataFormat::nchw:
      return "NCHW";
    case DataFormat::nhwc:
      return "NHWC";
  }
  return "";
}

std::optional<DataFormat> parse_data_format(std::string_view word) noexcept {
  for (const DataFormat format : {DataFormat::none, DataFormat::nchw, DataFormat::nhwc}) {
    const std::string_view name = data_format_name(format);
    bool same = word.size() == name.size();
    for (std::size_t i = 0; same && i < name.size(); ++i) {
      same = word[i] == name[i] || word[i] == name[i] - 'A' + 'a';
    }
    if (same) return format;
  }
  return std::nullopt;
}

DataFormat data_format(const Shape& shape) noexcept {
  if (shape.rank() != 4) return DataFormat::none;
  const auto is = [&](std::string_view letters) {
    for (int i = 0; i < 4; ++i) {
      if (shape.axis(i).name() != letters.substr(static_cast<std::size_t>(i), 1)) return false;
    }
    return true;
  };
  return is("nchw") ? DataFormat::nchw : is("nhwc") ? DataFormat::nhwc : DataFormat::none;
}

std::string_view category_name(Category category) noexcept {
  switch (category) {
    case Category::fixed:
      return "fixed";
    case Category::transposable:
      return "transposable";
    case Category::source:
      break;
  }
  return "source";
}

}  // namespace stowage
