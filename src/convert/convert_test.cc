// SPDX-License-Identifier: Apache-2.0
// Every conversion against its oracle, cell by cell, between guard pages.
#include "stowage/convert.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "convert/test_util.h"
#include "stowage/error.h"

namespace stowage {
namespace {

using namespace conversion_test;

using conversion::Fault;

const char* const kActivations[] = {"n c h w",
                                    "n h w c",
                                    "n c/4 h w c%4",
                                    "n c/8 h w c%8",
                                    "n c/16 h w c%16",
                                    "n c/6 h w c%6",
                                    "n c/48 h w c%48",
                                    "n c/32 h w c%32",
                                    "n (c/4 (h w)~16B c%4)~64B",
                                    "n c/3 (h w)~16B c%3",
                                    "y:(n h) x:(c/4 w) lane:c%4",
                                    "y:(n h/4) x:(c w) lane:h%4",
                                    "y:(n h) x:(c w/4) lane:w%4",
                                    "n h w c~4",
                                    "n h w (c)~5",
                                    "n (c (h (w (w%1)~3)~50)~399)~999",
                                    "c w n h",
                                    "w h c n",
                                    "n h/2 w/2 c h%2 w%2"};

const char* const kWeights[] = {"o i h w",
                                "h w i o",
                                "h w o i",
                                "o/16 i/16 h w i%16 o%16",
                                "o/16 i/16 h w i/4%4 o%16 i%4",
                                "o/8 i/8 h w i/2%4 o%8 i%2",
                                "y:(o/4 h w) x:i lane:o%4",
                                "y:(o/4 h w) x:i~4 lane:o%4",
                                "y:o/4 x:(h w i) lane:o%4",
                                "i/4 o/3 h w i%4 o%3"};

TEST(Convert, EveryPairOfActivationLayouts) {
  Random random(1);
  for (const char* from : kActivations) {
    for (const char* to : kActivations) {
      for (const DType dtype : {DType::u8, DType::f16, DType::f32, DType::f64}) {
        const std::int64_t extents[] = {
            pick(random, {1, 2, 3}), pick(random, {1, 3, 4, 5, 8, 13, 30, 33, 64, 97}),
            pick(random, {1, 2, 5, 7, 16}), pick(random, {1, 3, 4, 6, 17, 33})};
        const Case c{from, to, Shape("nchw", extents), dtype, dtype, {}, {}, {}};
        ASSERT_EQ(difference(c, random, nullptr), "");
      }
    }
  }
}

// checklist 1.8
TEST(Convert, EveryPairOfWeightLayouts) {
  Random random(2);
  for (const char* from : kWeights) {
    for (const char* to : kWeights) {
      for (const DType dtype : {DType::i8, DType::bf16, DType::f32, DType::i64}) {
        const std::int64_t extents[] = {pick(random, {1, 4, 5, 16, 30, 33}),
                                        pick(random, {1, 3, 8, 13, 16, 33}),
                                        pick(random, {1, 3, 5}), pick(random, {1, 3, 7})};
        const Case c{from, to, Shape("oihw", extents), dtype, dtype, {}, {}, {}};
        ASSERT_EQ(difference(c, random, nullptr), "");
      }
    }
  }
}

TEST(Convert, EveryChannelCount) {
  Random random(3);
  for (std::int64_t channels = 1; channels <= 33; ++channels) {
    for (const char* to : {"n h w c", "n c/4 h w c%4", "n c/8 h w c%8", "n c/16 h w c%16"}) {
      for (const DType dtype : {DType::u8, DType::f16, DType::f32}) {
        const Shape shape("nchw", {2, channels, 9, 23});
        ASSERT_EQ(difference({"n c h w", to, shape, dtype, dtype, {}, {}, {}}, random, nullptr),
                  "");
        ASSERT_EQ(difference({to, "n c h w", shape, dtype, dtype, {}, {}, {}}, random, nullptr),
                  "");
      }
    }
  }
}

/// Wide enough for every kernel's whole vectors, at distances that crowd the cache and at others,
/// with plain and with non-temporal stores, with every instruction set.
TEST(Convert, WideAndCrowded) {
  for (const std::int64_t target : conversion::instruction_sets()) {
    SCOPED_TRACE(target);
    conversion::use_instruction_set(target);
    Random random(12);
    for (const char* other : {"n h w c", "n c/8 h w c%8", "n c/16 h w c%16"}) {
      for (const DType dtype : {DType::u8, DType::f16, DType::f32, DType::f64}) {
        for (const std::int64_t w : {32, 37}) {
          for (int i = 0; i < 3; ++i) {
            const std::int64_t channels = pick(
                random, {3, 5, 6, 7, 9, 12, 15, 16, 17, 24, 31, 33, 40, 49, 63, 64, 65, 80, 130});
            const Shape shape("nchw", {1, channels, 128 / dtype_bytes(dtype), w});
            const Options options{.huge_from =
                                      random() % 2 ? std::size_t{0} : std::size_t{1} << 30};
            ASSERT_EQ(difference({"n c h w", other, shape, dtype, dtype, {}, {}, {}}, random,
                                 nullptr, options),
                      "");
            ASSERT_EQ(difference({other, "n c h w", shape, dtype, dtype, {}, {}, {}}, random,
                                 nullptr, options),
                      "");
            ASSERT_EQ(difference({other, "n h w c", shape, dtype, dtype, {}, {}, {}}, random,
                                 nullptr, options),
                      "");
          }
        }
      }
    }
    conversion::use_instruction_set(0);
  }
}

// Non-temporal stores need whole lines, which not all of a pixel's channels fill.
TEST(Convert, HugeWithPitch) {
  Random random(17);
  for (const std::int64_t target : conversion::instruction_sets()) {
    SCOPED_TRACE(target);
    conversion::use_instruction_set(target);
    for (const DType dtype : {DType::u8, DType::f16, DType::f32, DType::f64}) {
      for (const std::int64_t channels : {13, 16, 29, 30, 61, 64, 125}) {
        const Shape shape("nchw", {1, channels, 8, 64});
        ASSERT_EQ(difference({"n c h w", "n h w (c)~64B", shape, dtype, dtype, {}, {}, {}}, random,
                             nullptr, {.huge_from = 0}),
                  "");
        ASSERT_EQ(difference({"n h w c", "n c (h w)~64B", shape, dtype, dtype, {}, {}, {}}, random,
                             nullptr, {.huge_from = 0}),
                  "");
      }
    }
    conversion::use_instruction_set(0);
  }
}

// Pixel shuffles: blocks of a few hundred bytes, many of them.
TEST(Convert, TinyBlocks) {
  Random random(16);
  for (const std::int64_t r : {2, 3, 4}) {
    for (const std::int64_t channels : {1, 5, 8}) {
      for (const DType dtype : {DType::u8, DType::f16, DType::f32}) {
        for (const std::int64_t w : {1, 7, 16, 33}) {
          const Shape shape("ncpqhw", {2, channels, r, r, 9, w});
          for (const char* to : {"n c h p w q", "n h p w q c", "n c/4 h p w q c%4"}) {
            for (const char* from : {"n c p q h w", "n h w c p q"}) {
              ASSERT_EQ(difference({from, to, shape, dtype, dtype, {}, {}, {}}, random, nullptr),
                        "");
              ASSERT_EQ(difference({to, from, shape, dtype, dtype, {}, {}, {}}, random, nullptr),
                        "");
            }
          }
        }
      }
    }
  }
}

/// Random radices, order, groups and alignment over axes a, b, ...
std::string random_layout(Random& random, int rank) {
  std::vector<std::string> factors;
  for (int d = 0; d < rank; ++d) {
    const std::string name(1, static_cast<char>('a' + d));
    std::int64_t q = 1;
    for (std::int64_t k = pick(random, {0, 0, 1, 1, 2}); k > 0; --k) {
      const std::int64_t m = pick(random, {2, 3, 4, 6, 8, 16});
      factors.push_back(name + "/" + std::to_string(q) + "%" + std::to_string(m));
      q *= m;
    }
    factors.push_back(name + "/" + std::to_string(q) + (random() % 4 == 0 ? "~3" : ""));
  }
  std::shuffle(factors.begin(), factors.end(), random);
  const std::size_t open = random() % factors.size(),
                    close = open + random() % (factors.size() - open);
  std::string out;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    out += i == open ? " (" : " ";
    out += factors[i];
    if (i == close) out += random() % 2 ? ")" : random() % 2 ? ")~5" : ")~16B";
  }
  return out.substr(1);
}

Case random_case(Random& random, std::int64_t most) {
  constexpr DType kDTypes[] = {DType::u8, DType::f16, DType::f32, DType::i64};
  for (;;) {
    const int rank = static_cast<int>(pick(random, {1, 2, 3, 3, 4, 5, 6}));
    std::vector<std::int64_t> extents;
    for (int i = 0; i < rank; ++i)
      extents.push_back(pick(random, {1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 25, 33, 64, 97}));
    const Shape shape = Shape::unnamed(extents);
    if (shape.elements() > most) continue;
    const DType dtype = kDTypes[random() % 4];
    Case c{
        random_layout(random, rank), random_layout(random, rank), shape, dtype, dtype, {}, {}, {}};
    const Mapping src(Layout::parse(c.from), shape, 4), dst(Layout::parse(c.to), shape, 4);
    if (src.cells() < 40 * most && dst.cells() < 40 * most) return c;
  }
}

TEST(Convert, RandomLayouts) {
  Random random(4);
  for (int i = 0; i < 1500; ++i)
    ASSERT_EQ(difference(random_case(random, 3000), random, nullptr), "");
}

// Where one axis is long and another short, blocks are longest; rows without a source are as long.
TEST(Convert, LongRows) {
  Random random(14);
  for (const std::int64_t channels : {1, 3, 5, 8}) {
    const Shape shape("nchw", {1, channels, 1, 36001});
    for (const char* to : {"n h w c", "n c/8 h w c%8", "n c/16 h w c%16", kActivations[10]}) {
      Case c{"n c h w", to, shape, DType::f32, DType::f32, {}, {}, {}};
      for (int way = 0; way < 2; ++way, std::swap(c.from, c.to))
        ASSERT_EQ(difference(c, random, nullptr), "");
    }
  }
}

constexpr DType kAll[] = {DType::f32, DType::f16, DType::bf16,   DType::f64, DType::u8,
                          DType::i8,  DType::u16, DType::i16,    DType::u32, DType::i32,
                          DType::u64, DType::i64, DType::boolean};

TEST(Convert, EveryPairOfDTypes) {
  Random random(5);
  for (const DType src : kAll) {
    for (const DType dst : kAll) {
      for (const char* to : {"n c h w", "n h w c", "n c/8 h w c%8"}) {
        const Case c{"n c h w", to, shape_of("n=1,c=19,h=5,w=23"), src, dst, {}, {}, {}};
        ASSERT_EQ(difference(c, random, nullptr), "");
      }
    }
  }
}

TEST(Convert, MeanAndNorm) {
  Random random(6);
  const std::vector<std::string> layouts(std::begin(kActivations), std::end(kActivations));
  for (int i = 0; i < 600; ++i) {
    Case c{layouts[random() % layouts.size()],
           layouts[random() % layouts.size()],
           Shape("nchw", {pick(random, {1, 2}), pick(random, {1, 3, 4, 5, 13, 33}),
                          pick(random, {1, 4, 7}), pick(random, {1, 5, 40})}),
           kAll[random() % 13],
           kAll[random() % 13],
           {},
           {},
           Axis(random() % 4 ? "c" : "w")};
    const auto n = static_cast<std::size_t>(c.shape[c.shape.index_of(c.axis)]);
    c.mean.resize(random() % 3 == 0 ? 1 : n);
    c.norm.resize(random() % 3 == 0 ? 0 : n);
    for (auto& v : c.mean) v = static_cast<float>(random() % 512) * 0.5f;
    for (auto& v : c.norm) v = static_cast<float>(random() % 64) * 0.0625f - 1.0f;
    ASSERT_EQ(difference(c, random, nullptr), "");
  }
}

// What does not fit into a small L2 is written by non-temporal stores, if it has many rows and
// columns or is read later, where lines are filled.
TEST(Convert, BypassesTheCaches) {
  Random random(20);

  struct Row {
    std::int64_t channels, h, w;
    bool soon, later;
  };

  constexpr Row kRows[] = {
      {80, 16, 33, true, true},    // 320 bytes of a row or a column
      {65, 16, 33, true, true},    // a piece of one column is left
      {80, 15, 33, false, false},  // columns of pixels begin within lines
      {64, 16, 33, false, true},   // 256 bytes
      {64, 16, 32, true, true},    // columns that crowd the L2
      {17, 16, 33, false, true},   // one column more than a line
      {640, 16, 31, true, true},   // the last run is half of one
  };
  for (const Row& row : kRows) {
    const Shape shape("nchw", {1, row.channels, row.h, row.w});
    const Mapping src(Layout::parse("n h w c"), shape, 4), dst(Layout::parse("n c h w"), shape, 4);
    Options options;
    options.tuning.non_temporal = true;
    options.tuning.caches.l2 = 16384;
    options.tuning.caches.l2_ways = 16;
    const auto bypasses = [&](NextUse next_use) {
      options.next_use = next_use;
      return Program(DType::f32, src, DType::f32, dst, {}, options).explain().find("in pieces") !=
             std::string::npos;
    };
    EXPECT_EQ(bypasses(NextUse::soon), row.soon) << shape.text();
    EXPECT_EQ(bypasses(NextUse::later), row.later) << shape.text();
    options.next_use = NextUse::soon;
    const bool back =
        Program(DType::f32, dst, DType::f32, src, {}, options).explain().find("in pieces") !=
        std::string::npos;
    EXPECT_EQ(back, row.channels == 80 || row.channels == 640) << shape.text() << ", to pixels";
    options.tuning.caches.l2 = src.bytes() + dst.bytes() - 1;  // almost holds both
    EXPECT_EQ(bypasses(NextUse::later), bypasses(NextUse::soon)) << shape.text();
    options.tuning.caches.l2 = 1 << 24;
    EXPECT_FALSE(bypasses(NextUse::later)) << shape.text();
    options.tuning.caches.l2 = 16384;
    if (row.soon) {  // of memory, with prefetches of the source
      options.huge_from = 0;
      ASSERT_EQ(difference_of({"n h w c", "n c h w", shape, DType::f32, DType::f32, {}, {}, {}},
                              options, random, nullptr),
                "");
      options.huge_from.reset();
    }
    options.tuning.non_temporal = false;
    EXPECT_FALSE(bypasses(NextUse::later)) << shape.text();
    options.huge_from = 0;  // by stores that fill lines, where there are any
    EXPECT_FALSE(bypasses(NextUse::soon)) << shape.text();
    for (int i = 0; i < 8; ++i) {  // walking memory in any way, this one too
      for (const DType dtype : {DType::f32, DType::f64}) {
        ASSERT_EQ(
            difference({"n h w c", "n c h w", shape, dtype, dtype, {}, {}, {}}, random, nullptr),
            "");
        ASSERT_EQ(
            difference({"n c h w", "n h w c", shape, dtype, dtype, {}, {}, {}}, random, nullptr),
            "");
      }
    }
  }
}

TEST(Convert, SameBitsForEveryThreadCount) {
  Random random(7);
  for (const int threads : {2, 3}) {
    ThreadPool pool(threads);
    for (const char* from : {"n c h w", "n h w c", "n c/4 h w c%4", "n c/48 h w c%48"}) {
      for (const char* to : {"n c h w", "n h w c", "n c/16 h w c%16", "n c/32 h w c%32"}) {
        const Case c{from, to, shape_of("n=1,c=50,h=47,w=91"), DType::f32, DType::f32, {}, {}, {}};
        ASSERT_EQ(difference(c, random, &pool), "");
      }
    }
    for (int i = 0; i < 20; ++i)
      ASSERT_EQ(difference(random_case(random, 150000), random, &pool), "");
  }
}

TEST(Convert, SameBitsForEveryInstructionSet) {
  for (const std::int64_t target : conversion::instruction_sets()) {
    SCOPED_TRACE(target);
    conversion::use_instruction_set(target);
    Random random(8);
    for (int i = 0; i < 200; ++i) {
      Case c = random_case(random, 2000);
      EXPECT_EQ(difference(c, random, nullptr), "");
      c.src = kAll[random() % 13];
      c.dst = kAll[random() % 13];
      EXPECT_EQ(difference(c, random, nullptr), "");
    }
    for (const char* to : {"n h w c", "n c/4 h w c%4", "n c/16 h w c%16"}) {
      for (const DType dtype : {DType::u8, DType::f16, DType::f32, DType::f64}) {
        for (const std::int64_t channels : {2, 3, 4, 5, 30, 33, 64}) {
          const Shape shape("nchw", {1, channels, 13, 19});
          EXPECT_EQ(difference({"n c h w", to, shape, dtype, dtype, {}, {}, {}}, random, nullptr),
                    "");
          EXPECT_EQ(difference({to, "n c h w", shape, dtype, dtype, {}, {}, {}}, random, nullptr),
                    "");
        }
      }
    }
    conversion::use_instruction_set(0);
    if (HasFailure()) return;
  }
}

// Integers, what lies between them, and what is far outside, not finite or not a number.
TEST(Convert, RoundsToNearestEvenAndSaturates) {
  std::vector<float> from;
  for (int i = -70000; i <= 70000; ++i) {
    for (const float part : {0.0f, 0.49f, 0.5f, 0.51f})
      from.push_back(static_cast<float>(i) + part);
  }
  for (const float x : {1e10f, 4194304.5f, 2147483648.0f, 1e-40f, HUGE_VALF, std::nanf("")}) {
    from.push_back(x);
    from.push_back(-x);
  }
  const Shape shape("w", {static_cast<std::int64_t>(from.size())});
  const Layout layout = Layout::parse("w");
  for (const std::int64_t target : conversion::instruction_sets()) {
    conversion::use_instruction_set(target);
    for (const DType dtype : {DType::u8, DType::i8, DType::u16, DType::i16, DType::i32}) {
      const auto bytes = static_cast<std::size_t>(dtype_bytes(dtype));
      std::vector<unsigned char> got(from.size() * bytes);
      Conversion(DType::f32, Mapping(layout, shape, 4), dtype,
                 Mapping(layout, shape, dtype_bytes(dtype)))
          .run(from.data(), got.data());
      for (std::size_t i = 0; i < from.size(); ++i) {
        std::int32_t want = 0;
        cast_by_oracle(DType::f32, &from[i], dtype, &want);
        ASSERT_EQ(std::memcmp(&want, &got[i * bytes], bytes), 0)
            << from[i] << " to " << dtype_name(dtype) << ", instruction set " << target;
      }
    }
    conversion::use_instruction_set(0);
  }
}

TEST(Convert, HalfBitsAreExhaustive) {
  std::vector<std::uint16_t> halves(65536), back(65536);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const Shape shape("w", {65536});
    const Layout layout = Layout::parse("w");
    const Mapping narrow(layout, shape, 2), wide(layout, shape, 4);
    std::vector<float> floats(65536);
    Conversion(dtype, narrow, DType::f32, wide).run(halves.data(), floats.data());
    Conversion(DType::f32, wide, dtype, narrow).run(floats.data(), back.data());
    for (std::size_t i = 0; i < halves.size(); ++i) {
      float want;
      cast_by_oracle(dtype, &halves[i], DType::f32, &want);
      ASSERT_EQ(std::memcmp(&want, &floats[i], 4), 0) << i;
      std::uint16_t half;
      cast_by_oracle(DType::f32, &floats[i], dtype, &half);
      ASSERT_EQ(half, back[i]) << i;
      if (want == want) {
        ASSERT_EQ(back[i], halves[i]) << i;
      }
    }
  }
}

