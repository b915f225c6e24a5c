// SPDX-License-Identifier: Apache-2.0
#include "kernels/layouts.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace stowage {

Layout channels_last(const Shape& shape) {
  std::vector<Axis> axes(shape.axes().begin(), shape.axes().end());
  std::rotate(axes.begin() + 1, axes.begin() + 2, axes.end());
  return Layout::row_major(axes);
}

Layout layout_by_position(const Shape& shape, std::string_view pattern) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '$') {
      out += pattern[i];
    } else {
      out += shape.axis(pattern[++i] - '0').name();
    }
  }
  return Layout::parse(out);
}

std::string spatial_text(const Shape& shape) {
  std::string out;
  for (int i = 2; i < shape.rank(); ++i) out += text(" $", i);
  return out;
}

namespace {

bool is_picture(const Shape& shape) {
  return shape.rank() == 4 && std::ranges::all_of(std::string_view("nchw"), [&](char c) {
           return shape.index_of(Axis(std::string_view(&c, 1))) >= 0;
         });
}

}  // namespace

Layout texels_along(const Shape& shape, int axis) {
  std::string rows, columns;
  const std::string along(shape.axis(axis).name());
  const bool channel_major = is_picture(shape) && along == "c";
  for (int i = 0; i < shape.rank(); ++i) {
    const std::string name(shape.axis(i).name());
    if (i == axis) continue;
    std::string& side = channel_major && name == "w" ? columns : rows;
    side += text(side.empty() ? "" : " ", name);
  }
  return Layout::parse(text("y:(", rows, ") x:(", along, "/4 ", columns, ") lane:", along, "%4"));
}

Layout texels(const Shape& shape) {
  return texels_along(shape, is_picture(shape) ? shape.index_of(Axis("c")) : shape.rank() - 1);
}

std::optional<Layout> linear_layout(const Layout& image) {
  std::string out;
  for (const Layout::Item& item : image.items()) {
    if (item.kind != Layout::Item::Kind::factor) {
      if (item.align != 1) return std::nullopt;
      continue;
    }
    out += text(out.empty() ? "" : " ", item.axis.name());
    if (item.q != 1) out += text("/", item.q);
    if (item.m != 0) out += text("%", item.m);
    if (item.align != 1) out += text("~", item.align);
  }
  return out.empty() ? Layout() : Layout::parse(out);
}

Layout padded_vector(const Shape& shape, std::int64_t block) {
  if (shape.rank() == 0) return Layout::row_major(shape);
  int axis = 0;
  while (axis + 1 < shape.rank() && shape[axis] == 1) ++axis;
  return Layout::parse(text(shape.axis(axis).name(), "~", block));
}

}  // namespace stowage
