// SPDX-License-Identifier: Apache-2.0
// The picture of a mapping as SVG. Shades of one hue are a block of the split axis.
#include <algorithm>
#include <cstdio>

#include "base/text.h"
#include "layout/draw_rows.h"
#include "stowage/draw.h"

namespace stowage {

namespace {

using draw::Drawing;
using draw::Mark;
using draw::Row;

constexpr int kMargin = 24, kTop = 84, kCell = 34, kRowHeight = 26, kTexel = 64;
constexpr int kGroupSpace = 8, kBlockSpace = 12, kLetter = 7;
constexpr const char* kInk = "#1f2937";
constexpr const char* kFaint = "#6b7280";

struct Rgb {
  int r, g, b;
};

constexpr std::array<Rgb, 6> kHues = {
    {{59, 130, 246}, {245, 158, 11}, {16, 185, 129}, {217, 70, 239}, {239, 68, 68}, {6, 182, 212}}};

std::string colour_of(std::int64_t coordinate, std::int64_t block) {
  const std::int64_t hue = coordinate / block, lane = coordinate % block;
  const Rgb& base = kHues[static_cast<std::size_t>(hue) % kHues.size()];
  // From a tint to a stronger one, always light enough for dark figures.
  const double strength =
      block == 1 ? 0.42 : 0.18 + 0.47 * static_cast<double>(lane) / static_cast<double>(block - 1);
  const auto mix = [&](int c) { return static_cast<int>(255 + (c - 255) * strength); };
  std::array<char, 8> hex{};
  std::snprintf(hex.data(), hex.size(), "#%02x%02x%02x", mix(base.r), mix(base.g), mix(base.b));
  return hex.data();
}

std::string fill_of(const Mark& mark, std::int64_t block) {
  if (mark.kind == Cell::data) return colour_of(mark.colour, block);
  if (mark.kind == Cell::tail) return "url(#tail)";
  return mark.run > 1 ? "#e5e7eb" : "url(#gap)";
}

/// Drawing calls, and the size of what they drew.
class Canvas {
 public:
  void rect(int x, int y, int width, int height, std::string_view fill, std::string_view stroke,
            int radius) {
    body_ += text("<rect x=\"", x, "\" y=\"", y, "\" width=\"", width, "\" height=\"", height,
                  "\" rx=\"", radius, "\" fill=\"", fill, "\" stroke=\"", stroke, "\"/>\n");
    reach(x + width, y + height);
  }

  /// `words` are names, numbers and layouts: free of markup.
  void words(int x, int y, std::string_view what, int size, std::string_view fill,
             std::string_view anchor, std::string_view more = "") {
    body_ += text("<text x=\"", x, "\" y=\"", y, "\" font-size=\"", size, "\" fill=\"", fill,
                  "\" text-anchor=\"", anchor, "\"", more, ">", what, "</text>\n");
    if (anchor == "start") reach(x + static_cast<int>(what.size()) * size * 61 / 100, y + 4);
  }

  void cell(int x, int y, int width, int height, const Mark& mark, std::int64_t block) {
    rect(x, y, width, height, fill_of(mark, block), "#ffffff", 3);
    std::string label;
    if (mark.kind == Cell::data) label = std::to_string(mark.index);
    if (mark.run > 1) label = text(mark.run, " gap");
    if (label.empty()) return;
    const int fits = width * 10 / (static_cast<int>(label.size()) * 6 + 4);
    words(x + width / 2, y + height / 2 + 4, label, std::clamp(fits, 5, 12), kInk, "middle");
  }

  int bottom() const { return height_; }

  std::string finish(std::string_view title) const {
    const int width = width_ + kMargin, height = height_ + kMargin;
    return text(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", width, " ", height,
        "\" width=\"", width, "\" height=\"", height,
        "\" font-family=\"ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace\">\n<title>",
        title,
        "</title>\n<defs>\n"
        "<pattern id=\"tail\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\" "
        "patternTransform=\"rotate(45)\"><rect width=\"7\" height=\"7\" fill=\"#fef2f2\"/>"
        "<rect width=\"2\" height=\"7\" fill=\"#fca5a5\"/></pattern>\n"
        "<pattern id=\"gap\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
        "<rect width=\"6\" height=\"6\" fill=\"#f3f4f6\"/>"
        "<circle cx=\"3\" cy=\"3\" r=\"1\" fill=\"#9ca3af\"/></pattern>\n</defs>\n<rect width=\"",
        width, "\" height=\"", height, "\" fill=\"#ffffff\"/>\n", body_, "</svg>\n");
  }

 private:
  void reach(int x, int y) {
    width_ = std::max(width_, x);
    height_ = std::max(height_, y);
  }