TEST(Convert, UnalignedPointers) {
  Random random(9);
  const Shape shape = shape_of("n=1,c=13,h=7,w=19");
  for (const char* from : {"n c h w", "n h w c", "n c/4 h w c%4"}) {
    for (const char* to : {"n c h w", "n h w c", "n c/8 h w c%8"}) {
      for (std::size_t shift = 1; shift < 8; shift += 3) {
        const Mapping src(Layout::parse(from), shape, 4), dst(Layout::parse(to), shape, 4);
        std::vector<unsigned char> in(src.bytes() + 8), got(dst.bytes() + 8, 0xaa),
            want(dst.bytes());
        fill_random(DType::u8, in, random);
        convert_by_oracle(DType::u32, src, in.data() + shift, DType::u32, dst, want.data());
        Conversion(DType::u32, src, DType::u32, dst).run(in.data() + shift, got.data() + shift);
        EXPECT_TRUE(
            std::equal(want.begin(), want.end(), got.begin() + static_cast<std::ptrdiff_t>(shift)));
        EXPECT_EQ(got[shift - 1], 0xaa);
        EXPECT_EQ(got[shift + want.size()], 0xaa);
      }
    }
  }
}

TEST(Convert, EmptyAndScalar) {
  Random random(10);
  EXPECT_EQ(difference({"n c h w",
                        "n c/4 h w c%4",
                        shape_of("n=2,c=0,h=3,w=3"),
                        DType::f32,
                        DType::f32,
                        {},
                        {},
                        {}},
                       random, nullptr),
            "");
  EXPECT_EQ(difference({"n c h w",
                        "n c/4 h w c%4",
                        shape_of("n=0,c=3,h=3,w=3"),
                        DType::f32,
                        DType::f32,
                        {},
                        {},
                        {}},
                       random, nullptr),
            "");
  EXPECT_EQ(difference({"()", "()", Shape(), DType::f32, DType::i8, {}, {}, {}}, random, nullptr),
            "");
}

