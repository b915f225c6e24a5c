// SPDX-License-Identifier: Apache-2.0
// Words that are no layout, or none that fits, get the name that was perhaps meant.
#include "layout/layout_parse.h"

#include <gtest/gtest.h>

#include <optional>

#include "stowage/error.h"

namespace stowage {
namespace {

TEST(LayoutParse, SuggestsNames) {
  struct {
    const char *layout, *shape;  ///< no shape: the layout alone is refused
    const char* words;
  } const cases[] = {
      {"NCHWc", nullptr, "\ndid you mean NCHW? docs/layouts.md lists the names"},
      {"NCHW4cc", nullptr, "\ndid you mean nChw4c? docs/layouts.md"},
      {"image-chanel", nullptr, "\ndid you mean image-channel? docs/layouts.md"},
      {"Foo", nullptr, "occurs twice\ndocs/layouts.md lists the names"},
      {"nwhc", "n=1,c=2", "; did you mean NHWC? docs/layouts.md lists the names"},
      {"nhwc", "n=1,c=2,h=1,w=1", "; did you mean NHWC?"},
      {"nhwc", "n=1", "has no dim 'nhwc'; did you mean NHWC?"},
      {"foo", "n=1", "; docs/layouts.md lists the names"},
  };

  for (const auto& c : cases) {
    SCOPED_TRACE(c.layout);
    try {
      const Layout layout = Layout::parse(c.layout);
      ASSERT_NE(c.shape, nullptr) << layout.text();
      const Mapping mapping(layout, Shape::parse(c.shape), 4);
      ADD_FAILURE() << mapping.cells();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::usage);
      EXPECT_NE(error.sentence().find(c.words), std::string::npos) << error.sentence();
    }
  }
}

TEST(LayoutParse, SuggestsNothingForExpressions) {
  for (const char* layout : {"n c/ h w", "n c/4 h w", "(h w", "N"}) {
    std::optional<Layout> read;
    try {
      read = Layout::parse(layout);
    } catch (const Error& error) {
      EXPECT_EQ(error.sentence().find("docs/"), std::string::npos) << error.sentence();
    }
  }
  // One axis of several letters is a layout where the shape has it.
  EXPECT_EQ(Mapping(Layout::parse("nhwc"), Shape::parse("nhwc=3"), 4).cells(), 3);
}

}  // namespace
}  // namespace stowage
