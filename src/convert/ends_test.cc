// SPDX-License-Identifier: Apache-2.0
// Axes whose last block is not whole, see NestPlan::join_ends.
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "convert/test_util.h"

namespace stowage::conversion_test {
namespace {

using conversion::Nest;
using conversion::NestPlan;
using conversion::Side;

constexpr const char* kBlocked[] = {"n c/8 h c/4%2 w c%4",
                                    "n/2 c/4 h w n%2 c%4",
                                    "n h w c",
                                    "n c/2 h w c%2",
                                    "n c/4 h w c%4",
                                    "n c/8 h w c%8",
                                    "n c/16 h w c%16",
                                    "n c/32 h w c%32",
                                    "n c/3 h w c%3",
                                    "n c/12 h w c%12",
                                    "c h w n",
                                    "n c/4 h w/4 c%4 w%4",
                                    "y:(n h) x:(c/4 w) lane:c%4"};

NestPlan plan_of(const char* from, const char* to, std::string_view shape) {
  const Case c{from, to, shape_of(shape), DType::u8, DType::u8, {}, {}, {}};
  return {Side(c.mapping(from, c.src), 1), Side(c.mapping(to, c.dst), 1), {}};
}

std::int64_t joined(const char* from, const char* to, std::string_view shape,
                    std::int64_t most = 64) {
  NestPlan plan = plan_of(from, to, shape);
  return plan.join_ends(most) ? plan.count() : 0;
}

TEST(ConvertEnds, AreOneNestEach) {
  EXPECT_EQ(plan_of("n c/4 h w c%4", "n c/16 h w c%16", "n=1,c=30,h=5,w=7").count(), 3);
  EXPECT_EQ(joined("n c/4 h w c%4", "n c/16 h w c%16", "n=1,c=30,h=5,w=7"), 2);
  EXPECT_EQ(joined("n c/4 h w c%4", "n c/16 h w c%16", "n=1,c=5,h=5,w=7"), 1);
  EXPECT_EQ(joined("n c/8 h w c%8", "n h w c", "n=1,c=10,h=5,w=7"), 1);
  // Whole blocks and ends of both axes.
  EXPECT_EQ(joined("o/4 i/4 h w i%4 o%4", "o/16 i/16 h w i%16 o%16", "o=37,i=21,h=3,w=3"), 4);
}

TEST(ConvertEnds, AreLeftAloneWhereNothingIsJoined) {
  EXPECT_EQ(joined("n c/4 h w c%4", "n c/8 h w c%8", "n=1,c=32,h=5,w=7"), 0);  // no end
  EXPECT_EQ(joined("n h w c", "n c/4 h w c%4", "n=1,c=30,h=5,w=7"), 0);        // one nest of cells
  EXPECT_EQ(joined("n c/6 h w c%6", "n c/4 h w c%4", "n=1,c=30,h=5,w=7"), 0);  // computed
  EXPECT_EQ(joined("n c/4 h w c%4", "n c/16 h w c%16", "n=1,c=30,h=5,w=7", 15), 0);
  EXPECT_EQ(joined("n c/4 h w c%4", "n h w c", "n=1,c=66,h=5,w=7"), 0);  // too many cells
  // The destination carries within what would be the end.
  EXPECT_EQ(joined("n h w c", "n c/16 h c/4%4 w c%4", "n=1,c=3,h=5,w=7"), 0);
}

// Every number of channels, by every instruction set and between guard pages.
TEST(ConvertEnds, EveryPairOfBlocks) {
  ThreadPool pool(3);
  for (const std::int64_t target : conversion::instruction_sets()) {
    SCOPED_TRACE(target);
    conversion::use_instruction_set(target);
    Random random(11);
    for (const char* from : kBlocked) {
      for (const char* to : kBlocked) {
        for (std::int64_t channels = 1; channels <= 33; ++channels) {
          const std::int64_t extents[] = {pick(random, {1, 1, 2}), channels,
                                          pick(random, {1, 3, 8}), pick(random, {4, 7, 31, 64})};
          const DType dtype =
              std::array{DType::u8, DType::f16, DType::f32, DType::f64}[random() % 4];
          const Case c{from, to, Shape("nchw", extents), dtype, dtype, {}, {}, {}};
          Options options;
          options.least_of_stage = 1;
          ASSERT_EQ(difference_of(c, options, random, random() % 4 == 0 ? &pool : nullptr), "");
          if (dtype == DType::f64 || random() % 4 != 0) continue;
          Case cast = c;
          cast.dst = dtype == DType::f32 ? DType::u8 : DType::f32;
          ASSERT_EQ(difference_of(cast, options, random, nullptr), "");
        }
      }
    }
    conversion::use_instruction_set(0);
  }
}

// Of an end too: its cells need not follow each other in the destination.
TEST(ConvertEnds, DigitsInAnyOrder) {
  Random random(14);
  Options options;
  options.least_of_stage = 1;
  const auto same = [&](const char* from, const char* to, std::string_view shape, DType dtype) {
    EXPECT_EQ(difference_of({from, to, shape_of(shape), dtype, dtype, {}, {}, {}}, options, random,
                            nullptr),
              "");
  };
  same("b/2%2 b%2 b/4 a", "a b/8 b%4 b/4%2", "a=9,b=13", DType::f32);
  same("c%2 b/3 a c/2 b%3", "c/32 c%8 c/8%4 b/3 b%3 a", "a=1,b=2,c=131", DType::u8);
  same("a b", "a/6 b a%3 a/3%2", "a=10,b=9", DType::f64);
  for (int i = 0; i < 3000; ++i) {
    const Shape shape("abc", {pick(random, {1, 2, 5, 9}), pick(random, {1, 5, 10, 13, 19, 33}),
                              pick(random, {1, 3, 7, 17, 30, 67})});
    const auto layout = [&] {
      std::vector<std::string> digits;
      for (const std::string axis : {"a", "b", "c"}) {
        const std::int64_t cells = pick(random, {1, 2, 3, 4, 8, 16}),
                           blocks = cells > 1 ? pick(random, {1, 2, 4}) : 1;
        const std::string of = std::to_string(cells);
        digits.push_back(cells > 1 ? axis + "/" + std::to_string(cells * blocks) : axis);
        if (blocks > 1) digits.push_back(axis + "/" + of + "%" + std::to_string(blocks));
        if (cells > 1) digits.push_back(axis + "%" + of);
      }
      return layout_of(std::move(digits), random);
    };
    const DType dtype = std::array{DType::u8, DType::f16, DType::f32, DType::f64}[random() % 4];
    ASSERT_EQ(difference_of({layout(), layout(), shape, dtype, dtype, {}, {}, {}}, options, random,
                            nullptr),
              "");
  }
}

// Blocks that are padding altogether have no source to read.
TEST(ConvertEnds, TailsWithoutASource) {
  EXPECT_EQ(joined("n h w c", "n c/8 h c/4%2 w c%4", "n=2,c=4,h=1,w=4"), 0);
  for (const std::int64_t target : conversion::instruction_sets()) {
    conversion::use_instruction_set(target);
    Random random(13);
    for (int i = 0; i < 8; ++i) {  // either end of either side at a guard page
      for (const auto& [from, to, shape, dtype] :
           {std::tuple("n h w c", "n c/8 h c/4%2 w c%4", "n=2,c=4,h=1,w=4", DType::u8),
            std::tuple("h w c n/2 n%2", "c/8 h w c/4%2 n c%4", "n=3,c=4,h=8,w=7", DType::f16),
            std::tuple("h w n/2 c n%2", "n/8 c/8 h w n/4%2 c/4%2 c%4 n%4", "n=7,c=4,h=17,w=100",
                       DType::u8)}) {
        const Case c{from, to, shape_of(shape), dtype, dtype, {}, {}, {}};
        Options options;
        options.least_of_stage = 1;
        ASSERT_EQ(difference_of(c, options, random, nullptr), "");
      }
    }
    conversion::use_instruction_set(0);
  }
}

// Chunks do not divide rows of a prime number of pixels: the last one begins before its place, in
// the unit of the one before it, whatever the number of threads.
TEST(ConvertEnds, ChunksOfPrimeLoops) {
  std::set<std::string> kernels;
  int threads = 0;
  for (const std::int64_t target : conversion::instruction_sets()) {
    conversion::use_instruction_set(target);
    ThreadPool pool(++threads);
    Random random(12);
    for (const std::int64_t pixels : {67, 131, 257, 809, 1031, 4099, 16411}) {
      for (const DType dtype : {DType::u8, DType::f16, DType::f32}) {
        for (const char* to : {"n c/8 h w c%8", "n c/16 h w c%16", "n h w c"}) {
          const std::int64_t extents[] = {1, pick(random, {5, 6, 7, 10, 30}), 1, pixels};
          const Case c{"n c/4 h w c%4", to, Shape("nchw", extents), dtype, dtype, {}, {}, {}};
          Options options;
          options.least_of_stage = 1;
          ASSERT_EQ(difference_of(c, options, random, &pool), "");
          kernels.insert(
              Program(dtype, c.mapping(c.from, dtype), dtype, c.mapping(c.to, dtype), {}, options)
                  .kernel());
        }
      }
    }
    conversion::use_instruction_set(0);
  }
  const bool shuffles = conversion::kernels().shuffles_of(4).vector != 0;
  EXPECT_EQ(kernels.contains("shuffle 4"), shuffles);
}

}  // namespace
}  // namespace stowage::conversion_test