TEST(Convert, MatchesAxesByName) {
  Tensor in(DType::f32, shape_of("n=1,c=2,h=2,w=3"));
  for (std::size_t i = 0; i < 12; ++i) in.as<float>()[i] = static_cast<float>(i);
  const Mapping to(Layout::parse("w h c"), shape_of("c=2,w=3,h=2"), 4);
  std::vector<float> out(12);
  Conversion(DType::f32, in.mapping(), DType::f32, to).run(in.data(), out.data());
  EXPECT_EQ(out, (std::vector<float>{0, 6, 3, 9, 1, 7, 4, 10, 2, 8, 5, 11}));
  const Mapping other(Layout::parse("n c h w"), shape_of("n=1,c=2,h=3,w=2"), 4);
  EXPECT_THROW(Conversion(DType::f32, in.mapping(), DType::f32, other), Error);
  const float two[] = {1, 2};
  EXPECT_THROW(Conversion(DType::f32, in.mapping(), DType::f32, to, {two, {}, Axis("w")}), Error);
}

TEST(Convert, KnowsAliases) {
  const auto alias = [](const char* from, const char* to, const char* shape) {
    const Mapping a(Layout::parse(from), shape_of(shape), 4),
        b(Layout::parse(to), shape_of(shape), 4);
    return Conversion(DType::f32, a, DType::f32, b).is_alias();
  };
  EXPECT_TRUE(alias("n c h w", "n h w c", "n=2,c=1,h=3,w=4"));
  EXPECT_TRUE(alias("n c/4 h w c%4", "n h w c~4", "n=2,c=3,h=3,w=4"));
  EXPECT_FALSE(alias("n c h w", "n h w c", "n=2,c=3,h=3,w=4"));
}

