// SPDX-License-Identifier: Apache-2.0
// Axis names, shapes and scalar types: what is read is printed, what is wrong is said.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <limits>
#include <vector>

#include "stowage/error.h"
#include "stowage/layout.h"

namespace stowage {

namespace {

std::string sentence_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.sentence();
  }
  return "no error";
}

ErrorCode code_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::internal;
}

TEST(DTypeTest, NamesReadBack) {
  const int bytes[] = {4, 2, 2, 8, 1, 1, 2, 2, 4, 4, 8, 8, 1};
  for (int i = 0; i < 13; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(parse_dtype(dtype_name(dtype)), dtype);
    EXPECT_EQ(dtype_bytes(dtype), bytes[i]) << dtype_name(dtype);
  }
  EXPECT_EQ(sentence_of([] { parse_dtype("float"); }),
            "'float' is not a scalar type; there are f32, f16, bf16, f64, u8, i8, u16, i16, u32, "
            "i32, u64, i64, bool");
}

TEST(AxisTest, OneToSevenLowerCaseLetters) {
  for (const char* name : {"n", "lane", "abcdefg"}) EXPECT_EQ(Axis(name).name(), name);
  for (const char* name : {"", "N", "a1", "abcdefgh", "a b"}) {
    EXPECT_EQ(code_of([&] { (void)Axis(name); }), ErrorCode::usage) << name;
  }
}

TEST(ShapeTest, UnnamedAxes) {
  EXPECT_EQ(Shape::unnamed(std::array<std::int64_t, 3>{2, 0, 5}).text(), "a=2,b=0,c=5");
  for (const char* axes : {"", "a", "abcdefgh"}) {
    const std::vector<std::int64_t> ones(std::string_view(axes).size(), 1);
    EXPECT_EQ(Shape::unnamed(ones), Shape(axes, ones));
    EXPECT_TRUE(Shape(axes, ones).is_unnamed()) << axes;
  }
  for (const char* axes : {"b", "ba", "abd", "nchw", "abcdefgx"}) {
    const std::vector<std::int64_t> ones(std::string_view(axes).size(), 1);
    EXPECT_FALSE(Shape(axes, ones).is_unnamed()) << axes;
  }
  EXPECT_EQ(code_of([] { Shape::unnamed(std::vector<std::int64_t>(9, 1)); }), ErrorCode::limit);
}

TEST(ShapeTest, TextReadsBack) {
  for (const char* text : {"", "w=0", "n=1,c=3,h=4,w=5", "batch=2,time=7", "w=140737488355327"}) {
    EXPECT_EQ(Shape::parse(text).text(), text);
    EXPECT_EQ(Shape::parse(Shape::parse(text).text()), Shape::parse(text));
  }
  const Shape shape("nchw", {2, 3, 5, 7});
  EXPECT_EQ(shape, Shape::parse("n=2,c=3,h=5,w=7"));
  EXPECT_EQ(shape.elements(), 210);
  EXPECT_EQ(shape.index_of(Axis("h")), 2);
  EXPECT_EQ(shape.index_of(Axis("d")), -1);
  EXPECT_EQ(Shape().elements(), 1);
  EXPECT_EQ(Shape("ab", {3, 0}).elements(), 0);
}

TEST(ShapeTest, WrongTextIsPointedAt) {
  struct Case {
    const char *text, *sentence;
  };

  for (const Case& c : {
           Case{"n=1,C=3",
                "n=1,C=3\n    ^ expected an axis in lower-case letters, as in n=1,c=3,h=4,w=5"},
           Case{"n=1,",
                "n=1,\n    ^ expected an axis in lower-case letters, as in n=1,c=3,h=4,w=5"},
           Case{"n:1", "n:1\n ^ expected '='"},
           Case{"n=", "n=\n  ^ expected an extent >= 0"},
           Case{"n=-1", "n=-1\n  ^ expected an extent >= 0"},
           Case{"n=1 c=2", "n=1 c=2\n   ^ expected ','"},
           Case{"n=1,n=2", "n=1,n=2\n    ^ this axis occurs twice"},
           Case{"n=99999999999999999999",
                "n=99999999999999999999\n  ^ this extent exceeds 64 bits"},
       }) {
    EXPECT_EQ(sentence_of([&] { Shape::parse(c.text); }), c.sentence);
  }
}

TEST(ShapeTest, LimitsAreChecked) {
  EXPECT_EQ(code_of([] { Shape("nn", {1, 2}); }), ErrorCode::usage);
  EXPECT_EQ(code_of([] { Shape("nc", {1}); }), ErrorCode::usage);
  EXPECT_EQ(code_of([] { Shape("n", {-1}); }), ErrorCode::usage);
  EXPECT_EQ(code_of([] { Shape("abcdefghi", {1, 1, 1, 1, 1, 1, 1, 1, 1}); }), ErrorCode::limit);
  EXPECT_EQ(code_of([] { Shape("a", {std::int64_t{1} << 47}); }), ErrorCode::limit);
  EXPECT_EQ(code_of([] {
              Shape("ab", {std::int64_t{1} << 24, std::int64_t{1} << 23});
            }),
            ErrorCode::limit);
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(code_of([&] { Shape("abc", {huge, huge, 0}); }), ErrorCode::limit);
  EXPECT_EQ(Shape("a", {(std::int64_t{1} << 47) - 1}).elements(), (std::int64_t{1} << 47) - 1);
}

}  // namespace

}  // namespace stowage
