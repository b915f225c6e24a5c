// SPDX-License-Identifier: Apache-2.0
#include "stowage/draw.h"

#include <algorithm>

#include "base/text.h"
#include "layout/draw_rows.h"

namespace stowage {

namespace {

constexpr std::int64_t kColumns = 96;

std::string padded_left(const std::string& s, std::size_t width) {
  return s.size() >= width ? s : std::string(width - s.size(), ' ') + s;
}

std::string mark_text(const draw::Mark& mark) {
  if (mark.kind == Cell::data) return std::to_string(mark.index);
  if (mark.kind == Cell::tail) return ".";
  return mark.run == 1 ? "_" : text("_*", mark.run);
}

}  // namespace

std::string draw_text(const Mapping& map) {
  const std::int64_t last = std::max<std::int64_t>(map.shape().elements() - 1, 0);
  const std::size_t width = std::to_string(last).size();
  draw::Limits limits;
  limits.wrap = true;
  limits.cells = kColumns / static_cast<std::int64_t>(width + 1);
  limits.texels = limits.cells / std::clamp<std::int64_t>(map.extent(Space::lane), 1, limits.lanes);
  const draw::Drawing drawing = draw::arrange(map, limits);

  std::string out =
      text(map.layout().text(), "   ", map.shape().text(), "\n", draw::summary(map), "\n\n");
  std::size_t label_width = 0;
  for (const draw::Row& row : drawing.rows) label_width = std::max(label_width, row.label.size());
  for (const draw::Row& row : drawing.rows) {
    if (row.new_block) out += '\n';
    out += row.label;
    out.append(label_width - row.label.size() + (label_width > 0 ? 2 : 0), ' ');
    for (std::size_t i = 0; i < row.marks.size(); ++i) {
      const draw::Mark& mark = row.marks[i];
      const auto lanes = static_cast<std::size_t>(drawing.lanes);
      const bool opens = lanes > 0 && i % lanes == 0;
      if (i > 0) out += mark.space_before == 0 ? " " : mark.space_before == 1 ? "  " : " | ";
      if (opens) out += '[';
      out += padded_left(mark_text(mark), width);
      if (lanes > 0 && i % lanes == lanes - 1) out += ']';
    }
    out += '\n';
  }
  if (!drawing.rows.empty()) out += '\n';
  if (!drawing.cut.empty()) out += drawing.cut + '\n';
  return out +
         "Numbers are logical indices; . is a tail (holds zero), _ a gap (nobody reads it).\n";
}

}  // namespace stowage