/// The tests above would notice a planner with any of these faults.
TEST(Convert, FaultsAreNoticed) {
  for (const Fault fault : {Fault::drop_last_box, Fault::swap_source_strides, Fault::forget_tail,
                            Fault::short_first_loop, Fault::wrong_base, Fault::ignore_computed}) {
    Random random(11);
    int noticed = 0;
    for (int i = 0; i < 600; ++i) {
      const Case c = random_case(random, 300);
      const Mapping src(Layout::parse(c.from), c.shape, dtype_bytes(c.src));
      // A wrong stride may leave the source; no loop has more than 300 iterations, so there is
      // room.
      if (src.bytes() > 8192) continue;
      const Mapping dst(Layout::parse(c.to), c.shape, dtype_bytes(c.dst));
      std::vector<unsigned char> in(src.bytes() * 310 + 4096), got(dst.bytes() + 4096), want;
      fill_random(DType::u8, std::span(in).first(src.bytes()), random);
      want = got;
      convert_by_oracle(c.src, src, in.data(), c.dst, dst, want.data());
      for (auto& b : got) b = 0x55;
      for (std::int64_t cell = 0; cell < dst.cells(); ++cell) {
        std::array<std::int64_t, kMaxRank> x;
        if (dst.inverse(cell, x) == Cell::gap) {
          std::memset(got.data() + cell * dtype_bytes(c.dst), 0,
                      static_cast<std::size_t>(dtype_bytes(c.dst)));
        }
      }
      std::memset(got.data() + dst.bytes(), 0, 4096);
      Program(c.src, src, c.dst, dst, {}, {.fault = fault}).run(in.data(), got.data(), nullptr);
      noticed += got != want;
    }
    EXPECT_GT(noticed, 10) << "fault " << static_cast<int>(fault);
  }
}

}  // namespace
}  // namespace stowage
