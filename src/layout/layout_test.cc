// SPDX-License-Identifier: Apache-2.0
// Layouts as text: reading, printing, spellings, renaming; and the sentences of what is wrong.
#include "stowage/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "stowage/error.h"

namespace stowage {

namespace {

std::string error_of(std::string_view text) {
  try {
    Layout::parse(text);
  } catch (const Error& error) {
    return error.sentence();
  }
  return "no error";
}

ErrorCode code_of(std::string_view text) {
  try {
    Layout::parse(text);
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::internal;
}

std::vector<Axis> axes(std::string_view letters) {
  std::vector<Axis> out;
  for (std::size_t i = 0; i < letters.size(); ++i) out.emplace_back(letters.substr(i, 1));
  return out;
}

TEST(LayoutTest, CatalogueReadsBack) {
  for (const NamedLayout& line : layout_catalog()) {
    const Layout layout = Layout::parse(line.layout);
    EXPECT_EQ(layout.text(), line.layout);
    EXPECT_EQ(Layout::parse(layout.text()), layout);
    EXPECT_EQ(Layout::parse(layout.spelling()), layout) << layout.spelling();
    EXPECT_EQ(Layout::parse(line.name), layout) << line.name;
    // The first of several names is the one that is printed.
    const auto lines = layout_catalog();
    const auto first = std::find_if(lines.begin(), lines.end(), [&](const NamedLayout& other) {
      return other.layout == line.layout;
    });
    if (line.name.find('-') == line.name.npos) {
      EXPECT_EQ(layout.spelling(), first->name);
    }
  }
}

TEST(LayoutTest, CatalogueNamesAreDistinct) {
  const auto lines = layout_catalog();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_NE(lines[i].name, lines[j].name);
    }
  }
}

TEST(LayoutTest, TextIsPrintedInOneForm) {
  struct Case {
    const char *in, *out;
  };

  for (const Case& c : {
           Case{"  n  c/1 h\tw~1 ", "n c h w"},
           Case{"c/4(h w)~16B c%4", "c/4 (h w)~16B c%4"},
           Case{"c/4 ( h w )~1B c%4", "c/4 (h w) c%4"},
           Case{"n () c (())", "n c"},
           Case{"()", "()"},
           Case{"n ()~4", "n ()~4"},
           Case{"y:() x:w/4 lane:w%4", "y:() x:w/4 lane:w%4"},
           Case{"x:w y:h", "x:w y:h"},
           Case{"y:h x:w lane:c", "y:h x:w lane:c"},
           Case{"batch time", "batch time"},
           Case{"w/1 w%1", "w w%1"},
           Case{"y x", "y x"},
       }) {
    EXPECT_EQ(Layout::parse(c.in).text(), c.out);
    EXPECT_EQ(Layout::parse(c.out), Layout::parse(c.in));
  }
  EXPECT_EQ(Layout::parse("()"), Layout());
  EXPECT_EQ(Layout().text(), "()");
  EXPECT_NE(Layout::parse("(h w)"), Layout::parse("h w"));
  EXPECT_NE(Layout::parse("w w%1"), Layout::parse("w"));
}

TEST(LayoutTest, SpellingsAreRead) {
  struct Case {
    const char *spelling, *text, *back;
  };

  for (const Case& c : {
           Case{"NCHW", "n c h w", "NCHW"},
           Case{"MIHW", "m i h w", "MIHW"},
           Case{"W", "w", "W"},
           Case{"NCDHW", "n c d h w", "NCDHW"},
           Case{"nChw16c", "n c/16 h w c%16", "nChw16c"},
           Case{"NCHW4c", "n c/4 h w c%4", "nChw4c"},
           Case{"NC4HW4", "n c/4 h w c%4", "nChw4c"},
           Case{"C4NHW4", "c/4 n h w c%4", "Cnhw4c"},
           Case{"NHWC4", "n h w c~4", "NHWC4"},
           Case{"NHWC4c", "n h w c/4 c%4", "nhwC4c"},
           Case{"OIhw4i16o4i", "o/16 i/16 h w i/4%4 o%16 i%4", "OIhw4i16o4i"},
           Case{"OIHW16i16o", "o/16 i/16 h w i%16 o%16", "OIhw16i16o"},
           Case{"gOIhw8i8o", "g o/8 i/8 h w i%8 o%8", "gOIhw8i8o"},
           Case{"aBcd16b", "a b/16 c d b%16", "aBcd16b"},
           Case{"ABcd4b16a4b", "a/16 b/16 c d b/4%4 a%16 b%4", "ABcd4b16a4b"},
           Case{"Goihw16g", "g/16 o i h w g%16", "Goihw16g"},
           Case{" NHWC ", "n h w c", "NHWC"},
           Case{"image-channel", "y:(n h) x:(c/4 w) lane:c%4", "y:(n h) x:(c/4 w) lane:c%4"},
           Case{"PHWC4", "n c/4 h w c%4", "nChw4c"},
           Case{"b_fs_yx_fsv16", "n c/16 h w c%16", "nChw16c"},
           Case{"c%4 n c/4", "c%4 n c/4", "c%4 n c/4"},
           Case{"n (h w) c", "n (h w) c", "n (h w) c"},
       }) {
    EXPECT_EQ(Layout::parse(c.spelling).text(), c.text) << c.spelling;
    EXPECT_EQ(Layout::parse(c.text).spelling(), c.back) << c.spelling;
  }
}

TEST(LayoutTest, WrongLayoutsAreExplained) {
  struct Case {
    const char *text, *sentence;
  };

  for (const Case& c : {
           Case{
               "n c/4 h w",
               "n c/4 h w: dim 'c': digit c/4 starts at stride 4, expected 1 (a digit is missing)"},
           Case{"n c%4 h w",
                "n c%4 h w: dim 'c': top digit c%4 is bounded by %4; the quotient c/4 is missing"},
           Case{"n c/4 c/8%2 h w c%4",
                "n c/4 c/8%2 h w c%4: dim 'c': c/4 needs %m, because c/8%2 is above it"},
           Case{"n c/8 h w c%4",
                "n c/8 h w c%4: dim 'c': digit c/8 starts at stride 8, expected 4 (a digit is "
                "missing)"},
           Case{
               "n c/2 h w c%4",
               "n c/2 h w c%4: dim 'c': digit c/2 starts at stride 2, expected 4 (digits overlap)"},
           Case{"n c h w c%4", "n c h w c%4: dim 'c': c needs %m, because c%4 is above it"},
           Case{"n n", "n n: dim 'n': n needs %m, because n is above it"},
           Case{"n (c h w", "n (c h w\n        ^ missing )"},
           Case{"n c) h", "n c) h\n   ^ unmatched )"},
           Case{"y:(n x:h) w", "y:(n x:h) w\n     ^ label inside a group"},
           Case{"n ? c", "n ? c\n  ^ expected label, factor or group"},
           Case{"", "\n^ expected label, factor or group"},
           Case{"n c/ h", "n c/ h\n    ^ expected a number after '/'"},
           Case{"n c%0", "n c%0\n    ^ this number must be at least 1"},
           Case{"n c~4294967296", "n c~4294967296\n    ^ this number exceeds 2^31"},
           Case{"n c~16B",
                "n c~16B\n      ^ only a group can be aligned to bytes, as in (h w)~16B"},
           Case{"n c/4 c%4~8", "n c/4 c%4~8: dim 'c': only the top digit may carry ~"},
           Case{"n c c%1~8", "n c c%1~8\n    ^ the empty digit %1 cannot carry ~"},
           Case{"n y:h x:w", "n y:h x:w\n  ^ what precedes the first label has no label"},
           Case{"y:h y:w", "y:h y:w\n    ^ this label occurs twice"},
           Case{"z:h", "z:h\n^ a label is y, x or lane"},
           Case{"y: x:w", "y: x:w\n   ^ expected factor or group"},
           Case{"y:h x:", "y:h x:\n      ^ expected factor or group after the label"},
           Case{"channels n", "channels n\n^ the name of an axis has at most seven letters"},
           Case{"NCHC", "NCHC\n   ^ this axis occurs twice"},
           Case{"nChw", "nChw\n ^ this capital promises a block, as in nChw16c"},
           Case{"nCHw16c", "nCHw16c\n  ^ this capital promises a block, as in nChw16c"},
           Case{"Nchw16c", "Nchw16c\n^ this capital promises a block, as in nChw16c"},
           Case{"nChw16h", "nChw16h\n ^ this capital promises a block, as in nChw16c"},
           Case{"nChw16", "nChw16\n      ^ expected capital letters as in NC4HW4 or NHWC4"},
           Case{"nChw16x", "nChw16x\n      ^ expected an axis, in lower case"},
           Case{"NC4HW8", "NC4HW8\n      ^ expected the block 4 again, at the end"},
           Case{"NC4HW", "NC4HW\n     ^ expected the block 4 again, at the end"},
           Case{"NC4H4W4", "NC4H4W4\n       ^ one axis at most has a block"},
           Case{"4NCHW", "4NCHW\n^ a layout does not begin with a number"},
           Case{"ABCDEFGHI", "ABCDEFGHI\n        ^ more than 8 axes"},
       }) {
    // Names that may have been meant stand in a line of their own.
    const std::string error = error_of(c.text);
    EXPECT_EQ(error.substr(0, std::min(error.find("\ndid you mean"), error.find("\ndocs/"))),
              c.sentence);
    EXPECT_EQ(code_of(c.text), ErrorCode::usage) << c.text;
  }
}

TEST(LayoutTest, CountsAreBounded) {
  std::string wide = "a/16777216";
  EXPECT_EQ(code_of(std::string(100, '(')), ErrorCode::limit);
  EXPECT_EQ(code_of(std::string(100000, '(')), ErrorCode::limit);
  for (int i = 0; i < 24; ++i) wide += " a/" + std::to_string(1 << i) + "%2";
  EXPECT_EQ(code_of(wide), ErrorCode::limit);
  EXPECT_EQ(code_of("W2w2w2w2w2w2w2w2w2w2w2w2w2w2w2w2w2w2w2w2w2w2w2w2w2w2w2w2w2w2w2w"),
            ErrorCode::usage);
  // Twenty levels are what fits; groups of nothing take no room.
  EXPECT_EQ(Layout::parse("((((((((((((((((((w))))))))))))))))))").axes().size(), 1u);
}

TEST(LayoutTest, AnyTextIsReadOrRefused) {
  std::mt19937 random(1);
  const std::string_view alphabet = "nchwoi yx:lane/%~()0123456789BNCHW16 -";
  int accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (std::size_t n = random() % 14; n-- > 0;) text += alphabet[random() % alphabet.size()];
    try {
      const Layout layout = Layout::parse(text);
      EXPECT_EQ(Layout::parse(layout.text()), layout) << text;
      EXPECT_EQ(Layout::parse(layout.spelling()), layout) << text;
      ++accepted;
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::usage || error.code() == ErrorCode::limit) << text;
    }
  }
  EXPECT_GT(accepted, 100);
}