  std::string body_;
  int width_ = 0, height_ = 0;
};

int label_width(const Drawing& drawing) {
  std::size_t longest = 0;
  for (const Row& row : drawing.rows) longest = std::max(longest, row.label.size());
  return longest == 0 ? 0 : static_cast<int>(longest) * kLetter + 14;
}

void draw_memory(Canvas& canvas, const Drawing& drawing) {
  const int left = kMargin + label_width(drawing);
  int y = kTop;
  for (const Row& row : drawing.rows) {
    if (row.new_block) y += kBlockSpace;
    canvas.words(left - 12, y + kRowHeight / 2 + 4, row.label, 11, kFaint, "end");
    int x = left;
    for (const Mark& mark : row.marks) {
      x += mark.space_before * kGroupSpace;
      const int width = mark.run > 1 ? 2 * kCell : kCell;
      canvas.cell(x, y, width, kRowHeight, mark, drawing.colour_block);
      x += width;
    }
    y += kRowHeight + 2;
  }
}

void draw_image(Canvas& canvas, const Drawing& drawing) {
  const int left = kMargin + label_width(drawing);
  const auto lanes = static_cast<std::size_t>(drawing.lanes);
  const int columns = lanes == 4 ? 2 : static_cast<int>(lanes);
  const int width = lanes == 4 ? kTexel : kCell * columns;
  const int height = lanes == 4 ? kTexel : kRowHeight;
  const int cell_width = width / columns, cell_height = lanes == 4 ? height / 2 : height;
  int y = kTop + 34;
  for (const Row& row : drawing.rows) {
    if (row.new_block) y += kBlockSpace;
    canvas.words(left - 12, y + height / 2 + 4, row.label, 11, kFaint, "end");
    int x = left;
    for (std::size_t i = 0; i < row.marks.size(); i += lanes) {
      x += row.marks[i].space_before * kGroupSpace;
      if (&row == &drawing.rows.front()) {
        const std::size_t column = i / lanes;
        canvas.words(x + width / 2, kTop + 8, text("x=", column), 11, kFaint, "middle");
        const std::string& label = drawing.columns[column];
        const int fits = width * 10 / (static_cast<int>(label.size()) * 6 + 6);
        canvas.words(x + width / 2, kTop + 24, label, std::clamp(fits, 5, 10), kFaint, "middle");
      }
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const int column = static_cast<int>(lane) % columns,
                  line = static_cast<int>(lane) / columns;
        canvas.cell(x + column * cell_width, y + line * cell_height, cell_width, cell_height,
                    row.marks[i + lane], drawing.colour_block);
      }
      canvas.rect(x, y, width, height, "none", "#9ca3af", 5);
      x += width + 6;
    }
    y += height + 6;
  }
}

void draw_legend(Canvas& canvas, const Mapping& map, const Drawing& drawing) {
  const Mapping::CellCounts counts = map.count();
  int x = kMargin, y = canvas.bottom() + 26;
  const auto say = [&](const std::string& what) {
    canvas.words(x, y + 13, what, 11, kFaint, "start");
    x += static_cast<int>(what.size()) * kLetter + 12;
  };
  const auto swatch = [&](std::string_view fill, std::string_view inside) {
    canvas.rect(x, y, 20, 18, fill, "#d1d5db", 3);
    canvas.words(x + 10, y + 13, inside, 10, kInk, "middle");
    x += 24;
  };
  if (drawing.colour_axis >= 0 && counts.data > 0) {
    const std::int64_t extent = map.shape()[drawing.colour_axis];
    say(text("colour: ", map.shape().axis(drawing.colour_axis).name(), " ="));
    const std::int64_t shown = std::min<std::int64_t>(extent, 16);
    for (std::int64_t i = 0; i < shown; ++i) {
      swatch(colour_of(i, drawing.colour_block), std::to_string(i));
    }
    if (shown < extent) say(text("... ", extent - 1));
    x = kMargin;
    y += 28;
  }
  if (drawing.lanes == 4) {
    for (int lane = 0; lane < 4; ++lane) {
      canvas.rect(x + lane % 2 * 15, y + lane / 2 * 15 - 6, 15, 15, "#ffffff", "#9ca3af", 2);
      canvas.words(x + lane % 2 * 15 + 8, y + lane / 2 * 15 + 5, std::string(1, "RGBA"[lane]), 9,
                   kFaint, "middle");
    }
    x += 38;
    say("a texel and its lanes");
  }
  if (counts.tail > 0) {
    swatch("url(#tail)", "");
    say("tail: holds zero");
  }
  if (counts.gap > 0) {
    swatch("url(#gap)", "");
    say("gap: nobody reads it");
  }
  if (!drawing.cut.empty()) {
    canvas.words(kMargin, y + 40, drawing.cut, 11, "#b91c1c", "start");
  }
}

}  // namespace

std::string draw_svg(const Mapping& map) {
  const Drawing drawing = draw::arrange(map, {});
  Canvas canvas;
  const std::string title = map.layout().text();
  canvas.words(kMargin, 40, title, 20, kInk, "start", " font-weight=\"600\"");
  canvas.words(kMargin, 61,
               text(map.shape().text(), map.shape().rank() > 0 ? " | " : "", draw::summary(map)),
               12, kFaint, "start");
  if (drawing.lanes > 0) {
    draw_image(canvas, drawing);
  } else {
    draw_memory(canvas, drawing);
  }
  draw_legend(canvas, map, drawing);
  return canvas.finish(title);
}

}  // namespace stowage
