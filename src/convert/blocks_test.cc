// SPDX-License-Identifier: Apache-2.0
// Conversions by way of scratch memory: blocks within rows, short rows with gaps, rows
// and columns that are both short, casts of these.
#include <gtest/gtest.h>

#include "convert/test_util.h"

namespace stowage {
namespace {

using namespace conversion_test;

// Blocks of channels within each row of a picture: many blocks of a few lines, repeated along whole
// loops and, where those are long, along parts of them.
TEST(Convert, BlocksWithinRows) {
  Random random(18);
  ThreadPool pool(3);
  constexpr DType kTypes[] = {DType::u8, DType::f16, DType::f32, DType::f64};
  for (const char* rows : {"y:(n h) x:(c/4 w) lane:c%4", "n h c/8 w c%8", "n h c/2 (w)~48 c%2"}) {
    for (const std::int64_t w : {15, 16, 28, 63, 130}) {
      for (const std::int64_t h : {1, 13, 24, 60}) {
        for (const std::int64_t channels : {3, 8, 30}) {
          const Shape shape("nchw", {2, channels, h, w});
          const DType dtype = kTypes[static_cast<std::size_t>(pick(random, {0, 1, 2, 3}))];
          ThreadPool* const some = random() % 2 ? &pool : nullptr;
          for (const char* other : {"n c h w", "n h w c", "n c h (w)~16"}) {
            ASSERT_EQ(difference({other, rows, shape, dtype, dtype, {}, {}, {}}, random, some), "");
            ASSERT_EQ(difference({rows, other, shape, dtype, dtype, {}, {}, {}}, random, some), "");
          }
        }
      }
    }
  }
}

// Casts between blocks: short rows and columns, with gaps, zeros behind them and parameters.
TEST(Convert, CastsBetweenBlocks) {
  Random random(19);
  ThreadPool pool(3);
  constexpr DType kTypes[] = {DType::u8, DType::f16, DType::f32, DType::f64};
  const char* const layouts[] = {"n c h w",       "n h w c",         "n c/4 h w c%4",
                                 "n c/8 h w c%8", "n c/32 h w c%32", "y:(n h) x:(c/4 w) lane:c%4",
                                 "n h c/8 w c%8", "n c/4 h c%4 w",   "n c/4 (h)~3 w c%4"};
  for (const char* from : layouts) {
    for (const char* to : layouts) {
      for (int i = 0; i < 16; ++i) {
        Case c{from,
               to,
               Shape("nchw", {pick(random, {1, 2}), pick(random, {1, 3, 4, 7, 8, 13, 24, 40}),
                              pick(random, {1, 7, 30}), pick(random, {1, 7, 28, 91, 300})}),
               kTypes[random() % 4],
               kTypes[random() % 4],
               {},
               {},
               Axis("c")};
        if (i % 2 == 0) {
          c.mean.resize(static_cast<std::size_t>(c.shape[c.shape.index_of(c.axis)]));
          c.norm.resize(c.mean.size());
          for (auto& v : c.mean) v = static_cast<float>(random() % 512) * 0.5f;
          for (auto& v : c.norm) v = static_cast<float>(random() % 64) * 0.0625f - 1.0f;
        }
        ASSERT_EQ(difference(c, random, random() % 2 ? &pool : nullptr), "");
      }
    }
  }
}

// Few images inside, of few channels: rows and columns both short, with a longer loop between them;
// with a tail of channels, casts and non-temporal stores.
TEST(Convert, ShortRowsAndColumns) {
  ThreadPool pool(3);
  constexpr DType kTypes[] = {DType::u8, DType::f16, DType::f32, DType::f64};
  constexpr const char *kInside = "c h w n", *kOthers[] = {"n h w c", "n c/4 h w c%4"};
  for (const std::int64_t target : conversion::instruction_sets()) {
    SCOPED_TRACE(target);
    conversion::use_instruction_set(target);
    Random random(21);
    for (int i = 0; i < 200; ++i) {
      const Shape shape("nchw", {pick(random, {2, 3, 4, 7, 8, 16, 31}),
                                 pick(random, {2, 3, 4, 5, 7, 8, 12, 16, 33}),
                                 pick(random, {1, 8, 24, 63}), pick(random, {8, 17, 37, 64})});
      if (shape.elements() > 100000) continue;  // of which the oracle takes long
      const DType dtype = kTypes[random() % 4], to = i % 3 == 0 ? kTypes[random() % 4] : dtype;
      const Options options{.huge_from = random() % 2 ? std::size_t{0} : std::size_t{1} << 30};
      ThreadPool* const some = random() % 2 ? &pool : nullptr;
      for (const char* other : kOthers) {
        ASSERT_EQ(difference({other, kInside, shape, dtype, to, {}, {}, {}}, random, some, options),
                  "");
        ASSERT_EQ(difference({kInside, other, shape, dtype, to, {}, {}, {}}, random, some, options),
                  "");
      }
    }
  }
  conversion::use_instruction_set(0);
}

// Rows of blocks that do not divide the channels, padded on one side: two nests in one pass.
TEST(Convert, RaggedRows) {
  ThreadPool pool(3);
  constexpr DType kTypes[] = {DType::u8, DType::f16, DType::f32, DType::f64};
  constexpr const char *kBlocks[] = {"n c/4 h w c%4", "n c/8 h w c%8", "n c/16 h w c%16",
                                     "n h c/16 w c%16"},
                       *kRows[] = {"n h w c", "n h w (c)~64B", "n (h w)~7 c"};
  for (const std::int64_t target : conversion::instruction_sets()) {
    SCOPED_TRACE(target);
    conversion::use_instruction_set(target);
    Random random(23);
    int ragged = 0;
    for (int i = 0; i < 300; ++i) {
      const Shape shape("nchw", {pick(random, {1, 2}), 1 + static_cast<std::int64_t>(random() % 70),
                                 pick(random, {1, 2, 5, 24}), pick(random, {1, 3, 8, 21, 40})});
      const DType dtype = kTypes[random() % 4];
      const char *const blocks = kBlocks[random() % 4], *const rows = kRows[random() % 3];
      ThreadPool* const some = random() % 2 ? &pool : nullptr;
      ASSERT_EQ(difference({rows, blocks, shape, dtype, dtype, {}, {}, {}}, random, some), "");
      ASSERT_EQ(difference({blocks, rows, shape, dtype, dtype, {}, {}, {}}, random, some), "");
      const Mapping a(Layout::parse(rows), shape, dtype_bytes(dtype)),
          b(Layout::parse(blocks), shape, dtype_bytes(dtype));
      ragged += Program(dtype, a, dtype, b, {}).kernel().starts_with("copy ragged");
      ragged += Program(dtype, b, dtype, a, {}).kernel().starts_with("copy ragged");
    }
    EXPECT_EQ(ragged > 40, conversion::kernels().copies_ragged) << ragged;
  }
  conversion::use_instruction_set(0);
}

// Rows and columns at powers of two: their lines crowd the L1 on both sides, or on one.
TEST(Convert, RowsAndColumnsThatCrowdTheCaches) {
  Random random(41);
  for (const std::int64_t target : conversion::instruction_sets()) {
    conversion::use_instruction_set(target);
    for (const DType dtype : {DType::f32, DType::f64, DType::f16}) {
      for (const char* from : {"a (b)~1024", "a (b)~512", "a (b)~48"}) {
        for (const char* to : {"b (a)~1024", "b (a)~512", "b (a)~80"}) {
          const Shape shape("ab", {pick(random, {63, 64, 70, 129, 300}),
                                   pick(random, {31, 32, 47, 66, 130, 257})});
          EXPECT_EQ(difference({from, to, shape, dtype, dtype, {}, {}, {}}, random, nullptr), "")
              << target;
        }
      }
    }
  }
  conversion::use_instruction_set(0);
}

// By the sets that lines of rows and of columns fall into.
TEST(Convert, SaysHowWhatCrowdsTheCachesIsWalked) {
  if (!conversion::kernels().vectors_are_lines()) GTEST_SKIP() << "no squares of lines";
  Options options;
  const auto walk = [&](std::int64_t rows, std::int64_t columns, DType dtype) -> std::string {
    const Shape shape("ab", {rows, columns});
    const int bytes = static_cast<int>(dtype_bytes(dtype));
    const Mapping src(Layout::parse("a b"), shape, bytes), dst(Layout::parse("b a"), shape, bytes);
    const std::string said = Program(dtype, src, dtype, dst, {}, options).explain();
    for (const char* const name : {"diagonals", "runs"}) {
      if (said.find(name) != std::string::npos) return name;
    }
    return "neither";
  };

  struct Row {
    std::int64_t rows, columns;
    DType dtype;
    const char *small, *large;  // by an L1 of 8 ways and of 12, each of 4 KiB
  };

  const Row table[] = {
      {512, 2048, DType::f32, "diagonals", "diagonals"},
      {1024, 1024, DType::f32, "diagonals", "runs"},
      {1024, 1040, DType::f32, "runs", "runs"},  // rows are spread over the sets
      {1040, 1024, DType::f32, "neither", "neither"},
      {1023, 1024, DType::f32, "runs", "runs"},  // columns drift by four bytes
      {1023, 1000, DType::f32, "runs", "runs"},
      {4097, 200, DType::u8, "runs", "runs"},
      {2048, 200, DType::f16, "runs", "runs"},
      {1008, 1000, DType::f32, "neither", "neither"},
      {96, 4096, DType::f32, "neither", "neither"},
  };
  for (const Row& row : table) {
    SCOPED_TRACE(::testing::Message() << row.rows << " by " << row.columns);
    for (const bool large : {false, true}) {
      options.tuning.caches = Caches{};
      if (large) options.tuning.caches.l1 = 48 << 10, options.tuning.caches.l1_ways = 12;
      static_cast<ConversionTuning&>(options.tuning) = {.streams = 16};
      EXPECT_EQ(walk(row.rows, row.columns, row.dtype), large ? row.large : row.small);
      // Tiles prefetch what they write.
      static_cast<ConversionTuning&>(options.tuning) = {.prefetch_for_write = true};
      EXPECT_EQ(walk(row.rows, row.columns, row.dtype), "neither");
    }
  }
}

// Far rows whose lines fall into few sets of the L2: all in one, in two, and in more than that.
TEST(Convert, RowsThatCrowdTheL2) {
  Random random(72);
  for (const std::int64_t target : conversion::instruction_sets()) {
    conversion::use_instruction_set(target);
    for (const DType dtype : {DType::f16, DType::f32, DType::f64}) {
      for (const std::int64_t rows : {31, 33, 48, 64, 72, 80, 272}) {
        for (const std::int64_t columns : {4096, 8192, 8224}) {
          Options options;
          options.tuning.caches = Caches{};
          options.tuning.caches.l2 = pick(random, {1 << 20, 2 << 20});
          options.tuning.caches.l2_ways = 16;
          static_cast<ConversionTuning&>(options.tuning) = {.prefetch_for_write = true};
          const Case c{"a b", "b a", Shape("ab", {rows, columns}), dtype, dtype, {}, {}, {}};
          ASSERT_EQ(difference_of(c, options, random, nullptr), "") << rows << " " << target;
        }
      }
    }
  }
  conversion::use_instruction_set(0);
}

TEST(Convert, SaysHowRowsThatCrowdTheL2AreWalked) {
  if (!conversion::kernels().vectors_are_lines()) GTEST_SKIP() << "no squares of lines";
  Options options;
  options.tuning.caches = Caches{};
  options.tuning.caches.l2 = 2 << 20;
  options.tuning.caches.l2_ways = 16;
  const auto squares = [&](std::int64_t rows, std::int64_t columns, DType from, DType to) {
    const Shape shape("ab", {rows, columns});
    const Mapping src(Layout::parse("a b"), shape, static_cast<int>(dtype_bytes(from))),
        dst(Layout::parse("b a"), shape, static_cast<int>(dtype_bytes(to)));
    return Program(from, src, to, dst, {}, options).explain().find("squares of whole lines") !=
           std::string::npos;
  };
  static_cast<ConversionTuning&>(options.tuning) = {.prefetch_for_write = true};
  EXPECT_TRUE(squares(64, 16384, DType::f32, DType::f32));
  EXPECT_TRUE(squares(32, 65536, DType::f32, DType::f32));
  EXPECT_TRUE(squares(32, 16384, DType::f64, DType::f64));
  EXPECT_FALSE(squares(32, 16384, DType::f32, DType::f32));   // the L2 holds all of their lines
  EXPECT_FALSE(squares(100, 16384, DType::f32, DType::f32));  // columns begin within lines
  EXPECT_FALSE(squares(64, 16400, DType::f32, DType::f32));   // rows are spread over the sets
  EXPECT_FALSE(squares(64, 16384, DType::f16, DType::f16));   // no squares of narrow elements
  EXPECT_FALSE(squares(64, 16384, DType::f16, DType::f32));   // moved as f16
  static_cast<ConversionTuning&>(options.tuning) = {.streams = 16};
  EXPECT_FALSE(squares(64, 16384, DType::f32, DType::f32));  // panels
}

// Planes that several threads write parts of, each share within the L2 or not.
TEST(Convert, FarColumnsOfSeveralThreads) {
  Random random(71);
  ThreadPool pool(3);
  for (const std::int64_t target : conversion::instruction_sets()) {
    conversion::use_instruction_set(target);
    for (const DType dtype : {DType::u8, DType::f16, DType::f32}) {
      for (const std::int64_t channels : {3, 5, 16, 33}) {
        const Shape shape("nchw", {1, channels, 157, 171});
        for (const char* from : {"n h w c", "n c/4 h w c%4"}) {
          Options options;
          options.tuning.caches.l2 = pick(random, {4096, 4 << 20});
          static_cast<ConversionTuning&>(options.tuning) = {
              .prefetch_for_write = true, .streams = static_cast<int>(pick(random, {0, 16}))};
          ASSERT_EQ(difference_of({from, "n c h w", shape, dtype, dtype, {}, {}, {}}, options,
                                  random, &pool),
                    "")
              << target;
        }
      }
    }
  }
  conversion::use_instruction_set(0);
}

// Columns at distances near and at powers of two, fewer and more of them than are put together, and
// rows that fill no run or no line of it; on both sides of a small L3.
TEST(Convert, RunsOfColumnsThatCrowdTheL1) {
  Random random(43);
  ThreadPool pool(3);
  Options options;
  Caches large, small_l3;
  large.l1 = 48 << 10, large.l1_ways = 12;
  small_l3.l3 = 128 << 10;
  for (const std::int64_t target : conversion::instruction_sets()) {
    conversion::use_instruction_set(target);
    for (const DType dtype : {DType::u8, DType::f16, DType::f32, DType::f64}) {
      const int element = static_cast<int>(dtype_bytes(dtype));
      const std::int64_t page = 4096 / element;
      int runs = 0;
      const auto check = [&](const char* from, const std::string& to, const Shape& shape) {
        static_cast<ConversionTuning&>(options.tuning) = {.prefetch_for_write = random() % 2 != 0,
                                                          .streams = 16};
        const Mapping src(Layout::parse(from), shape, element),
            dst(Layout::parse(to), shape, element);
        runs +=
            Program(dtype, src, dtype, dst, {}, options).explain().find("put together in the") !=
            std::string::npos;
        EXPECT_EQ(difference_of({from, to.c_str(), shape, dtype, dtype, {}, {}, {}}, options,
                                random, random() % 2 ? &pool : nullptr),
                  "")
            << target;
      };
      for (const Caches& caches : {Caches{}, large, small_l3}) {
        options.tuning.caches = caches;
        for (const std::int64_t pitch : {page, page - 1, page + 1, 2 * page, page / 2}) {
          const std::string to = "b (a)~" + std::to_string(pitch);
          const Shape shape("ab", {pick(random, {page / 8, page / 8 + 3, page / 4 - 1, page / 2}),
                                   pick(random, {16, 33, 64, 70, 127, 200})});
          for (const char* from : {"a b", "a (b)~256"}) check(from, to, shape);
        }
        // Dense columns, more rows than a unit has, and some that leave a few to the last unit.
        check("a b", "b a", Shape("ab", {page - 1, 150}));
        check("a b", "b a", Shape("ab", {page + 1, 1000 / element}));
        check("a b", "b a", Shape("ab", {2 * page, 83}));
        check("a c b", "c b a", Shape("abc", {page, 40, 3}));
        check("n c h w", "n h w c", Shape("nchw", {2, 64 / element, 64, 64}));
      }
      EXPECT_GT(runs, conversion::kernels().vectors_are_lines() ? 5 : -1) << dtype_name(dtype);
    }
  }
  conversion::use_instruction_set(0);
}

// Rows without a source are read from a table, which holds no more than kMaxBlock of them.
TEST(Convert, TailsOfTranspositionsInEveryOrder) {
  Random random(7);
  for (const int streams : {0, 16}) {
    Options options;
    static_cast<ConversionTuning&>(options.tuning) = {.prefetch_for_write = streams == 0,
                                                      .streams = streams};
    for (const Caches& caches : {host_caches(), Caches{}}) {
      options.tuning.caches = caches;
      for (const auto& [from, to, shape] : std::vector<std::array<const char*, 3>>{
               {"n h w c", "n c h w~1024", "n=1,c=32,h=1,w=1000"},
               {"n h w c", "n c h w~1024", "n=1,c=32,h=8,w=1000"},
               {"n c/4 h w c%4", "n h w c~72", "n=1,c=68,h=112,w=128"},
               {"n c/4 h w c%4", "n h w c~24", "n=1,c=20,h=112,w=128"},
               {"a b", "b~1024 a", "a=33,b=1000"},
               {"a b", "b a~80", "a=70,b=3001"},
               {"a b%3 b/3 (c)~64", "c/2 b c%2 a~72", "a=2048,b=4,c=31"},
               {"n h w c", "n c~64 h w", "n=1,c=33,h=64,w=64"},
               {"n h w c", "n c~32 h w", "n=2,c=3,h=64,w=64"},
           }) {
        for (const DType dtype : {DType::u8, DType::f16, DType::f32, DType::f64}) {
          const Shape extents = Shape::parse(shape);
          if (extents.elements() > 500'000 && dtype != DType::f32) continue;
          EXPECT_EQ(difference_of({from, to, extents, dtype, dtype, {}, {}, {}}, options, random,
                                  nullptr),
                    "");
        }
      }
    }
  }
}

// As many rows as a diagonal has are too many for a table.
TEST(Convert, TailsOfDiagonals) {
  Random random(7);
  Options options;
  static_cast<ConversionTuning&>(options.tuning) = {.streams = 16};
  options.tuning.caches = Caches{};
  const Shape shape("ab", {4000, 4096});
  EXPECT_EQ(difference_of({"a b", "b a~4096", shape, DType::f32, DType::f32, {}, {}, {}}, options,
                          random, nullptr),
            "");
}

// Columns of nothing but tails are not cast: a run of none of their elements has no end.
TEST(Convert, CastsOfTailsAlone) {
  Random random(7);
  for (const auto& [src, dst] :
       {std::pair(DType::f64, DType::f32), std::pair(DType::f64, DType::u8),
        std::pair(DType::u8, DType::f32)}) {
    const Shape shape("nchw", {2, 16, 64, 28});
    EXPECT_EQ(difference_of({"n c h w", "w~2048 c n h", shape, src, dst, {}, {}, {}}, {}, random,
                            nullptr),
              "");
    EXPECT_EQ(difference_of({"n h w c", "c~2048 n h w", shape, src, dst, {}, {}, {}}, {}, random,
                            nullptr),
              "");
  }
}

// Any layouts with and without tails, in any way of walking memory.
TEST(Convert, RandomTailsInEveryOrder) {
  constexpr const char* kLayouts[] = {
      "n c h w",       "n h w c",      "n c/4 h w c%4", "n c/8 h w c%8",
      "n c h w~1024",  "n h w c~72",   "n c~64 h w",    "n h w~512 c",
      "n c h~64 w~64", "n w~128 h c",  "c~128 n h w",   "y:(n h) x:(c/4 w) lane:c%4",
      "n w h c",       "w~2048 c n h", "n h~16 w c~24", "n c~96 h w~256"};
  constexpr DType kTypes[] = {DType::u8, DType::f16, DType::f32, DType::f64};
  constexpr int kCases = 100, kMost = 150'000;
  Random random(11);
  const auto any = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (int done = 0; done < kCases;) {
    const Shape shape("nchw", {pick(random, {1, 2}), static_cast<std::int64_t>(1 + any(100)),
                               pick(random, {1, 7, 28, 32, 64, 112}),
                               pick(random, {1, 9, 28, 64, 100, 128, 500, 1000})});
    if (shape.elements() > kMost) continue;
    Options options;
    static_cast<ConversionTuning&>(options.tuning) = {
        .prefetch_for_write = any(2) == 0,
        .streams = static_cast<int>(pick(random, {0, 0, 8, 16})),
        .non_temporal = any(2) == 0};
    if (any(2) == 0) options.tuning.caches = Caches{};
    if (any(3) == 0) options.huge_from = 1000;
    const DType src = kTypes[any(4)], dst = any(4) == 0 ? kTypes[any(4)] : src;
    const char *const from = kLayouts[any(16)], *const to = kLayouts[any(16)];
    ASSERT_EQ(difference_of({from, to, shape, src, dst, {}, {}, {}}, options, random, nullptr), "");
    ++done;
  }
}

// Half lines of 32 places that share a set of the L1 are written line by line.
TEST(Convert, ShortRunsToPlacesThatCrowdAreNotMovedAcross) {
  Options options;
  options.tuning.caches = Caches{};
  options.tuning.prefetch_for_write = false;
  const auto kernel = [&](std::string_view shape) {
    const Case c{"n h w c", "n c/8 h w c%8", shape_of(shape), DType::f32, DType::f32, {}, {}, {}};
    return Program(c.src, c.mapping(c.from, c.src), c.dst, c.mapping(c.to, c.dst), {}, options)
        .kernel();
  };
  EXPECT_EQ(kernel("n=1,c=128,h=30,w=30"), "copy across");
  EXPECT_NE(kernel("n=1,c=256,h=32,w=32"), "copy across");
}

// Where it is prefetched: runs that lines cut, and half lines of many places in one set of the L1.
TEST(Convert, RunsFollowTheDestination) {
  Options options;
  options.tuning.caches = Caches{};
  options.tuning.prefetch_for_write = true;
  const auto follows = [&](const char* from, const char* to, std::string_view shape) {
    const Case c{from, to, shape_of(shape), DType::f32, DType::f32, {}, {}, {}};
    return Program(c.src, c.mapping(c.from, c.src), c.dst, c.mapping(c.to, c.dst), {}, options)
               .explain()
               .find("follow each other in the destination") != std::string::npos;
  };
  EXPECT_TRUE(follows("n c h w", "n h c w", "n=1,c=256,h=10,w=10"));
  EXPECT_TRUE(follows("n c/4 h w c%4", "n h c/4 w c%4", "n=1,c=64,h=14,w=14"));
  EXPECT_TRUE(follows("n h w c", "n c/8 h w c%8", "n=1,c=256,h=32,w=32"));
  EXPECT_FALSE(follows("n h w c", "n c/8 h w c%8", "n=1,c=128,h=30,w=30"));
  EXPECT_FALSE(follows("n h w c", "n c/16 h w c%16", "n=1,c=512,h=32,w=32"));
  EXPECT_FALSE(follows("n c h w", "n h c w", "n=1,c=257,h=10,w=10"));  // no part of 257 is short
  EXPECT_FALSE(follows("n c h w", "n h c w", "n=1,c=10,h=64,w=150"));  // a row is a unit
}

// Up to three lines; short ones are written over the next run.
TEST(Convert, RunsOfEveryLength) {
  constexpr std::pair<std::int64_t, std::int64_t> kRows[] = {
      {2, 9}, {9, 2}, {40, 13}, {131, 3}, {1, 17}};
  Random random(41);
  for (const std::int64_t target : conversion::instruction_sets()) {
    conversion::use_instruction_set(target);
    for (std::int64_t run = 1; run <= 192; run += run < 72 ? 1 : 7) {
      for (const auto& [a, b] : kRows) {
        Options options;
        options.tuning.prefetch_for_write = (run + a) % 2 == 0;
        const Case c{"a b c", "b a c", Shape("abc", {a, b, run}), DType::u8, DType::u8, {}, {}, {}};
        ASSERT_EQ(difference_of(c, options, random, nullptr), "") << run;
      }
    }
  }
  conversion::use_instruction_set(0);
}

// Pixels of a few channels that begin within lines, where tiles are walked otherwise.
TEST(Convert, SaysWhatIsWalkedInPanels) {
  if (!conversion::kernels().vectors_are_lines()) GTEST_SKIP() << "no squares of lines";
  Random random(7);
  const auto panels = [&](std::int64_t rows, std::int64_t columns, DType dtype) {
    const Case c{"a b", "b a", Shape("ab", {rows, columns}), dtype, dtype, {}, {}, {}};
    Options options;
    static_cast<ConversionTuning&>(options.tuning) = {.prefetch_for_write = true, .streams = 0};
    options.tuning.caches = Caches{};
    options.tuning.caches.l2 = 2 << 20;
    options.tuning.caches.l2_ways = 16;
    EXPECT_EQ(difference_of(c, options, random, nullptr), "");
    return Program(dtype, c.mapping(c.from, dtype), dtype, c.mapping(c.to, dtype), {}, options)
               .explain()
               .find("each line loaded once") != std::string::npos;
  };
  for (const DType dtype : {DType::f16, DType::f32, DType::f64}) {
    EXPECT_TRUE(panels(33, 784, dtype));
    EXPECT_TRUE(panels(784, 33, dtype));
    EXPECT_TRUE(panels(63, 785, dtype));
    EXPECT_TRUE(panels(785, 63, dtype));
    EXPECT_FALSE(panels(84, 784, dtype));  // more rows than prefetchers follow
    EXPECT_FALSE(panels(784, 84, dtype));
  }
  EXPECT_FALSE(panels(66, 785, DType::f64));  // pixels are long
  EXPECT_TRUE(panels(785, 66, DType::u8));
  EXPECT_FALSE(panels(66, 785, DType::u8));
  EXPECT_FALSE(panels(64, 784, DType::f32));  // columns are whole lines
  EXPECT_FALSE(panels(784, 64, DType::f32));  // rows are in every other set
  EXPECT_TRUE(panels(784, 48, DType::f32));
  EXPECT_FALSE(panels(1024, 40, DType::f32));  // far columns are in one set
  EXPECT_TRUE(panels(1024, 40, DType::f16));
  EXPECT_FALSE(panels(48, 4096, DType::f16));    // rows are in one set
  EXPECT_FALSE(panels(64, 16384, DType::f32));   // rows crowd the L2: squares
  EXPECT_FALSE(panels(32, 16384, DType::f32));   // the L2 holds all of their lines
  EXPECT_FALSE(panels(100, 16384, DType::f32));  // columns begin within lines and are long
  EXPECT_FALSE(panels(64, 16400, DType::f32));   // rows are spread over the sets
}

}  // namespace
}  // namespace stowage
