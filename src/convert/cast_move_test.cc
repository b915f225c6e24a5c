// SPDX-License-Identifier: Apache-2.0
// Casts that one kernel does while it moves what it casts.
#include "convert/cast_move.h"

#include <gtest/gtest.h>

#include "convert/test_util.h"

namespace stowage {
namespace {

using namespace conversion_test;

/// Agrees with the oracle on every instruction set.
void expect_same(const Case& c, Random& random, ThreadPool& pool, const Options& options = {}) {
  for (const std::int64_t target : conversion::instruction_sets()) {
    conversion::use_instruction_set(target);
    EXPECT_EQ(difference(c, random, random() % 2 ? &pool : nullptr, options), "") << target;
  }
  conversion::use_instruction_set(0);
}

std::string explained(const Case& c) {
  const Mapping src(Layout::parse(c.from), c.shape, dtype_bytes(c.src));
  const Mapping dst(Layout::parse(c.to), c.shape, dtype_bytes(c.dst));
  return Conversion(c.src, src, c.dst, dst, {c.mean, c.norm, c.axis}).explain();
}

// Rows that are even, rows and columns that are tables, sides that are no whole pieces or words.
TEST(ConvertCastMoves, FloatsToBytesOfRowsAndColumns) {
  Random random(31);
  ThreadPool pool(3);
  const char* const layouts[][2] = {
      {"n c h w", "n h w c"},         {"n h w c", "n c h w"}, {"n (c)~5 h w", "n h (w)~3 c"},
      {"n c h w", "n c/32 h w c%32"}, {"n h w c", "h c w n"}, {"n c/16 h w c%16", "n h c w"},
  };
  for (const auto& [from, to] : layouts) {
    for (const std::int64_t c :
         {1, 3, 4, 15, 16, 17, 18, 19, 30, 31, 33, 63, 64, 65, 66, 67, 130}) {
      const Shape shape("nchw", {pick(random, {1, 2, 17}), c, pick(random, {1, 3, 8, 13}),
                                 pick(random, {1, 4, 7, 16, 30})});
      const DType to_type = random() % 2 ? DType::u8 : DType::i8;
      expect_same({from, to, shape, DType::f32, to_type, {}, {}, {}}, random, pool);
    }
  }
}

// Sides that are no whole tiles, of one and of several blocks, and columns within lines.
TEST(ConvertCastMoves, HalvesOfRowsAndColumns) {
  Random random(36);
  ThreadPool pool(3);
  const char* const layouts[][2] = {
      {"n c h w", "n h w c"},     {"n h w c", "n c h w"},         {"n c h w", "n h w (c)~32"},
      {"n h w (c)~7", "n h c w"}, {"n c h w", "n c/32 h w c%32"}, {"n h w c", "n c~64 h w"},
  };
  for (const auto& [from, to] : layouts) {
    for (const std::int64_t c : {31, 32, 33, 39, 40, 41, 47, 48, 49, 56, 57, 63, 64, 65, 97, 130}) {
      const Shape shape("nchw", {pick(random, {1, 2}), c, pick(random, {1, 7, 8, 13}),
                                 pick(random, {4, 7, 16, 30, 64})});
      const DType half = random() % 2 ? DType::f16 : DType::bf16;
      expect_same({from, to, shape, DType::f32, half, {}, {}, {}}, random, pool);
      expect_same({from, to, shape, half, DType::f32, {}, {}, {}}, random, pool);
    }
  }
}

TEST(ConvertCastMoves, PixelsAndQuads) {
  Random random(32);
  ThreadPool pool(3);
  for (std::int64_t c = 1; c <= 9; ++c) {
    for (const std::int64_t w : {1, 2, 3, 4, 5, 15, 16, 17, 21, 22, 23, 64, 100, 1001}) {
      const Shape shape("nchw", {pick(random, {1, 2}), c, pick(random, {1, 3, 40}), w});
      Case spread{"n h w c", "n c/4 h w c%4", shape, DType::u8, DType::f32, {}, {}, Axis("c")};
      expect_same(spread, random, pool);
      spread.mean = {random() % 8 * 0.25f};
      spread.norm = {0.5f};
      expect_same(spread, random, pool);
      spread.mean.resize(static_cast<std::size_t>(c), 3.0f);
      spread.norm.resize(static_cast<std::size_t>(c), -0.125f);
      expect_same(spread, random, pool);
      const DType to = random() % 2 ? DType::u8 : DType::i8;
      for (const char* quads : {"n c/4 h w c%4", "n h w (c)~4"}) {
        if (quads[2] == 'h' && c > 4) continue;
        expect_same({quads, "n h w c", shape, DType::f32, to, {}, {}, {}}, random, pool);
      }
    }
  }
}

TEST(ConvertCastMoves, RowsIntoQuads) {
  Random random(33);
  ThreadPool pool(3);
  constexpr DType kTypes[] = {DType::f16, DType::bf16, DType::u8,
                              DType::i8,  DType::u16,  DType::i16};
  for (const DType from : kTypes) {
    for (const std::int64_t c : {1, 2, 3, 4, 5, 7, 8, 30}) {
      for (const std::int64_t w : {1, 3, 7, 8, 9, 15, 16, 17, 33, 4099}) {
        const Shape shape("nchw", {pick(random, {1, 2}), c, pick(random, {1, 3}), w});
        for (const char* rows : {"n c h w", "n c h (w)~5", "n h c w"})
          expect_same({rows, "n c/4 h w c%4", shape, from, DType::f32, {}, {}, {}}, random, pool);
      }
    }
  }
}

// Blocks whose last one would be a sliver; columns that are mostly tails; stores that bypass the
// caches.
TEST(ConvertCastMoves, HalvesOfManyRows) {
  Random random(38);
  ThreadPool pool(3);
  for (const std::int64_t c : {64, 128, 129, 135, 136, 257}) {
    const Shape shape("nchw", {1, c, 32, 33});
    for (const std::size_t huge_from : {std::size_t{1000}, std::size_t{1} << 30}) {
      const Options options{.huge_from = huge_from};
      for (const auto& [src, dst] :
           {std::pair(DType::f32, DType::f16), std::pair(DType::bf16, DType::f32)}) {
        expect_same({"n c h w", "n h w c", shape, src, dst, {}, {}, {}}, random, pool, options);
        expect_same({"n h w c", "n c h w", shape, src, dst, {}, {}, {}}, random, pool, options);
      }
    }
  }
  for (const char* planes : {"n c~8 h w", "n c~64 h w"}) {
    const Shape shape("nchw", {2, 3, 24, 30});
    expect_same({"n h w c", planes, shape, DType::f32, DType::f16, {}, {}, {}}, random, pool);
    expect_same({"n h w c", planes, shape, DType::f16, DType::f32, {}, {}, {}}, random, pool);
  }
}

TEST(ConvertCastMoves, QuadsWithoutCast) {
  Random random(39);
  ThreadPool pool(3);
  for (const DType dtype : {DType::u8, DType::bf16, DType::f32}) {
    for (const std::int64_t c : {1, 4, 5, 8, 30}) {
      for (const std::int64_t w :
           {1, 5, 11, 12, 15, 16, 17, 24, 31, 32, 33, 47, 48, 63, 64, 65, 777}) {
        const Shape shape("nchw", {pick(random, {1, 2}), c, pick(random, {1, 3, 8, 13}), w});
        for (const char* rows : {"n c h w", "n c h (w)~5", "n h c w"}) {
          for (const char* quads : {"n c/4 h w c%4", "y:(n h) x:(c/4 w) lane:c%4"}) {
            const Options options{.huge_from = random() % 2 ? 1000u : std::size_t{1} << 30};
            const std::int64_t pitch = pick(random, {1, 64});
            expect_same({rows, quads, shape, dtype, dtype, {}, {}, {}, pitch}, random, pool,
                        options);
            expect_same({quads, rows, shape, dtype, dtype, {}, {}, {}, pitch}, random, pool,
                        options);
          }
        }
      }
    }
  }
}

// Several elements of blocks move as one: two or four rows of them and pixels, as they are and
// cast, some rows without a source.
TEST(ConvertCastMoves, BlocksOfBlocks) {
  Random random(41);
  ThreadPool pool(3);
  const char* const layouts[][2] = {
      {"n c/8 h w c%8", "n c/4 h w c%4"},
      {"n c/8 h w c%8", "y:(n h) x:(c/4 w) lane:c%4"},
      {"n c/16 h w c%16", "y:(n h) x:(c/4 w) lane:c%4"},
      {"n c/16 h w c%16", "n c/4 h w c%4"},
      {"n h c/16 w c%16", "n c/8 h (w)~5 c%8"},
  };
  constexpr DType kTypes[][2] = {
      {DType::u8, DType::u8},   {DType::f16, DType::f16},  {DType::f32, DType::f32},
      {DType::f32, DType::f16}, {DType::bf16, DType::f32}, {DType::f32, DType::i8},
      {DType::u8, DType::f32},  {DType::f32, DType::u8},   {DType::i8, DType::f32},
      {DType::u8, DType::f16},  {DType::f16, DType::i8},
  };
  for (const auto& [wide, narrow] : layouts) {
    for (const auto& [from, to] : kTypes) {
      for (const std::int64_t w : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 157}) {
        const Shape shape("nchw", {pick(random, {1, 2}), pick(random, {3, 4, 8, 13, 16, 20, 40}),
                                   pick(random, {1, 3, 7}), w});
        const std::int64_t pitch = pick(random, {1, 64});
        expect_same({wide, narrow, shape, from, to, {}, {}, {}, pitch}, random, pool);
        expect_same({narrow, wide, shape, from, to, {}, {}, {}, pitch}, random, pool);
      }
    }
  }
  // Rows of zeros, more than there are of zero_bytes.
  const Shape shape("nchw", {1, 4, 1, 5000});
  for (const auto& [from, to] : kTypes) {
    expect_same({"n c/4 h w c%4", "n c/16 h w c%16", shape, from, to, {}, {}, {}}, random, pool);
    expect_same({"n c/8 h w c%8", "n c/16 h w c%16", shape, from, to, {}, {}, {}}, random, pool);
  }
}

// Quads next to each other and in images, whose rows are long enough for a register or not.
TEST(ConvertCastMoves, QuadsOfHalvesAndBytes) {
  Random random(37);
  ThreadPool pool(3);
  for (const std::int64_t c : {1, 4, 5, 8, 30, 32}) {
    for (const std::int64_t w : {1, 7, 15, 16, 17, 31, 32, 33, 40, 64, 65, 1031}) {
      const Shape shape("nchw", {pick(random, {1, 2}), c, pick(random, {1, 3, 8, 13}), w});
      for (const char* rows : {"n c h w", "n c h (w)~5", "n h c w"}) {
        for (const char* quads : {"n c/4 h w c%4", "y:(n h) x:(c/4 w) lane:c%4"}) {
          const DType byte = random() % 2 ? DType::u8 : DType::i8;
          for (const auto& [wide, narrow] :
               {std::pair(DType::f32, random() % 2 ? DType::f16 : DType::bf16),
                std::pair(DType::f32, byte), std::pair(DType::f16, byte)}) {
            expect_same({rows, quads, shape, wide, narrow, {}, {}, {}}, random, pool);
            expect_same({rows, quads, shape, narrow, wide, {}, {}, {}}, random, pool);
            expect_same({quads, rows, shape, wide, narrow, {}, {}, {}}, random, pool);
            expect_same({quads, rows, shape, narrow, wide, {}, {}, {}}, random, pool);
          }
        }
      }
    }
  }
}

// Of any length that is cast run by run, and some longer and shorter.
TEST(ConvertCastMoves, ShortRuns) {
  Random random(34);
  ThreadPool pool(3);
  for (const DType from : conversion::kFastDTypes) {
    for (const DType to : conversion::kFastDTypes) {
      if (from == to) continue;
      for (const std::int64_t n : {3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48, 250, 256, 257}) {
        const Shape shape("abc", {pick(random, {2, 3, 17}), pick(random, {2, 9, 10}), n});
        const char* const separate = random() % 2 ? "b (a)~3 c" : "b a (c)~5";
        expect_same({"a b c", random() % 2 ? "b a c" : separate, shape, from, to, {}, {}, {}},
                    random, pool);
      }
    }
  }
}

// Blocks of pixels, which follow each other on one side only; those that no tile holds as well.
TEST(ConvertCastMoves, RunsOfPixelsAndBlocks) {
  Random random(40);
  ThreadPool pool(3);
  for (const char* blocks : {"n c/4 h w c%4", "n c/8 h w c%8", "y:(n h) x:(c/4 w) lane:c%4",
                             "n h c/8 w c%8", "n c/4 w h c%4"}) {
    for (const std::int64_t c : {8, 12, 16, 20, 23, 24, 32, 40, 64, 67, 96, 132, 512}) {
      const Shape shape("nchw", {pick(random, {1, 2}), c, pick(random, {1, 3, 8, 13}),
                                 pick(random, {1, 2, 3, 4, 7, 8, 9, 15, 17, 32, 57})});
      const std::int64_t pitch = pick(random, {1, 64});
      const char* const pixels = random() % 4 ? "n h w c" : "n h w (c)~24";
      for (const auto& [wide, narrow] : {std::pair(DType::f32, DType::f16),
                                         {DType::f32, DType::bf16},
                                         {DType::f32, DType::u8},
                                         {DType::f32, DType::i8},
                                         {DType::f16, DType::u8},
                                         {DType::f16, DType::i8}}) {
        expect_same({pixels, blocks, shape, wide, narrow, {}, {}, {}, pitch}, random, pool);
        expect_same({pixels, blocks, shape, narrow, wide, {}, {}, {}, pitch}, random, pool);
        expect_same({blocks, pixels, shape, wide, narrow, {}, {}, {}, pitch}, random, pool);
        expect_same({blocks, pixels, shape, narrow, wide, {}, {}, {}, pitch}, random, pool);
      }
    }
  }
}

// Rows that end before a block of columns does, so that they are short parts far from each other.
TEST(ConvertCastMoves, PartsOfRows) {
  Random random(35);
  ThreadPool pool(3);
  for (const std::int64_t c : {1, 2, 3, 5, 6, 7, 30}) {
    for (const std::int64_t w : {1, 5, 57}) {
      const Shape shape("nchw", {pick(random, {1, 2}), c, pick(random, {1, 9, 57}), w});
      for (const DType narrow : {DType::f16, DType::u8, DType::i8}) {
        for (const char* planes : {"n c h w", "n h c w"}) {
          Case back{"y:(n h) x:(c/4 w) lane:c%4", planes, shape, DType::f32, narrow, {}, {}, {}};
          expect_same(back, random, pool);
          back.mean.resize(static_cast<std::size_t>(c), 1.5f);
          back.norm = {0.25f};
          back.axis = Axis("c");
          expect_same(back, random, pool);
        }
      }
    }
  }
}

// Where there are vectors of 64 bytes, which have all of them.
TEST(ConvertCastMoves, AreChosen) {
  const auto& moves = conversion::kernels().moves;
  if (moves[static_cast<std::size_t>(conversion::Fast::u8)]
           [static_cast<std::size_t>(conversion::Fast::f32)]
               .spread == nullptr)
    GTEST_SKIP() << "no such instruction set";
  const Shape picture("nchw", {1, 3, 64, 64}), features("nchw", {1, 64, 14, 14});
  const Case cases[] = {
      {"n c h w", "n h w c", features, DType::f32, DType::u8, {}, {}, {}},
      {"n h w c", "n c h w", features, DType::f32, DType::i8, {}, {}, {}},
      {"n h w c", "n c/4 h w c%4", picture, DType::u8, DType::f32, {}, {}, {}},
      {"n h w c", "n c/4 h w c%4", picture, DType::u8, DType::f32, {1, 2, 3}, {2}, Axis("c")},
      {"n c/4 h w c%4", "n h w c", picture, DType::f32, DType::u8, {}, {}, {}},
      {"n c h w", "n c/4 h w c%4", features, DType::f16, DType::f32, {}, {}, {}},
      {"n c h w", "n h w c", features, DType::f32, DType::f16, {}, {}, {}},
      {"n h w c", "n c h w", features, DType::bf16, DType::f32, {}, {}, {}},
      {"n c h w", "y:(n h) x:(c/4 w) lane:c%4", features, DType::f32, DType::f16, {}, {}, {}},
      {"y:(n h) x:(c/4 w) lane:c%4", "n c h w", features, DType::f16, DType::f32, {}, {}, {}},
      {"n h w c", "n c h w", picture, DType::u8, DType::f32, {1, 2, 3}, {2}, Axis("c")},
      {"n c/16 h w c%16", "n h w c", features, DType::f32, DType::f16, {}, {}, {}},
      {"n h w c", "n c/4 h w c%4", features, DType::f32, DType::f16, {}, {}, {}},
      {"y:(n h) x:(c/4 w) lane:c%4", "n h w c", features, DType::f16, DType::f32, {}, {}, {}},
      {"n c/8 h w c%8", "n h w c", features, DType::u8, DType::f32, {}, {}, {}},
      {"n c h w", "y:(n h) x:(c/4 w) lane:c%4", features, DType::f32, DType::u8, {}, {}, {}},
      {"n c/4 h w c%4", "n c h w", features, DType::i8, DType::f32, {}, {}, {}},
      {"n c/8 h w c%8", "y:(n h) x:(c/4 w) lane:c%4", features, DType::f32, DType::f16, {}, {}, {}},
      {"n c/4 h w c%4", "n c/16 h w c%16", features, DType::u8, DType::f32, {}, {}, {}},
      {"n c/16 h w c%16", "n c/8 h w c%8", features, DType::bf16, DType::f32, {}, {}, {}},
      {"n c h w", "n c/4 h w c%4", features, DType::f16, DType::u8, {}, {}, {}},
      {"n h w c", "n c/8 h w c%8", features, DType::f16, DType::i8, {}, {}, {}},
  };
  for (const Case& c : cases) {
    EXPECT_NE(explained(c).find("in one step"), std::string::npos) << c.text() << explained(c);
  }
}

// Quads that are not cast are moved by the same kernels, unless tiles are better on the machine.
TEST(ConvertCastMoves, QuadsAreChosenWithoutCast) {
  const conversion::JoinKernels& quads = conversion::kernels().joins_of(2).four;
  if (quads.join == nullptr) GTEST_SKIP() << "no such instruction set";
  const Shape shape("nchw", {1, 64, 56, 56});
  const Mapping rows(Layout::parse("n c h w"), shape, 2),
      image(Layout::parse("y:(n h) x:(c/4 w) lane:c%4"), shape, 2);
  const auto kernel = [&](const Mapping& from, const Mapping& to, int streams, bool huge) {
    Options options;
    options.tuning.streams = streams;
    options.huge_from = huge ? 1 : std::size_t{1} << 40;
    return Program(DType::f16, from, DType::f16, to, {}, options).kernel();
  };
  EXPECT_EQ(kernel(rows, image, 0, false), "join 4");
  EXPECT_EQ(kernel(image, rows, 0, false), "part 4");
  EXPECT_EQ(kernel(rows, image, 0, true), "join 4");
  EXPECT_NE(kernel(rows, image, 16, false), "join 4");
}

}  // namespace
}  // namespace stowage
