// SPDX-License-Identifier: Apache-2.0
#include "convert/slices.h"

#include <gtest/gtest.h>

#include "convert/test_util.h"

namespace stowage {
namespace {

using namespace conversion_test;

const char* const kLayouts[] = {"n c h w",
                                "n h w c",
                                "n c/4 h w c%4",
                                "n c/16 h w c%16",
                                "n c/6 h w c%6",
                                "n (c/4 (h w)~16B c%4)~64B",
                                "y:(n h) x:(c/4 w) lane:c%4",
                                "y:(n h/4) x:(c w) lane:h%4",
                                "n h w c~4",
                                "n h w (c)~5",
                                "w h c n",
                                "n h/2 w/2 c h%2 w%2"};

constexpr DType kCasts[][2] = {{DType::f32, DType::f16}, {DType::f16, DType::f32},
                               {DType::u8, DType::f16},  {DType::f32, DType::i8},
                               {DType::f64, DType::u16}, {DType::u8, DType::f32}};

TEST(ConvertSlices, EveryPairOfLayouts) {
  Random random(41);
  ThreadPool pool(3);
  for (const char* from : kLayouts) {
    for (const char* to : kLayouts) {
      for (const auto& [src, dst] : kCasts) {
        const Shape shape("nchw", {pick(random, {1, 2, 3}), pick(random, {3, 5, 18, 30, 33, 47}),
                                   pick(random, {1, 6, 13, 24}), pick(random, {4, 19, 40, 64})});
        ASSERT_EQ(difference({from, to, shape, src, dst, {}, {}, {}}, random,
                             random() % 2 == 0 ? &pool : nullptr),
                  "");
      }
    }
  }
}

// One side lacks an axis; rows of an image take a multiple of so many texels.
TEST(ConvertSlices, MissingAxesAndRowPitch) {
  Random random(42);
  const Shape shape("nchw", {1, 30, 33, 29});
  for (const auto& [from, to] :
       {std::pair("h w c", "n c/4 h w c%4"), std::pair("n c/8 h w c%8", "y:h x:(c/4 w) lane:c%4"),
        std::pair("y:(n h) x:(c/4 w) lane:c%4", "h w c")}) {
    for (const std::int64_t pitch : {1, 64}) {
      for (const auto& [src_type, dst_type] : kCasts) {
        const Case c{from, to, shape, src_type, dst_type, {}, {}, {}, pitch};
        EXPECT_EQ(difference_of(c, {}, random, nullptr), "") << pitch;
      }
    }
  }
}

std::string kernel_of(const char* from, const char* to, std::int64_t channels,
                      DType src = DType::f32, DType dst = DType::u8) {
  const Shape shape("nchw", {2, channels, 24, 24});
  return Program(src, Mapping(Layout::parse(from), shape, dtype_bytes(src)), dst,
                 Mapping(Layout::parse(to), shape, dtype_bytes(dst)), {})
      .kernel();
}

TEST(ConvertSlices, AreChosenForTails) {
  EXPECT_EQ(kernel_of("n h w c", "n c/4 h w c%4", 30), "f32->u8 slices");
  EXPECT_EQ(kernel_of("n c/4 h w c%4", "n h w c", 30), "f32->u8 slices");
  EXPECT_NE(kernel_of("n h w c", "n c/4 h w c%4", 32), "f32->u8 slices");
  EXPECT_NE(kernel_of("n c h w", "n c/4 h w c%4", 30), "f32->u8 slices");
  EXPECT_NE(kernel_of("n h w c~64", "n c/8 h w c%8", 17), "f32->u8 slices");  // mostly tails
  // An axis with a tail is not cut, and a pixel of so many channels does not fit.
  EXPECT_NE(kernel_of("n h w c", "n c/4 h w c%4", 19001), "f32->u8 slices");
  // Where there are tiles of runs they are better, but for tails of wide elements.
  const bool tiles = conversion::kernels()
                         .moves[static_cast<std::size_t>(conversion::Fast::f32)]
                               [static_cast<std::size_t>(conversion::Fast::f16)]
                         .transpose_runs != nullptr;
  EXPECT_EQ(kernel_of("n h w c", "n c/4 h w c%4", 30, DType::f32, DType::f16),
            tiles ? "f32->f16 copy" : "f32->f16 slices");
  EXPECT_EQ(kernel_of("n c/4 h w c%4", "n h w c", 30, DType::f16, DType::f32), "f16->f32 slices");
}

// Of a stage, whose job was a copy of runs across blocks first.
TEST(ConvertSlices, StagesSayTheirBytes) {
  const Shape shape("nchw", {1, 256, 26, 26});
  const Mapping src(Layout::parse("y:(n h) x:(c/4 w) lane:c%4"), shape, 2),
      dst(Layout::parse("n h w c"), shape, 1);
  const std::string explained = Program(DType::bf16, src, DType::u8, dst, {}).explain();
  EXPECT_EQ(explained.find("stage: " + std::to_string(dst.bytes()) + " bytes in "), 0u)
      << explained;
}

// How far slices are from each other in both tensors, and that they are all of them.
TEST(ConvertSlices, CutBothSides) {
  const Shape shape("nchw", {2, 30, 57, 57});
  conversion::Side src(Mapping(Layout::parse("n h w c"), shape, 4), 4),
      dst(Mapping(Layout::parse("n c/4 h w c%4"), shape, 2), 2);
  conversion::Slices slices;
  ASSERT_TRUE(conversion::cut_slices(src, dst, slices));
  EXPECT_TRUE(slices.cast_first);
  EXPECT_EQ(slices.ranges.n, 1);
  EXPECT_EQ(slices.elements, src.shape.elements());
  EXPECT_EQ(src.bytes, 2);
  const std::int64_t rows = src.shape[2], whole = 57 / rows;
  EXPECT_EQ(slices.parts.n, 2 * whole);
  const conversion::Loop &inner = slices.parts.loops[0], &outer = slices.parts.loops[1];
  ASSERT_EQ(slices.parts.count, 2);
  EXPECT_EQ(inner.n, whole);
  EXPECT_EQ(inner.is, rows * 57 * 30 * 4);
  EXPECT_EQ(inner.os, rows * 57 * 4 * 2);
  EXPECT_EQ(outer.is, 57 * 57 * 30 * 4);
  // Rows that are no whole slice end a slice of their own.
  EXPECT_EQ(slices.rest_is, 57 % rows * 57 * 30 * 4);
  EXPECT_EQ(slices.rest_os, 57 % rows * 57 * 4 * 2);
}

}  // namespace
}  // namespace stowage
