// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace stowage {
namespace {

TEST(Nearest, OfNames) {
  const std::vector<std::string_view> names = {
      "image", "input-format", "output-format", "NCHW",  "NHWC",   "nChw4c", "NCW",
      "W",     "threads",      "bench",         "check", "convert"};

  struct {
    std::string_view word, nearest;
  } const cases[] = {
      {"imge", "image"},
      {"imagee", "image"},
      {"benhc", "bench"},
      {"nwhc", "NHWC"},
      {"nhwc", "NHWC"},
      {"nchw4c", "nChw4c"},
      {"nchw4", "NCHW"},
      {"Input_Format", "input-format"},
      {"input-fromat", "input-format"},
      {"treads", "threads"},
      {"con", "convert"},
      {"benchmark", "bench"},
      {"output-format-of-all", "output-format"},
      {"convert", "convert"},
      {"foo", ""},
      {"w", ""},
      {"nw", ""},
      {"", ""},
      {"quantise", ""},
  };

  for (const auto& c : cases) EXPECT_EQ(nearest(c.word, names), c.nearest) << c.word;
  EXPECT_EQ(nearest(std::string(1000, 'a'), names), "");
  EXPECT_EQ(nearest("image", std::vector<std::string_view>{std::string_view()}), "");
}

TEST(Nearest, AsAQuestion) {
  const std::vector<std::string_view> names = {"image"};
  EXPECT_EQ(did_you_mean("imge", names, "--"), "; did you mean --image?");
  EXPECT_EQ(did_you_mean("mean", names, "--"), "");
}

}  // namespace
}  // namespace stowage
