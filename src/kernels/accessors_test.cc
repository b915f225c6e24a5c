// SPDX-License-Identifier: Apache-2.0
// Accessors and launches as text and numbers: what can be said of them without a device.
#include "kernels/accessors.h"

#include <gtest/gtest.h>

#include "kernels/copy/move.h"
#include "kernels/elementwise/map.h"

namespace stowage {
namespace {

LaunchView view(const char* layout, const Shape& shape,
                Place::Memory memory = Place::Memory::buffer, DType dtype = DType::f32) {
  return {Mapping(Layout::parse(layout), shape, dtype_bytes(dtype)), dtype, memory};
}

TEST(Accessors, TexelAxis) {
  struct Case {
    const char* layout;
    Shape shape;
    int axis;
  };

  const Shape picture("nchw", {2, 5, 3, 6});
  const Case cases[] = {
      {"image-channel", picture, 1},
      {"image-height", picture, 2},
      {"image-width", picture, 3},
      {"n c/4 h w c%4", picture, 1},
      {"n c/16 h w c%16", picture, 1},
      {"n c/6 h w c%6", picture, -1},
      {"n c h w", picture, -1},
      {"n h w c", picture, -1},
      // Rows of whole texels.
      {"n c h w", Shape("nchw", {2, 5, 3, 8}), 3},
      {"n h w c", Shape("nchw", {2, 4, 3, 7}), 1},
      {"n c h w", Shape("nchw", {2, 8, 1, 1}), 1},
      {"image-argument", Shape("w", {9}), 0},
      {"()", Shape(), -1},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(texel_axis(Mapping(Layout::parse(c.layout), c.shape, 4)), c.axis)
        << c.layout << " " << c.shape.text();
  }
}

TEST(Accessors, ItemsAreTexels) {
  const Shape picture("nchw", {2, 5, 3, 6});
  using Items = std::array<std::int64_t, 3>;
  EXPECT_EQ(items_of(view("image-channel", picture, Place::Memory::image)), (Items{12, 6, 1}));
  EXPECT_EQ(items_of(view("image-channel", picture)), (Items{72, 1, 1}));
  EXPECT_EQ(items_of(view("n c h w", picture)), (Items{180, 1, 1}));
  EXPECT_EQ(items_of(view("n c h w", Shape("nchw", {2, 5, 3, 8}))), (Items{60, 1, 1}));
}

/// Strides of an image are those of its own coordinates; of a buffer they count texels.
TEST(Accessors, Arguments) {
  const Shape picture("nchw", {2, 5, 3, 6});
  const AccessorArgs image = accessor_args(view("image-channel", picture, Place::Memory::image));
  EXPECT_EQ(image.extents, (std::array<std::int32_t, 8>{2, 5, 3, 6}));
  EXPECT_EQ(image.strides, (std::array<std::int32_t, 8>{3, 1, 6, 1}));
  const AccessorArgs buffer = accessor_args(view("image-channel", picture));
  EXPECT_EQ(buffer.strides, (std::array<std::int32_t, 8>{36, 12, 6, 1}));
  const AccessorArgs plain = accessor_args(view("n c h w", picture));
  EXPECT_EQ(plain.strides, (std::array<std::int32_t, 8>{90, 18, 6, 1}));
}

/// A program belongs to layouts, types and places, not to shapes.
TEST(Accessors, TextKnowsNoExtent) {
  const auto text_of = [](const Shape& shape, DType dtype, Place::Memory memory) {
    return accessor_text("x", view("image-channel", shape, memory, dtype), false);
  };
  const Shape small("nchw", {1, 3, 5, 7}), large("nchw", {8, 100, 33, 21});
  for (const DType dtype : {DType::f32, DType::f16}) {
    for (const auto memory : {Place::Memory::buffer, Place::Memory::image}) {
      EXPECT_EQ(text_of(small, dtype, memory), text_of(large, dtype, memory));
    }
  }
  EXPECT_NE(text_of(small, DType::f32, Place::Memory::buffer),
            text_of(small, DType::f16, Place::Memory::buffer));
  EXPECT_NE(text_of(small, DType::f32, Place::Memory::buffer),
            text_of(small, DType::f32, Place::Memory::image));
}

TEST(Accessors, WhatTheyDoNotKnow) {
  const Shape picture("nchw", {2, 5, 3, 6});
  EXPECT_TRUE(has_accessors(view("image-channel", picture, Place::Memory::image)));
  EXPECT_FALSE(has_accessors(view("n c h w", picture, Place::Memory::image)));
  EXPECT_TRUE(has_accessors(view("image-channel", picture, Place::Memory::image, DType::u8)));
  EXPECT_TRUE(has_accessors(view("n c h w", picture, Place::Memory::buffer, DType::i8)));
  EXPECT_FALSE(has_accessors(view("n c h w", picture, Place::Memory::buffer, DType::i32)));
  EXPECT_FALSE(has_accessors(view("n c h w", picture, Place::Memory::buffer, DType::boolean)));
  const Shape nine("abcdefgh", {2, 2, 2, 2, 2, 2, 2, 3});
  EXPECT_TRUE(has_accessors(view("a b c d e f g h", nine)));
  // Nine digits beside the lane.
  EXPECT_FALSE(
      has_accessors(view("a b c d e f/2 g h f%2", Shape("abcdefgh", {2, 2, 2, 2, 2, 4, 2, 3}))));
}

/// Of axes without texels and with, tails counted; memory that is too short or too long.
TEST(Accessors, Bounds) {
  const Shape picture("nchw", {2, 5, 3, 6});
  const LaunchView image = view("image-channel", picture, Place::Memory::image);
  const BoundsRow of_image(image, {100, 4});
  EXPECT_EQ(of_image.there, (std::array<std::int32_t, 2>{12, 4}));
  EXPECT_EQ(of_image.padded, (std::array<std::int32_t, 8>{2, 8, 3, 6}));
  const LaunchView plain = view("n c h w", picture);
  EXPECT_EQ(BoundsRow(plain, {1000, 0}).there[0], 180);
  EXPECT_EQ(BoundsRow(plain, {179, 0}).there[0], 179);
  EXPECT_EQ(BoundsRow(plain, {-4, 0}).there[0], 0);
  EXPECT_EQ(BoundsRow(plain, {180, 0}).padded, (std::array<std::int32_t, 8>{2, 5, 3, 6}));
}

/// Without checks nothing of them is in a program; with them every access asks.
TEST(Accessors, ChecksAreInTheTextWhereTheyAreAskedFor) {
  const Shape picture("nchw", {2, 5, 3, 6});
  for (const auto memory : {Place::Memory::image, Place::Memory::buffer}) {
    for (const char* layout : {"image-channel", "n c h w"}) {
      const LaunchView in[] = {view("image-channel", picture, memory)},
                       out[] = {view(layout, picture)};
      const Launch launch = conversion_launch({in, out});
      const std::string plain = launch_preamble(launch, {in, out});
      EXPECT_EQ(plain.find("bounds_"), std::string::npos);
      EXPECT_EQ(plain.find("counted_"), std::string::npos);
      const std::string checked = launch_preamble(launch, {in, out}, true);
      for (const char* macro : {"READ_x", "AT_x", "WRITE_y", "STORE_y"}) {
        const std::size_t line = checked.find(std::string("#define ") + macro);
        EXPECT_LT(checked.find("counted_(", line), checked.find('\n', line)) << macro;
      }
    }
  }
}

/// A launch is data: the same on every machine, and equal where nothing differs.
TEST(Launches, AreData) {
  const Shape picture("nchw", {2, 5, 3, 6});
  const LaunchView in[] = {view("image-channel", picture, Place::Memory::image)};
  const LaunchView out[] = {view("n c h w", picture)};
  const LaunchArgs args{in, out};
  const Launch a = conversion_launch(args), b = conversion_launch(args);
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.source, "move");
  EXPECT_EQ(a.items, (std::array<std::int64_t, 3>{180, 1, 1}));
  EXPECT_EQ(launch_preamble(a, args), launch_preamble(b, args));
  MapParams params;
  params.function.fn = Fn::neg;
  const KernelCall call(kMap, params);
  EXPECT_EQ(call.launch(args), call.launch(args));
  params.function.fn = Fn::abs;
  EXPECT_NE(KernelCall(kMap, params).launch(args), call.launch(args));
}

}  // namespace
}  // namespace stowage
