// SPDX-License-Identifier: Apache-2.0
// Pictures: exact for small tensors, every element once, whole for any size.
#include "stowage/draw.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace stowage {

namespace {

Mapping bind(std::string_view layout, std::string_view shape, int element_bytes = 4,
             std::int64_t row_pitch = 1) {
  return Mapping(Layout::parse(layout), Shape::parse(shape), element_bytes, row_pitch);
}

/// Without the headline and the legend.
std::string grid(const Mapping& map) {
  std::string text = draw_text(map);
  text.erase(0, text.find("\n\n") + 2);
  return text.substr(0, text.rfind("Numbers are"));
}

TEST(DrawTest, TextShowsWhereElementsLie) {
  struct Case {
    Mapping map;
    const char* grid;
  };

  const Case cases[] = {
      {bind("NHWC", "n=1,c=3,h=2,w=2"), " 0  4  8   1  5  9 |  2  6 10   3  7 11\n\n"},
      {bind("nChw4c", "n=1,c=6,h=2,w=3"),
       "c/4=0   0  6 12 18   1  7 13 19   2  8 14 20 |  3  9 15 21   4 10 16 22   5 11 17 23\n"
       "c/4=1  24 30  .  .  25 31  .  .  26 32  .  . | 27 33  .  .  28 34  .  .  29 35  .  .\n\n"},
      {bind("image-channel", "n=1,c=6,h=2,w=2"),
       "y=0  h=0  [ 0  4  8 12] [ 1  5  9 13]  [16 20  .  .] [17 21  .  .]\n"
       "y=1  h=1  [ 2  6 10 14] [ 3  7 11 15]  [18 22  .  .] [19 23  .  .]\n\n"},
      {bind("y:h x:w lane:c", "h=2,w=3,c=2", 1, 4),
       "y=0  h=0  [ 0  1] [ 2  3] [ 4  5] [ _  _]\ny=1  h=1  [ 6  7] [ 8  9] [10 11] [ _  _]\n\n"},
      {bind("c (h w)~16B", "c=2,h=1,w=3"), "0 1 2  _  3 4 5  _\n\n"},
      {bind("n (c)~4096B", "n=2,c=3"), "n=0  0 1 2  _*1021\nn=1  3 4 5  _*1021\n\n"},
      {bind("()", ""), "0\n\n"},
      {bind("NCHW", "n=1,c=0,h=2,w=2"), "The tensor has no cells.\n"},
  };
  for (const Case& c : cases) EXPECT_EQ(grid(c.map), c.grid) << c.map.layout().text();
  EXPECT_EQ(draw_text(bind("image-argument", "w=5")),
            "y:() x:w/4 lane:w%4   w=5\n"
            "image 2 x 1 texels, 8 cells, 32 bytes: 5 data, 3 tail, 0 gap\n\n"
            "y=0  [0 1 2 3] [4 . . .]\n\n"
            "Numbers are logical indices; . is a tail (holds zero), _ a gap (nobody reads it).\n");
}

TEST(DrawTest, TextShowsEveryCellOnce) {
  for (const NamedLayout& line : layout_catalog()) {
    const Layout layout = Layout::parse(line.layout);
    const std::vector<std::int64_t> extents = {1, 3, 2, 5, 1};
    const std::vector<Axis> axes = layout.axes();
    const Mapping map(layout, Shape(axes, std::span(extents).first(axes.size())), 4);
    Mapping::CellCounts seen;
    std::string text = grid(map);
    if (text.find("Only") != text.npos) continue;
    for (char& c : text) {
      if (c == '[' || c == ']' || c == '|') c = ' ';
    }
    std::istringstream words(text);
    std::vector<bool> drawn(static_cast<std::size_t>(map.shape().elements()));
    for (std::string word; words >> word;) {
      if (word.find('=') != word.npos) continue;
      if (word == ".") {
        ++seen.tail;
      } else if (word[0] == '_') {
        seen.gap += word.size() == 1 ? 1 : std::stoll(word.substr(2));
      } else {
        const auto index = static_cast<std::size_t>(std::stoll(word));
        ASSERT_LT(index, drawn.size()) << line.name;
        EXPECT_FALSE(drawn[index]) << line.name;
        drawn[index] = true;
        ++seen.data;
      }
    }
    EXPECT_EQ(seen.data, map.count().data) << line.name;
    EXPECT_EQ(seen.tail, map.count().tail) << line.name;
    EXPECT_EQ(seen.gap, map.count().gap) << line.name;
  }
}

/// Whether tags are closed in order and text holds no stray markup; enough for what we print.
bool well_formed(const std::string& svg) {
  std::vector<std::string> open;
  std::size_t at = 0;
  while ((at = svg.find('<', at)) != svg.npos) {
    const std::size_t end = svg.find('>', at);
    if (end == svg.npos || svg.find('<', at + 1) < end) return false;
    const std::string tag = svg.substr(at + 1, end - at - 1);
    const std::string name =
        tag.substr(tag[0] == '/', tag.find_first_of(" /", 1) - (tag[0] == '/'));
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
    if (std::count(tag.begin(), tag.end(), '"') % 2 != 0) return false;
    at = end + 1;
  }
  return open.empty() && svg.find('&') == svg.npos;
}

TEST(DrawTest, SvgIsWellFormed) {
  EXPECT_FALSE(well_formed("<a><b></a></b>"));
  EXPECT_FALSE(well_formed("<a>"));
  for (const NamedLayout& line : layout_catalog()) {
    const Layout layout = Layout::parse(line.layout);
    for (const std::int64_t extent : {0, 1, 5, 33}) {
      const std::vector<Axis> axes = layout.axes();
      const std::vector<std::int64_t> extents(axes.size(), extent);
      const std::string svg = draw_svg(Mapping(layout, Shape(axes, extents), 2, 4));
      EXPECT_TRUE(well_formed(svg)) << line.name;
      EXPECT_LT(svg.size(), 3000000u) << line.name;
    }
  }
}

TEST(DrawTest, SvgShowsEveryElement) {
  const std::string svg = draw_svg(bind("image-channel", "n=1,c=6,h=2,w=3"));
  for (int i = 0; i < 36; ++i) {
    EXPECT_NE(svg.find(">" + std::to_string(i) + "</text>"), svg.npos) << i;
  }
  std::size_t tails = 0;
  for (std::size_t at = 0; (at = svg.find("fill=\"url(#tail)\"", at)) != svg.npos; ++at) ++tails;
  EXPECT_EQ(tails, 12u + 1u);  // and the legend
  EXPECT_EQ(svg.find("fill=\"url(#gap)\""), svg.npos);
}

TEST(DrawTest, LargeTensorsAreCutAndSaySo) {
  struct Case {
    const char *layout, *shape, *sentence;
  };

  for (const Case& c : {
           Case{"NCHW", "n=64,c=64,h=64,w=64", "Only the first "},
           Case{"image-channel", "n=1,c=100000,h=2,w=100000", "texels of a row are drawn."},
           Case{"image-channel", "n=1,c=4,h=1000,w=4", " of 1000 rows are drawn."},
           Case{"y:h x:w lane:c", "h=2,w=2,c=100000", "Only 16 of 100000 lanes are drawn."},
           Case{"w/2147483648 w%2147483648", "w=1", "Only the first "},
       }) {
    EXPECT_NE(draw_text(bind(c.layout, c.shape)).find(c.sentence), std::string::npos) << c.layout;
    EXPECT_NE(draw_svg(bind(c.layout, c.shape)).find(c.sentence), std::string::npos) << c.layout;
    EXPECT_LT(draw_text(bind(c.layout, c.shape)).size(), 40000u);
  }
  // A long gap is one mark.
  EXPECT_EQ(grid(bind("(c)~2147483648", "c=3")), "0 1 2  _*2147483645\n\n");
}

}  // namespace

}  // namespace stowage
