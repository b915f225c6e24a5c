// SPDX-License-Identifier: Apache-2.0
#include "stowage/data_format.h"

#include <gtest/gtest.h>

#include <string>

namespace stowage {
namespace {

TEST(DataFormat, IsTheOrderOfTheNamesOfFourAxes) {
  const struct {
    const char* axes;
    DataFormat format;
  } cases[] = {
      {"nchw", DataFormat::nchw}, {"nhwc", DataFormat::nhwc},  {"abcd", DataFormat::none},
      {"nwhc", DataFormat::none}, {"ncab", DataFormat::none},  {"ncw", DataFormat::none},
      {"nc", DataFormat::none},   {"ncdhw", DataFormat::none}, {"", DataFormat::none},
  };

  for (const auto& c : cases) {
    const std::string axes = c.axes;
    const std::vector<std::int64_t> extents(axes.size(), 3);
    EXPECT_EQ(data_format(Shape(axes, extents)), c.format) << axes;
  }
}

TEST(DataFormat, WordsInAnyCase) {
  for (const DataFormat format : {DataFormat::none, DataFormat::nchw, DataFormat::nhwc}) {
    std::string word(data_format_name(format));
    EXPECT_EQ(parse_data_format(word), format);
    for (char& c : word) c = static_cast<char>(c - 'A' + 'a');
    EXPECT_EQ(parse_data_format(word), format) << word;
    word[0] = static_cast<char>(word[0] - 'a' + 'A');
    EXPECT_EQ(parse_data_format(word), format) << word;
  }
  for (const char* word : {"", "NCH", "NCHWx", "HWC", "N#HW", "auto"}) {
    EXPECT_EQ(parse_data_format(word), std::nullopt) << word;
  }
}

}  // namespace
}  // namespace stowage
