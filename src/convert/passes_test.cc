// SPDX-License-Identifier: Apache-2.0
#include "convert/passes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "convert/shuffle.h"
#include "convert/test_util.h"

namespace stowage::conversion_test {
namespace {

using conversion::Byte;
using conversion::Chain;
using conversion::ShuffleTable;

constexpr const char* kPacked[] = {"o i h w",
                                   "o h w i",
                                   "h w o i",
                                   "i o h w",
                                   "o/4 i h w o%4",
                                   "o/8 i h w o%8",
                                   "h w o/4 i o%4",
                                   "o/4 i/4 h w i%4 o%4",
                                   "o/4 i/4 h w o%4 i%4",
                                   "o/8 i/8 h w i%8 o%8",
                                   "o/16 i/16 h w i%16 o%16",
                                   "o/16 i/4 h w o%16 i%4"};

Options any_options(Random& random) {
  Options options;
  options.least_of_stage = 1;
  static_cast<ConversionTuning&>(options.tuning) = {
      .prefetch_for_write = random() % 2 == 0,
      .streams = static_cast<int>(pick(random, {0, 8, 16})),
      .non_temporal = random() % 2 == 0};
  if (random() % 3 == 0) options.huge_from = 1000;
  return options;
}

/// On a processor of these caches, whatever the host's are.
Program program_of(const char* from, const char* to, std::string_view shape, DType src, DType dst) {
  Options options;
  options.tuning.caches = Caches{};
  options.tuning.streams = 16;
  const Case c{from, to, shape_of(shape), src, dst, {}, {}, {}};
  return Program(src, c.mapping(from, src), dst, c.mapping(to, dst), {}, options);
}

std::string kernel_of(const char* from, const char* to, std::string_view shape, DType dtype) {
  return program_of(from, to, shape, dtype, dtype).kernel();
}

// With tails and without, by every instruction set; also cast.
TEST(ConvertPasses, EveryPairOfPackedWeights) {
  for (const std::int64_t target : conversion::instruction_sets()) {
    SCOPED_TRACE(target);
    conversion::use_instruction_set(target);
    Random random(5);
    for (const char* from : kPacked) {
      for (const char* to : kPacked) {
        for (const DType dtype : {DType::u8, DType::f16, DType::f32, DType::f64}) {
          const std::int64_t extents[] = {pick(random, {3, 16, 19, 32, 64}),
                                          pick(random, {3, 12, 16, 21, 32}),
                                          pick(random, {1, 3, 5}), pick(random, {1, 3, 7})};
          Case c{from, to, Shape("oihw", extents), dtype, dtype, {}, {}, {}};
          ASSERT_EQ(difference_of(c, any_options(random), random, nullptr), "");
          if (dtype == DType::f64 || random() % 4 != 0) continue;
          c.dst = dtype == DType::f32 ? DType::u8 : DType::f32;
          ASSERT_EQ(difference_of(c, any_options(random), random, nullptr), "");
        }
      }
    }
    conversion::use_instruction_set(0);
  }
}

// Digits of axes in any order, so that chunks and tiles have loops of every kind.
TEST(ConvertPasses, AnyOrderOfDigits) {
  Random random(6);
  ThreadPool pool(3);
  std::set<std::string> kinds;
  for (int done = 0; done < 600;) {
    std::vector<std::int64_t> extents(4 + random() % 3);
    for (std::int64_t& n : extents) n = pick(random, {2, 3, 4, 5, 7, 8, 9, 16, 17, 25, 64});
    const std::string axes = std::string("abcdef").substr(0, extents.size());
    const Shape shape(axes, extents);
    if (shape.elements() > 200'000 || shape.elements() < 500) continue;
    const auto any_layout = [&] {
      std::vector<std::string> digits;
      for (const char axis : axes) {
        const std::int64_t block = pick(random, {1, 1, 2, 3, 4, 6, 8, 12});
        const std::string name(1, axis), of = std::to_string(block);
        digits.push_back(block == 1 ? name : name + "/" + of);
        if (block > 1) digits.push_back(name + "%" + of);
      }
      return layout_of(std::move(digits), random);
    };
    const DType dtype = std::array{DType::u8, DType::f16, DType::f32, DType::f64}[random() % 4];
    const Case c{any_layout(), any_layout(), shape, dtype, dtype, {}, {}, {}};
    const Options options = any_options(random);
    ASSERT_EQ(difference_of(c, options, random, random() % 2 == 0 ? &pool : nullptr), "");
    const Program program(dtype, c.mapping(c.from, dtype), dtype, c.mapping(c.to, dtype), {},
                          options);
    kinds.insert(program.kernel().substr(0, program.kernel().rfind(' ')));
    ++done;
  }
  EXPECT_TRUE(kinds.contains("two passes"));
  const bool shuffles = conversion::kernels().shuffles_of(4).vector != 0;
  EXPECT_EQ(kinds.contains("shuffle"), shuffles);
}

// Few images inside, of few channels: the pixels between them are a prime number, so that the last
// tile has fewer of them.
TEST(ConvertPasses, LastTilesMayBeShorter) {
  ThreadPool pool(3);
  constexpr const char *kInside = "c h w n", *kOutside = "n h w c";
  for (const std::int64_t target : conversion::instruction_sets()) {
    SCOPED_TRACE(target);
    conversion::use_instruction_set(target);
    Random random(8);
    int passes = 0;
    for (const DType dtype : {DType::u8, DType::f16, DType::f32, DType::f64}) {
      for (const bool outwards : {false, true}) {
        const Shape shape("nchw", {pick(random, {2, 4, 8}), pick(random, {3, 4, 5}), 1, 5003});
        Case c{outwards ? kInside : kOutside,
               outwards ? kOutside : kInside,
               shape,
               dtype,
               dtype,
               {},
               {},
               {}};
        const Options options = any_options(random);
        ASSERT_EQ(difference_of(c, options, random, random() % 2 == 0 ? &pool : nullptr), "");
        const Program program(dtype, c.mapping(c.from, dtype), dtype, c.mapping(c.to, dtype), {},
                              options);
        passes += program.kernel().starts_with("two passes");
        c.dst = dtype == DType::f32 ? DType::f16 : DType::f32;
        ASSERT_EQ(difference_of(c, options, random, nullptr), "");
      }
    }
    EXPECT_GT(passes, 0);
  }
  conversion::use_instruction_set(0);
}

// As the last of several tiles, and as the last of many.
TEST(ConvertPasses, LastTilesMayBeOfOneIteration) {
  const struct {
    const char *from, *to;
    std::vector<std::int64_t> extents;
    DType dtype;
  } cases[] = {{"c h w n", "n h (w)~16 c", {3, 30, 109, 15}, DType::f16},
               {"n w h c", "n c h w", {1, 22, 169, 62}, DType::i8}};

  for (const std::int64_t target : conversion::instruction_sets()) {
    SCOPED_TRACE(target);
    conversion::use_instruction_set(target);
    Random random(9);
    for (const auto& c : cases) {
      for (int i = 0; i < 4; ++i) {
        const Case one{c.from, c.to, Shape("nchw", c.extents), c.dtype, c.dtype, {}, {}, {}};
        ASSERT_EQ(difference_of(one, any_options(random), random, nullptr), "");
      }
    }
  }
  conversion::use_instruction_set(0);
}

TEST(ConvertPasses, AreChosenBetweenPackings) {
  EXPECT_EQ(kernel_of("o/4 i/4 h w i%4 o%4", "o i h w", "o=32,i=128,h=5,w=5", DType::u8),
            "two passes 1");
  if (conversion::kernels().shuffles_of(1).vector == 0) GTEST_SKIP() << "no shuffles";
  EXPECT_EQ(kernel_of("o/4 i/4 h w i%4 o%4", "o/4 i/4 h w o%4 i%4", "o=96,i=64,h=5,w=5", DType::u8),
            "shuffle 1");
}

TEST(ConvertPasses, SayWhatTheyMove) {
  if (conversion::kernels().shuffles_of(2).vector == 0) GTEST_SKIP() << "no shuffles";
  const std::string said = program_of("o/8 i/8 h w i%8 o%8", "o/16 i/4 h w o%16 i%4",
                                      "o=128,i=96,h=3,w=3", DType::f16, DType::f16)
                               .explain();
  EXPECT_TRUE(said.starts_with("two passes: 221184 bytes in ")) << said;
  EXPECT_EQ(std::ranges::count(said, '\n'), 3) << said;
}

TEST(ConvertPasses, MoveStagesOfCasts) {
  const std::string said =
      program_of("o/4 i/4 h w i%4 o%4", "o i h w", "o=128,i=512,h=5,w=5", DType::f32, DType::u8)
          .explain();
  EXPECT_TRUE(said.starts_with("stage: ")) << said;
  EXPECT_NE(said.find("  two passes: "), std::string::npos) << said;
}

TEST(ConvertPasses, LongRowsAndColumnsNeedNone) {
  EXPECT_EQ(kernel_of("n c h w", "n h w c", "n=1,c=64,h=56,w=56", DType::f32), "transpose 4");
  const std::string few = kernel_of("n h w c", "n c/4 h w c%4", "n=1,c=3,h=130,w=131", DType::f32);
  EXPECT_EQ(few.find("shuffle"), std::string::npos) << few;
}

/// A chunk of these loops; in the destination they follow each other.
Chain chunk_of(std::initializer_list<std::pair<std::int64_t, std::int64_t>> loops,
               std::int64_t element) {
  Chain out;
  for (const auto& [n, is] : loops) {
    conversion::Loop& loop = out.loops[static_cast<std::size_t>(out.count++)];
    loop = {.n = n, .valid = n, .is = is, .os = out.n * element, .ps = 0, .step = 0, .dim = -1};
    out.n *= n;
  }
  return out;
}

/// Chunks by a kernel and by elements are the same, and nothing beside them is written.
void expect_same_chunks(const Chain& chunk, int element, std::set<std::pair<int, int>>& seen) {
  ShuffleTable table;
  if (!make_shuffle(chunk, element, table)) return;
  const auto run = conversion::kernels().shuffles_of(table.lane).run_of(table.vectors, table.steps);
  ASSERT_NE(run, nullptr);
  seen.insert({table.vectors, table.steps});
  constexpr std::int64_t kChunks = 5, kRows = 3, kGap = 3;
  const std::int64_t is = 1 + table.reach / 2, os = table.bytes + kGap, row_is = 7,
                     row_os = kChunks * os + kGap;
  Random random(7);
  Guarded in(static_cast<std::size_t>((kChunks - 1) * is + (kRows - 1) * row_is + table.reach),
             true);
  fill_random(DType::u8, in.bytes(), random);
  std::vector<unsigned char> got(static_cast<std::size_t>(kRows * row_os), 0xa5), want = got;
  run({in.data(), got.data(), kChunks, is, os, kRows, row_is, row_os, &table});
  for (std::int64_t k = 0; k < kRows; ++k) {
    for (std::int64_t i = 0; i < kChunks; ++i)
      move_chunk(chunk, element, in.data() + i * is + k * row_is,
                 want.data() + i * os + k * row_os);
  }
  EXPECT_EQ(got, want) << table.vectors << " vectors in " << table.steps << " steps";
}

TEST(ConvertPasses, ShufflesMoveChunksLikeElements) {
  for (const std::int64_t target : conversion::instruction_sets()) {
    SCOPED_TRACE(target);
    conversion::use_instruction_set(target);
    for (const int element : {1, 2, 4, 8, 16}) {
      if (conversion::kernels().shuffles_of(element).vector == 0) continue;
      std::set<std::pair<int, int>> seen;
      for (const std::int64_t near : {1, 2, 3, 4, 8, 9, 13, 16}) {
        for (const std::int64_t far : {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 25, 49}) {
          for (const std::int64_t distance : {1, 5, 40, 1000}) {
            // Elements that follow each other in the source, or are some apart.
            Chain chunk = chunk_of({{near, element}, {far, distance * element}}, element);
            expect_same_chunks(chunk, element, seen);
            chunk.loops[1].valid = std::max<std::int64_t>(far - 1, 1);
            expect_same_chunks(chunk, element, seen);
            expect_same_chunks(chunk_of({{far, distance * element}, {near, element}}, element),
                               element, seen);
            expect_same_chunks(chunk_of({{3, 1000}, {near, element}, {far, 9000}}, element),
                               element, seen);
            // Not in words.
            expect_same_chunks(chunk_of({{near, element + 1}, {far, distance * element}}, element),
                               element, seen);
            if (HasFailure()) return;
          }
        }
      }
      const int vector = conversion::kernels().shuffles_of(element).vector;
      std::set<int> steps;
      for (const auto& [vectors, n] : seen) steps.insert(n);
      // No vector has more windows than elements; of whole lines each number has its kernel.
      const int windows_of_step = vector == 64 ? 2 : 1;
      EXPECT_EQ(std::ssize(steps), std::min(4, vector / element / windows_of_step));
      if (vector == 64) {
        EXPECT_EQ(seen.size(), element == 16 ? 8u : 16u);
      }
    }
    conversion::use_instruction_set(0);
  }
}

TEST(ConvertPasses, ChunksOfManyWindowsHaveNoTable) {
  ShuffleTable table;
  const conversion::Shuffles& shuffles = conversion::kernels().shuffles_of(1);
  if (shuffles.vector == 0) GTEST_SKIP() << "no shuffles";
  const std::int64_t most = ShuffleTable::kMostSteps * shuffles.sources;
  EXPECT_TRUE(make_shuffle(chunk_of({{most, 1000}, {8, 1}}, 1), 1, table));
  EXPECT_EQ(table.steps, ShuffleTable::kMostSteps);
  EXPECT_FALSE(make_shuffle(chunk_of({{most + 1, 1000}, {7, 1}}, 1), 1, table));
  EXPECT_FALSE(make_shuffle(chunk_of({{257, 1}}, 1), 1, table));
}

}  // namespace
}  // namespace stowage::conversion_test
