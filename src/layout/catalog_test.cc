// SPDX-License-Identifier: Apache-2.0
// docs/layouts.md says what the program does: its table, its pictures and its spellings.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "stowage/draw.h"
#include "stowage/layout.h"
#include "test_paths.h"

namespace stowage {

namespace {

std::string read(const std::string& path) {
  std::ifstream file(STOWAGE_SOURCE_DIR "/" + path);
  EXPECT_TRUE(file.is_open()) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Compares, and on a difference leaves what belongs there in the folder for temporary files.
void expect_same(const std::string& there, const std::string& want, const std::string& name) {
  if (there == want) return;
  const std::string path = testing::TempDir() + name;
  std::ofstream(path) << want;
  ADD_FAILURE() << name << " differs from the program; what belongs there is in " << path;
}

TEST(CatalogTest, TableInTheManual) {
  std::string want = "\n| name | layout | what it is |\n|---|---|---|\n";
  for (const NamedLayout& line : layout_catalog()) {
    want.append("| `").append(line.name).append("` | `").append(line.layout).append("` | ");
    want.append(line.note).append(" |\n");
  }
  const std::string manual = read("docs/layouts.md");
  const std::string opening = "<!-- catalogue -->", closing = "<!-- /catalogue -->";
  const std::size_t start = manual.find(opening), end = manual.find(closing);
  ASSERT_NE(start, manual.npos);
  ASSERT_NE(end, manual.npos);
  expect_same(manual.substr(start + opening.size(), end - start - opening.size()), want,
              "layouts_table.md");
}

TEST(CatalogTest, PicturesInTheManual) {
  const Shape shape("nchw", {1, 6, 2, 3});
  for (const std::string name : {"nChw4c", "image-channel"}) {
    const Mapping map(Layout::parse(name), shape, 4);
    expect_same(read("docs/layouts/" + name + ".svg"), draw_svg(map), name + ".svg");
  }
}

TEST(CatalogTest, GridsInTheManual) {
  struct Case {
    const char *layout, *shape;
    int element_bytes;
  };

  const std::string manual = read("docs/layouts.md");
  for (const Case& c :
       {Case{"nChw4c", "n=1,c=6,h=2,w=3", 4}, Case{"image-channel", "n=1,c=6,h=2,w=3", 4},
        Case{"c/4 (h w)~16B c%4", "c=6,h=3,w=3", 1}}) {
    std::string text =
        draw_text(Mapping(Layout::parse(c.layout), Shape::parse(c.shape), c.element_bytes));
    const std::size_t start = text.find("\n\n") + 2, end = text.rfind("\n\n");
    EXPECT_NE(manual.find(text.substr(start, end - start)), manual.npos) << text;
  }
}

TEST(CatalogTest, SpellingsInTheManual) {
  struct Case {
    const char *word, *layout;
  };

  const std::string manual = read("docs/layouts.md");
  for (const Case& c : {
           Case{"HWIO", "h w i o"},
           Case{"NCDHW", "n c d h w"},
           Case{"nChw16c", "n c/16 h w c%16"},
           Case{"OIhw4i16o4i", "o/16 i/16 h w i/4%4 o%16 i%4"},
           Case{"NCHW4c", "n c/4 h w c%4"},
           Case{"OIHW4i4o", "o/4 i/4 h w i%4 o%4"},
           Case{"NC4HW4", "n c/4 h w c%4"},
           Case{"C4NHW4", "c/4 n h w c%4"},
           Case{"NHWC4", "n h w c~4"},
           Case{"aBcd16b", "a b/16 c d b%16"},
       }) {
    EXPECT_EQ(Layout::parse(c.word), Layout::parse(c.layout)) << c.word;
    EXPECT_NE(manual.find("`" + std::string(c.word) + "`"), manual.npos) << c.word;
    EXPECT_NE(manual.find("`" + std::string(c.layout) + "`"), manual.npos) << c.layout;
  }
}

TEST(CatalogTest, ExtentsInTheManual) {
  const std::int64_t n = 2, c = 5, h = 6, w = 7, o = 9, i = 10, m = 3;
  const auto up = [](std::int64_t x) { return (x + 3) / 4; };

  struct Case {
    const char* layout;
    Shape shape;
    std::int64_t width, height;
    const char* row;
  };

  const Shape activations("nchw", {n, c, h, w}), filter("oihw", {o, i, h, w});
  const Case cases[] = {
      {"image-channel", activations, w * up(c), n * h, "W * (C/4) | N * H"},
      {"image-height", activations, w * c, n * up(h), "W * C | N * (H/4)"},
      {"image-width", activations, up(w) * c, n * h, "(W/4) * C | N * H"},
      {"image-filter", filter, i, h * w * up(o), "I | H * W * (O/4)"},
      {"image-filter-wide", filter, 4 * up(i), h * w * up(o), "4 * (I/4) | H * W * (O/4)"},
      {"image-filter-height", filter, h * w * i, up(o), "H * W * I | O/4"},
      {"image-filter-width", filter, h * w * up(i), o, "H * W * (I/4) | O"},
      {"image-depthwise", Shape("mihw", {m, i, h, w}), h * w * m, up(i), "H * W * M | I/4"},
      {"image-argument", Shape("w", {w}), up(w), 1, "W/4 | 1"},
      {"texture-nchw", activations, w, n * up(c) * h, "W | N * (C/4) * H"},
      {"texture-nhwc", activations, w * up(c), n * h, "W * (C/4) | N * H"},
      {"texture-weight", filter, i * h * w, up(o), "I * H * W | O/4"},
  };
  const std::string manual = read("docs/layouts.md");
  for (const Case& each : cases) {
    const Mapping map(Layout::parse(each.layout), each.shape, 4);
    EXPECT_EQ(map.extent(Space::x), each.width) << each.layout;
    EXPECT_EQ(map.extent(Space::y), each.height) << each.layout;
    const std::string row = "| `" + std::string(each.layout) + "` | " + each.row + " |";
    EXPECT_NE(manual.find(row), manual.npos) << row;
  }
}

}  // namespace

}  // namespace stowage