TEST(LayoutTest, BuildersAgreeWithText) {
  const Shape shape("nchw", {1, 2, 3, 4});
  EXPECT_EQ(Layout::row_major(shape), Layout::parse("NCHW"));
  EXPECT_EQ(Layout::row_major(Shape()), Layout());
  EXPECT_EQ(Layout::blocked(shape, 1, 8), Layout::parse("nChw8c"));
  EXPECT_EQ(Layout::blocked(shape, 3, 4), Layout::parse("n c h w/4 w%4"));
  EXPECT_EQ(Layout::blocked(shape, 1, 1), Layout::parse("NCHW"));
  EXPECT_THROW(Layout::blocked(shape, 4, 8), Error);
  EXPECT_THROW(Layout::blocked(shape, -1, 8), Error);
  EXPECT_THROW(Layout::blocked(shape, 1, 0), Error);
  EXPECT_THROW(Layout::row_major(axes("abca")), Error);
}

TEST(LayoutTest, RenamedIsUndoneByTheInverse) {
  for (const NamedLayout& line : layout_catalog()) {
    const Layout layout = Layout::parse(line.layout);
    const std::vector<Axis> old = layout.axes();
    const std::vector<Axis> fresh = axes(std::string_view("pqrstuvz").substr(0, old.size()));
    const Layout renamed = layout.renamed(old, fresh);
    EXPECT_EQ(renamed.axes(), fresh);
    EXPECT_EQ(renamed.renamed(fresh, old), layout);
    EXPECT_EQ(layout.renamed(axes("pq"), axes("rs")), layout);
  }
  EXPECT_EQ(Layout::parse("n c h w").renamed(axes("hw"), axes("wh")), Layout::parse("n c w h"));
  EXPECT_THROW(Layout::parse("n c h w").renamed(axes("h"), axes("w")), Error);
  EXPECT_THROW(Layout::parse("n c h w").renamed(axes("hw"), axes("dd")), Error);
  EXPECT_THROW(Layout::parse("n c h w").renamed(axes("hw"), axes("d")), Error);
}

TEST(LayoutTest, WithoutDropsEveryDigit) {
  struct Case {
    const char *in, *drop, *out;
  };

  for (const Case& c : {
           Case{"n c/4 h w c%4", "n", "c/4 h w c%4"},
           Case{"n c/4 h w c%4", "c", "n h w"},
           Case{"n c/4 h w c%4", "nchw", "()"},
           Case{"y:(n h) x:(c/4 w) lane:c%4", "nh", "y:() x:(c/4 w) lane:c%4"},
           Case{"c/4 (h w)~16B c%4", "hw", "c/4 ()~16B c%4"},
           Case{"n c h w", "d", "n c h w"},
       }) {
    EXPECT_EQ(Layout::parse(c.in).without(axes(c.drop)).text(), c.out);
    EXPECT_EQ(Layout::parse(c.in).without(axes(c.drop)), Layout::parse(c.out));
  }
}

}  // namespace

}  // namespace stowage
