// SPDX-License-Identifier: Apache-2.0
#include "layout/draw_rows.h"

#include <algorithm>

#include "base/checked.h"
#include "base/text.h"

namespace stowage::draw {

namespace {

constexpr std::int64_t kLongestGap = 8;

std::string digit_text(const Mapping& map, const Digit& digit, std::int64_t value) {
  std::string out(map.shape().axis(digit.dim).name());
  if (digit.q != 1) out += text('/', digit.q);
  const auto above = [&](const Digit& d) { return d.dim == digit.dim && d.q > digit.q; };
  if (std::any_of(map.digits().begin(), map.digits().end(), above)) out += text('%', digit.e);
  return out + text('=', value);
}

/// The values of some digits (strides falling) at a cell; `rest` is what they leave of it.
std::string values_text(const Mapping& map, std::span<const Digit> digits, std::int64_t& rest) {
  std::string out;
  for (const Digit& digit : digits) {
    const std::int64_t value = std::min(rest / digit.stride, digit.e - 1);
    rest -= value * digit.stride;
    if (!out.empty()) out += ' ';
    out += digit_text(map, digit, value);
  }
  return out;
}

/// The digits of a space that are worth a label, strides falling; mem: of the linear view.
std::vector<Digit> digits_of(const Mapping& map, Space space) {
  std::vector<Digit> out;
  for (const Digit& digit : map.digits()) {
    if (digit.space == space && digit.e > 1) out.push_back(digit);
  }
  return out;
}

Mark mark_of(const Mapping& map, const Drawing& drawing, std::int64_t cell) {
  std::array<std::int64_t, kMaxRank> x{};
  const auto rank = static_cast<std::size_t>(map.shape().rank());
  Mark mark;
  mark.kind = map.inverse(cell, std::span(x).first(rank));
  if (mark.kind != Cell::data) return mark;
  for (std::size_t i = 0; i < rank; ++i) {
    mark.index = mark.index * map.shape()[static_cast<int>(i)] + x[i];
  }
  if (drawing.colour_axis >= 0) mark.colour = x[static_cast<std::size_t>(drawing.colour_axis)];
  return mark;
}

void append_gap(Row& row, std::int64_t run) {
  if (run > kLongestGap) {
    row.marks.push_back({.run = run, .space_before = 1});
  } else {
    for (std::int64_t i = 0; i < run; ++i) row.marks.push_back({.space_before = i == 0});
  }
}

void choose_colour(const Mapping& map, Drawing& drawing) {
  const Shape& shape = map.shape();
  if (shape.rank() == 0) return;
  int axis = std::max(0, shape.rank() - 3);
  for (int i = 0; i < shape.rank() && shape[axis] == 1; ++i) axis = i;
  for (const Digit& low : map.digits()) {
    const auto above = [&](const Digit& d) { return d.dim == low.dim && d.q > low.q; };
    const bool split = std::any_of(map.digits().begin(), map.digits().end(), above);
    if (low.q != 1 || !split || shape[low.dim] == 1) continue;
    axis = low.dim;
    drawing.colour_block = low.e;
    break;
  }
  drawing.colour_axis = axis;
}

void arrange_memory(const Mapping& map, const Limits& limits, Drawing& drawing) {
  const std::vector<Digit> digits = digits_of(map, Space::mem);
  // The outermost digits label a row, as few as let a row fit.
  std::size_t outer = 0;
  std::int64_t length = map.cells();
  while (outer + 1 < digits.size() && length > limits.cells) length = digits[outer++].stride;
  // Counting the digits up visits the cells in order and skips gaps, however long.
  std::vector<std::int64_t> values(digits.size(), 0);
  std::int64_t next = 0;    // the cell after the last one drawn
  std::size_t changed = 0;  // the most significant digit that changed
  for (;;) {
    std::int64_t cell = 0;
    for (std::size_t i = 0; i < digits.size(); ++i) cell += values[i] * digits[i].stride;
    if (next > 0) append_gap(drawing.rows.back(), cell - next);
    const bool starts = next == 0 || changed < outer;
    if (starts || static_cast<std::int64_t>(drawing.rows.back().marks.size()) >= limits.cells) {
      if (static_cast<std::int64_t>(drawing.rows.size()) == limits.rows) {
        drawing.cut = text("Only the first ", cell, " of ", map.cells(), " cells are drawn.");
        return;
      }
      Row& row = drawing.rows.emplace_back();
      std::int64_t rest = cell;
      if (starts) row.label = values_text(map, std::span(digits).first(outer), rest);
      row.new_block = next > 0 && changed + 1 < outer;
    }
    Row& row = drawing.rows.back();
    const bool first = row.marks.empty();
    row.marks.push_back(mark_of(map, drawing, cell));
    if (!first && changed + 1 < digits.size()) {
      row.marks.back().space_before = changed + 2 == digits.size() ? 1 : 2;
    }
    next = cell + 1;
    std::size_t i = digits.size();
    while (i > 0 && ++values[i - 1] == digits[i - 1].e) values[--i] = 0;
    if (i == 0) break;
    changed = i - 1;
  }
  append_gap(drawing.rows.back(), map.cells() - next);
}

void arrange_image(const Mapping& map, const Limits& limits, Drawing& drawing) {
  const std::int64_t height = map.extent(Space::y), lanes = map.extent(Space::lane);
  const std::int64_t width = map.cells() / height / lanes;
  const std::vector<Digit> rows = digits_of(map, Space::y), columns = digits_of(map, Space::x);
  const std::int64_t shown_lanes = std::min(lanes, limits.lanes);
  drawing.lanes = shown_lanes;
  std::int64_t texels = std::clamp<std::int64_t>(limits.texels, 1, width);
  if (limits.wrap && texels < width) {  // rather between two steps of a digit
    const auto fits = [&](const Digit& d) { return d.stride > 1 && d.stride <= texels * 3 / 2; };
    const auto digit = std::find_if(columns.begin(), columns.end(), fits);
    if (digit != columns.end()) texels = digit->stride;
  }
  const std::int64_t drawn = limits.wrap ? std::min(width, texels * limits.rows) : texels;
  const std::int64_t lines = ceil_div(drawn, texels);  // of a row
  const std::int64_t drawn_rows = std::min(height, std::max<std::int64_t>(limits.rows / lines, 1));
  const auto say = [&](std::int64_t some, std::int64_t all, std::string_view what) {
    if (some == all) return;
    drawing.cut += drawing.cut.empty() ? "Only " : ", ";
    drawing.cut += text(some, " of ", all, ' ', what);
  };
  say(drawn_rows, height, "rows");
  say(drawn, width, "texels of a row");
  say(shown_lanes, lanes, "lanes");
  if (!drawing.cut.empty()) drawing.cut += " are drawn.";
  for (std::int64_t x = 0; x < drawn; ++x) {
    std::int64_t rest = x;
    const bool pitch = x >= map.extent(Space::x);
    drawing.columns.push_back(pitch ? "" : values_text(map, columns, rest));
  }
  for (std::int64_t y = 0; y < drawn_rows; ++y) {
    std::int64_t rest = y;
    const std::string label = values_text(map, rows, rest);
    for (std::int64_t first = 0; first < drawn; first += texels) {
      Row& row = drawing.rows.emplace_back();
      if (first == 0) row.label = label.empty() ? text("y=", y) : text("y=", y, "  ", label);
      row.new_block = first == 0 && y > 0 && rows.size() >= 2 && y % rows[0].stride == 0;
      for (std::int64_t x = first; x < std::min(first + texels, drawn); ++x) {
        for (std::int64_t lane = 0; lane < shown_lanes; ++lane) {
          row.marks.push_back(mark_of(map, drawing, (y * width + x) * lanes + lane));
        }
        std::int64_t in_row = x;
        for (std::size_t i = 0; i + 1 < columns.size(); ++i) {
          if (x > first && in_row % columns[i].stride == 0) {
            row.marks[row.marks.size() - static_cast<std::size_t>(shown_lanes)].space_before = 1;
          }
          in_row %= columns[i].stride;
        }
      }
    }
  }
}

}  // namespace

Drawing arrange(const Mapping& map, const Limits& limits) {
  Drawing drawing;
  choose_colour(map, drawing);
  if (map.cells() == 0) {
    drawing.cut = "The tensor has no cells.";
  } else if (map.layout().is_image()) {
    arrange_image(map, limits, drawing);
  } else {
    arrange_memory(map, limits, drawing);
  }
  return drawing;
}

std::string summary(const Mapping& map) {
  const Mapping::CellCounts counts = map.count();
  std::string out;
  if (map.layout().is_image()) {
    out = text("image ", map.extent(Space::x), " x ", map.extent(Space::y), " texels, ");
  }
  return out + text(map.cells(), map.cells() == 1 ? " cell, " : " cells, ", map.bytes(),
                    " bytes: ", counts.data, " data, ", counts.tail, " tail, ", counts.gap, " gap");
}

}  // namespace stowage::draw
