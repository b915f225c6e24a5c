// SPDX-License-Identifier: Apache-2.0
// The tables of inner kernels: which of them a conversion has, and that it says so.
#include "convert/kernels.h"

#include <gtest/gtest.h>
#include <hwy/detect_targets.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "convert/blocks.h"
#include "convert/conversion.h"
#include "convert/oracle.h"
#include "tests/suite/guarded.h"

namespace stowage {
namespace {

using namespace conversion;

/// Bytes by which a misplaced one is noticed.
void fill(std::span<unsigned char> bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<unsigned char>(i * 31 + i / 251);
}

TEST(ConvertKernels, NamesItsKernel) {
  const auto kernel = [](const char* from, const char* to, const char* shape, DType src,
                         DType dst) {
    const Mapping a(Layout::parse(from), Shape::parse(shape), dtype_bytes(src));
    const Mapping b(Layout::parse(to), Shape::parse(shape), dtype_bytes(dst));
    return Conversion(src, a, dst, b).kernel();
  };
  EXPECT_EQ(kernel("n c h w", "n h w c", "n=1,c=64,h=9,w=9", DType::f32, DType::f32),
            "transpose 4");
  EXPECT_EQ(kernel("n c/4 h w c%4", "n h w c", "n=1,c=64,h=9,w=9", DType::f32, DType::f32),
            "transpose 16");
  EXPECT_EQ(
      kernel("n c/16 h w c%16", "c/16 n h w c%16", "n=2,c=64,h=9,w=9", DType::f32, DType::f32),
      "copy");
  const std::string few = kernel("n h w c", "n c h w", "n=1,c=5,h=9,w=9", DType::u8, DType::f32);
  EXPECT_TRUE(few == "u8->f32 spread 5" || few == "u8->f32 part 5") << few;
  EXPECT_EQ(kernel("n h w c", "c h w n", "n=4,c=64,h=90,w=90", DType::u8, DType::u8),
            "transpose 1");  // whole lines
  // Fewer pixels than bytes in a vector: a shorter one does it, if any is compiled.
  if (narrower(kernels()) != nullptr) {
    const bool quads =
        kernels().joins_of(1).four.join != nullptr && !current_tuning().loads_pieces();
    EXPECT_EQ(kernel("n c h w", "n c/4 h w c%4", "n=1,c=64,h=7,w=7", DType::u8, DType::u8),
              quads ? "join 4" : "interleave 4");
  }
  // Few columns, yet rows of more than two lines: tiles do it.
  EXPECT_EQ(kernel("n c/17 h w c%17", "n c h w", "n=1,c=17,h=9,w=9", DType::f64, DType::f64),
            "transpose 8");
}

TEST(ConvertKernels, EveryKernelIsTheBestForSomething) {
  constexpr std::int64_t kFarStride = 4096 + kLine;  // and not in the same sets of a cache
  // By what they do: a table may hold rows of another instruction set, for which they are the best.
  using Does = std::pair<bool (*)(const TransposeBlock&), void (*)(const TransposeBlock&)>;
  std::map<Does, std::string_view> all;
  std::set<Does> chosen, narrow;  // of one instruction set alone, narrower ones are not among all
  std::set<const CopyKernel*> all_copies, chosen_copies;
  for (const std::int64_t target : instruction_sets()) {
    use_instruction_set(target);
    for (int element = 1, k = 0; element <= 16; element *= 2, ++k) {
      for (const TransposeKernel& row : kernels().transpose[static_cast<std::size_t>(k)]) {
        all.insert({{row.fits, row.run}, row.name});
      }
      for (const Kernels* other = narrower(kernels()); other != nullptr; other = narrower(*other)) {
        for (const TransposeKernel& row : other->transpose[static_cast<std::size_t>(k)])
          narrow.insert({row.fits, row.run});
      }
      for (std::int64_t na = 1; na <= 80; ++na) {
        for (std::int64_t nb = 1; nb <= 80; ++nb) {
          for (const int streams : {0, 16}) {
            Tuning tuning;
            tuning.streams = streams;
            TransposeBlock block{};
            block.na = na;
            block.nb = nb;
            block.tuning = &tuning;
            for (const bool dense : {false, true}) {
              block.row_stride = dense ? na * element : kFarStride;
              block.col_stride = dense ? kFarStride : nb * element;
              const TransposeKernel& row = choose(kernels(), element, block);
              EXPECT_TRUE(row.fits(block)) << row.name << ", " << na << " by " << nb;
              chosen.insert({row.fits, row.run});
              // Rows of AVX3_DL for bytes and words stand before all of AVX3, some for good.
              if (target != HWY_AVX3_DL || element > 2) continue;
              const auto rows = kernels().transpose[static_cast<std::size_t>(k)];
              const auto fits = [&](const TransposeKernel& other) { return other.fits(block); };
              auto next = std::ranges::find_if(rows, fits);
              if (next != rows.end()) next = std::find_if(next + 1, rows.end(), fits);
              if (next != rows.end()) chosen.insert({next->fits, next->run});
            }
          }
        }
      }
    }
    for (const CopyKernel& row : kernels().copy) all_copies.insert(&row);
    for (const std::int64_t across : {1, 2, 3}) {
      for (std::int64_t run = 1; run <= 1100; ++run) {
        for (const std::int64_t valid : {run, run / 2}) {
          CopyBlock block{};
          block.run = run;
          block.valid = valid;
          block.across = across;
          const CopyKernel& row = choose(kernels(), block);
          EXPECT_TRUE(row.fits(block)) << row.name << ", " << run;
          chosen_copies.insert(&row);
          block.last_run = block.last_valid = 1;
          chosen_copies.insert(&choose(kernels(), block));
        }
      }
    }
  }
  for (const auto& [does, name] : all) EXPECT_TRUE(chosen.contains(does)) << name;
  for (const Does& does : chosen) EXPECT_TRUE(all.contains(does) || narrow.contains(does));
  EXPECT_EQ(chosen_copies, all_copies);
  use_instruction_set(0);
}

TEST(ConvertKernels, PixelsIntoPlanesLikeOneByOne) {
  for (const std::int64_t target : instruction_sets()) {
    use_instruction_set(target);
    const auto split =
        kernels()
            .moves[static_cast<std::size_t>(Fast::u8)][static_cast<std::size_t>(Fast::f32)]
            .split;
    if (split == nullptr) continue;
    for (int channels = PixelRun::kLeast; channels <= PixelRun::kMost; ++channels) {
      for (const std::int64_t n : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 1023}) {
        std::vector<Byte> pixels(static_cast<std::size_t>(n * channels));  // nothing behind them
        for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<Byte>(i * 89 + 7);
        std::vector<std::vector<float>> planes(static_cast<std::size_t>(channels),
                                               std::vector<float>(static_cast<std::size_t>(n)));
        PixelRun run{.src = pixels.data(),
                     .src_end = pixels.data() + pixels.size(),
                     .n = n,
                     .channels = channels,
                     .to = {},
                     .mean = {1.5f, -3, 0, 117},
                     .norm = {0.25f, 1, 1 / 3.f, -2},
                     .prefetch_for_write = n % 2 == 0};
        for (int c = 0; c < channels; ++c) run.to[c] = planes[static_cast<std::size_t>(c)].data();
        split(run);
        for (std::size_t i = 0; i < pixels.size(); ++i) {
          const std::size_t c = i % static_cast<std::size_t>(channels);
          const float want = (static_cast<float>(pixels[i]) - run.mean[c]) * run.norm[c];
          ASSERT_EQ(planes[c][i / static_cast<std::size_t>(channels)], want)
              << n << " pixels of " << channels << ", instruction set " << target;
        }
      }
    }
  }
  use_instruction_set(0);
}

TEST(ConvertKernels, PixelsOfSeveralUnits) {
  const Shape shape("nhwc", {2, 173, 331, 3});
  const Mapping src(Layout::parse("n h w c"), shape, 1), dst(Layout::parse("n c h w"), shape, 4);
  std::vector<unsigned char> in(src.bytes());
  std::vector<float> want(dst.bytes() / 4), got(want.size(), -1);
  fill(in);
  const float mean[] = {1, 2, 3}, norm[] = {0.5f, -1, 4};
  const ScalarMap map{mean, norm, Axis("c")};
  convert_by_oracle(DType::u8, src, in.data(), DType::f32, dst, want.data(), map);
  Program(DType::u8, src, DType::f32, dst, map)
      .run(in.data(), reinterpret_cast<Byte*>(got.data()), nullptr);
  EXPECT_EQ(got, want);
}

TEST(ConvertKernels, CachesOfAnySizeGiveTheSameBytes) {
  const Shape shape = Shape("nchw", {1, 48, 64, 64});
  const Mapping src(Layout::parse("n c h w"), shape, 4), dst(Layout::parse("n h w c"), shape, 4);
  std::vector<unsigned char> in(src.bytes() + 64), want(dst.bytes()), got(dst.bytes());
  fill(in);
  convert_by_oracle(DType::f32, src, in.data(), DType::f32, dst, want.data());
  for (const Caches caches :
       {Caches{}, Caches{.l1 = 1 << 10, .l1_ways = 1, .l2 = 1 << 12, .l2_ways = 1, .l3 = 1 << 14},
        Caches{.l1 = 1 << 20, .l1_ways = 32, .l2 = 1 << 30, .l2_ways = 16, .l3 = 0}}) {
    for (const int streams : {0, 16}) {
      std::fill(got.begin(), got.end(), 0x55);
      Options options;
      options.tuning.caches = caches;
      options.tuning.streams = streams;
      Program(DType::f32, src, DType::f32, dst, {}, options).run(in.data(), got.data(), nullptr);
      EXPECT_EQ(got, want) << "an L2 of " << caches.l2 << ", " << streams << " streams";
    }
  }
}

TEST(ConvertKernels, JoinsAndPartingsGiveTheSameBytesForAnyProcessor) {
  struct Case {
    const char *from, *to;
    DType dtype;
  };

  constexpr const char *kNchw = "n c h w", *k4c = "n c/4 h w c%4", *k8c = "n c/8 h w c%8",
                       *k16c = "n c/16 h w c%16";
  constexpr Case kCases[] = {
      {k4c, k8c, DType::f32},   {k4c, k16c, DType::f32},   {k8c, k16c, DType::f32},
      {kNchw, k4c, DType::f32}, {kNchw, k8c, DType::f32},  {kNchw, k8c, DType::u16},
      {k8c, k16c, DType::u16},  {kNchw, k16c, DType::u16}, {k8c, k4c, DType::f32},
      {k16c, k4c, DType::f32},  {k16c, k8c, DType::f32},   {k16c, k8c, DType::u16},
      {k8c, kNchw, DType::f32}, {k16c, kNchw, DType::f32}};
  for (const std::int64_t target : instruction_sets()) {
    use_instruction_set(target);
    for (const Case& c : kCases) {
      for (const std::int64_t w : {4, 5, 7, 8, 9, 31, 32, 33, 64, 127}) {
        const Shape shape("nchw", {1, 48, 3, w});
        const int bytes = dtype_bytes(c.dtype);
        const Mapping src(Layout::parse(c.from), shape, bytes),
            dst(Layout::parse(c.to), shape, bytes);
        std::vector<unsigned char> in(src.bytes()), want(dst.bytes());
        fill(in);
        convert_by_oracle(c.dtype, src, in.data(), c.dtype, dst, want.data());
        const std::unique_ptr<std::byte, Free> got(allocate_zeroed(dst.bytes()));
        for (const bool huge : {false, true}) {  // written by non-temporal stores
          for (const int streams : {0, 16}) {
            Options options;
            if (huge) options.huge_from = 0;
            options.tuning.streams = streams;
            options.tuning.prefetch_for_write = streams == 0;
            auto* const to = reinterpret_cast<Byte*>(got.get());
            std::fill_n(to, dst.bytes(), Byte{0x55});
            Program(c.dtype, src, c.dtype, dst, {}, options).run(in.data(), to, nullptr);
            ASSERT_TRUE(std::equal(want.begin(), want.end(), to))
                << c.from << " to " << c.to << ", width " << w << (huge ? ", huge, " : ", ")
                << streams << " streams, instruction set " << target;
          }
        }
      }
    }
  }
  use_instruction_set(0);
}

TEST(ConvertKernels, BytesOfAnyNumberOfChannels) {
  constexpr const char *kNchw = "n c h w", *kNhwc = "n h w c";
  for (const std::int64_t target : instruction_sets()) {
    use_instruction_set(target);
    for (std::int64_t channels = 1; channels <= 82; channels += channels < 34 ? 1 : 6) {
      for (const std::int64_t pixels : {1, 31, 64, 65, 127, 128, 193, 1023}) {
        const Shape shape("nchw", {1, channels, 1, pixels});
        for (const bool parts : {false, true}) {
          for (const DType dtype : {DType::u8, DType::u16}) {
            const int bytes = dtype_bytes(dtype);
            const Mapping src(Layout::parse(parts ? kNhwc : kNchw), shape, bytes),
                dst(Layout::parse(parts ? kNchw : kNhwc), shape, bytes);
            Guarded in(src.bytes(), true), got(dst.bytes(), true);
            std::vector<unsigned char> want(dst.bytes());
            fill(in.bytes());
            convert_by_oracle(dtype, src, in.data(), dtype, dst, want.data());
            for (const int streams : {0, 16}) {
              Options options;
              options.tuning.streams = streams;
              options.tuning.prefetch_for_write = streams == 0;
              std::fill_n(got.data(), dst.bytes(), 0x55);
              Program(dtype, src, dtype, dst, {}, options).run(in.data(), got.data(), nullptr);
              ASSERT_TRUE(std::equal(want.begin(), want.end(), got.data()))
                  << channels << " channels of " << bytes << " bytes, " << pixels << " pixels, "
                  << (parts ? "parted, " : "joined, ") << streams << " streams, instruction set "
                  << target;
            }
          }
        }
      }
    }
  }
  use_instruction_set(0);
}

TEST(ConvertKernels, EachStepIsTakenOnceInAnyOrder) {
  for (const StepOrder order : {StepOrder::straight, StepOrder::scattered}) {
    for (std::int64_t n = 0; n < 40; ++n) {
      std::set<std::int64_t> taken;
      for (std::int64_t i = 0; i < n; ++i) taken.insert(step_at(order, i, n));
      EXPECT_EQ(static_cast<std::int64_t>(taken.size()), n);
      if (n == 0) continue;
      EXPECT_EQ(*taken.begin(), 0);
      EXPECT_EQ(*taken.rbegin(), n - 1);
    }
  }
  // No distance twice in a row.
  for (std::int64_t n = 0; n < 40; ++n) {
    const auto distance = [&](std::int64_t i) {
      return step_at(StepOrder::scattered, i, n) - step_at(StepOrder::scattered, i - 1, n);
    };
    for (std::int64_t i = 2; i < n; ++i)
      EXPECT_NE(distance(i), distance(i - 1)) << i << " of " << n;
  }
}

TEST(ConvertKernels, ScatteredStepsGiveTheSameBytes) {
  constexpr const char *kNchw = "n c h w", *kNhwc = "n h w c", *k8c = "n c/8 h w c%8",
                       *k16c = "n c/16 h w c%16";
  constexpr std::pair<const char*, const char*> kPairs[] = {
      {kNchw, kNhwc}, {kNhwc, kNchw}, {kNchw, k8c}, {k8c, kNchw}, {kNchw, k16c}, {k16c, kNchw}};
  constexpr std::pair<DType, DType> kTypes[] = {{DType::u8, DType::u8},   {DType::f16, DType::f16},
                                                {DType::f32, DType::f32}, {DType::f64, DType::f64},
                                                {DType::f16, DType::f32}, {DType::f32, DType::f16}};
  for (const std::int64_t target : instruction_sets()) {
    use_instruction_set(target);
    int scattered = 0;
    for (const auto& [from, to] : kPairs) {
      for (const auto& [source, result] : kTypes) {
        for (const std::int64_t channels : {29, 64, 72, 192}) {
          for (const std::int64_t pixels : {97, 225, 290}) {
            const Shape shape("nchw", {1, channels, 1, pixels});
            const Mapping src(Layout::parse(from), shape, dtype_bytes(source)),
                dst(Layout::parse(to), shape, dtype_bytes(result));
            Guarded in(src.bytes(), true), got(dst.bytes(), true);
            std::vector<unsigned char> want(dst.bytes());
            fill(in.bytes());
            convert_by_oracle(source, src, in.data(), result, dst, want.data());
            Options options;
            static_cast<ConversionTuning&>(options.tuning) = {.streams = 16};
            options.tuning.caches = {.l2 = 1 << 24};
            const Program move(source, src, result, dst, {}, options);
            move.run(in.data(), got.data(), nullptr);
            ASSERT_TRUE(std::equal(want.begin(), want.end(), got.data()))
                << from << " to " << to << ", " << shape.text() << ", " << dtype_name(source)
                << " to " << dtype_name(result) << ", instruction set " << target;
            scattered += move.explain().find("scattered") != std::string::npos;
            // Neither where the L2 does not hold all nor where lines are asked for.
            options.tuning.caches = {.l2 = 1 << 10};
            const std::string beyond = Program(source, src, result, dst, {}, options).explain();
            EXPECT_EQ(beyond.find("scattered"), std::string::npos) << beyond;
            options.tuning.caches = {.l2 = 1 << 24};
            options.tuning.prefetch_for_write = true;
            const std::string ahead = Program(source, src, result, dst, {}, options).explain();
            EXPECT_EQ(ahead.find("scattered"), std::string::npos) << ahead;
          }
        }
      }
    }
    EXPECT_EQ(scattered > 0, kernels().vectors_are_lines()) << target;
  }
  use_instruction_set(0);
}

// Rows of which a column, or two, is about a vector long, and blocks that their number does not
// fill.
TEST(ConvertKernels, ColumnsOfAboutAVectorGiveTheSameBytes) {
  constexpr const char *kNchw = "n c h w", *kNhwc = "n h w c";
  std::vector<std::pair<std::string, std::string>> pairs = {{kNchw, kNhwc}, {kNhwc, kNchw}};
  for (const char* const blocks : {"n c/2 h w c%2", "n c/4 h w c%4", "n c/8 h w c%8"}) {
    pairs.emplace_back(kNhwc, blocks);
    pairs.emplace_back(blocks, kNhwc);
  }
  for (const std::int64_t target : instruction_sets()) {
    use_instruction_set(target);
    for (const DType dtype : {DType::u8, DType::f16, DType::f32, DType::f64}) {
      for (std::int64_t channels = 2; channels <= 41; ++channels) {
        for (const std::int64_t pixels : {3, 31, 77, 161}) {
          const std::int64_t tuned = channels + pixels;
          Options options;
          static_cast<ConversionTuning&>(options.tuning) = {
              .prefetch_for_write = tuned % 3 == 0 || tuned % 2 == 0,
              .streams = tuned % 2 == 0 ? 0 : 16};
          const Shape shape("nchw", {1, channels, 1, pixels});
          for (const auto& [from, to] : pairs) {
            const Mapping src(Layout::parse(from), shape, dtype_bytes(dtype)),
                dst(Layout::parse(to), shape, dtype_bytes(dtype));
            Guarded in(src.bytes(), true), got(dst.bytes(), true);
            std::vector<unsigned char> want(dst.bytes());
            fill(in.bytes());
            std::ranges::fill(got.bytes(), 0x55);
            convert_by_oracle(dtype, src, in.data(), dtype, dst, want.data());
            Program(dtype, src, dtype, dst, {}, options).run(in.data(), got.data(), nullptr);
            ASSERT_TRUE(std::equal(want.begin(), want.end(), got.data()))
                << from << " to " << to << ", " << shape.text() << ", " << dtype_name(dtype)
                << ", instruction set " << target;
          }
        }
      }
    }
  }
  use_instruction_set(0);
}

// What lies behind the last row belongs to another unit, which may be done.
TEST(ConvertKernels, RaggedCopiesWriteTheirOwnRowsOnly) {
  constexpr std::int64_t kMargin = 256, kMostRows = 40;
  for (const std::int64_t target : instruction_sets()) {
    use_instruction_set(target);
    if (!kernels().copies_ragged) continue;
    for (const std::int64_t run : {4, 8, 16, 32, 64}) {
      for (const std::int64_t across : {2, 3, 4, 5, 9, 17}) {
        if (!fits_ragged(run, across)) continue;
        for (std::int64_t last = 1; last <= run; last += run > 8 ? 5 : 1) {
          for (const std::int64_t rows : {1, 4, 15, 16, 17, 33, 40}) {
            const bool cut = last < run && last % 2 == 1;
            const std::int64_t row = (across - 1) * run + (cut ? last : run),
                               plane = kMostRows * run;
            std::vector<unsigned char> in(static_cast<std::size_t>(across * plane + kMargin)),
                got(in.size() + 2 * kMargin, 0x55), want;
            fill(in);
            want = got;
            Tuning tuning;
            CopyBlock block{};
            block.src = in.data();
            block.dst = got.data() + kMargin;
            block.rows = rows;
            block.run = block.valid = run;
            block.src_end = in.data() + in.size();
            block.across = across;
            block.last_run = cut ? last : run;
            block.last_valid = last;
            block.tuning = &tuning;
            (cut ? block.is : block.os) = run;
            (cut ? block.os : block.is) = row;
            (cut ? block.across_is : block.across_os) = plane;
            (cut ? block.across_os : block.across_is) = run;
            for (std::int64_t r = 0; r < rows; ++r) {
              for (std::int64_t k = 0; k < across; ++k) {
                for (std::int64_t i = 0; i < (k + 1 < across ? run : block.last_run); ++i) {
                  const bool zero = k + 1 == across && i >= last;
                  want[static_cast<std::size_t>(kMargin + r * block.os + k * block.across_os + i)] =
                      zero ? 0 : block.src[r * block.is + k * block.across_is + i];
                }
              }
            }
            choose(kernels(), block).run(block);
            ASSERT_EQ(got, want) << across << " runs of " << run << ", the last of " << last
                                 << (cut ? " cut, " : " padded, ") << rows << " rows";
          }
        }
      }
    }
  }
  use_instruction_set(0);
}

TEST(ConversionTuning, IsSetForNewConversions) {
  const ConversionTuning before = conversion_tuning();
  for (const ConversionTuning tuning :
       {ConversionTuning{true, 16, false}, {false, 7, true}, {true, 12, false}}) {
    set_conversion_tuning(tuning);
    EXPECT_EQ(conversion_tuning(), tuning);
  }
  const Shape shape("nchw", {1, 48, 64, 64});
  const Mapping src(Layout::parse("n c h w"), shape, 4), dst(Layout::parse("n h w c"), shape, 4);
  const std::string text = Conversion(DType::f32, src, DType::f32, dst).explain();
  EXPECT_NE(text.find("as many far rows or columns at once as fill a line, lines asked for"),
            std::string::npos)
      << text;
  set_conversion_tuning({.prefetch_for_write = false, .streams = -3});
  EXPECT_EQ(conversion_tuning().streams, 0);
  EXPECT_TRUE(conversion_tuning().prefetch_for_write);
  set_conversion_tuning({.prefetch_for_write = false, .streams = 1 << 30});
  EXPECT_EQ(conversion_tuning().streams, kMostStreams);
  set_conversion_tuning(before);
}

TEST(ConversionTuning, ExplainsWhatMoves) {
  const Shape shape("nchw", {1, 30, 9, 9});
  const auto explain = [&](const char* from, const char* to, DType dtype) {
    const Mapping a(Layout::parse(from), shape, 4), b(Layout::parse(to), shape, dtype_bytes(dtype));
    return Conversion(DType::f32, a, dtype, b).explain();
  };
  EXPECT_EQ(explain("n c h w", "n c h w", DType::f32),
            "the bytes are the same on both sides: nothing moves\n");
  EXPECT_NE(explain("n c h w", "n h w c", DType::f32).find("transpose: "), std::string::npos);
  EXPECT_NE(explain("n c h w", "n c h w", DType::u8).find("cast: "), std::string::npos);
  EXPECT_NE(explain("n c h w", "n h w c", DType::f16).find("of 4 bytes, written as 2 bytes"),
            std::string::npos);
}

/// Whether so many columns of f32, far from each other, have a kernel of their own.
bool has_kernel_of_few(std::int64_t columns) {
  const std::int64_t row = columns * 4, rows = kPartsBytes / row;
  return kernel_for(4, columns, rows, row, 0, current_tuning()).number !=
         TransposeKernel::Number::element;
}

TEST(ConversionTuning, ExplainsWhatGoesThroughScratchMemory) {
  const struct {
    const char *from, *to, *part;
    std::vector<std::int64_t> extents;
    DType dtype, to_dtype;
  } cases[] = {
      {"n c h w",
       "n h c/4 w c%4",
       "columns are made in scratch memory",
       {1, 64, 56, 7},
       DType::f32,
       DType::f32},
      {"n h c/4 w c%4",
       "n c h w",
       "rows are gathered in scratch memory",
       {1, 64, 56, 14},
       DType::f32,
       DType::f32},
      {"n c/4 h w c%4",
       "n c h w",
       "1 of 4 columns are gaps and thrown away",
       {1, 3, 64, 64},
       DType::f32,
       DType::f32},
      {"n h w c",
       "c h w n",
       "by way of another layout in scratch memory",
       {8, 3, 112, 112},
       DType::u8,
       DType::u8},
      {"n h w c",
       "n c/8 h w c%8",
       "by way of scratch memory",
       {1, 64, 56, 56},
       DType::bf16,
       DType::u8},
  };

  for (const auto& c : cases) {
    const Shape shape("nchw", c.extents);
    const Mapping src(Layout::parse(c.from), shape, dtype_bytes(c.dtype)),
        dst(Layout::parse(c.to), shape, dtype_bytes(c.to_dtype));
    const std::string_view part = c.part;
    if (part.find("gaps") != part.npos && !has_kernel_of_few(4)) continue;
    const std::string text = Conversion(c.dtype, src, c.to_dtype, dst).explain();
    EXPECT_NE(text.find(part), std::string::npos) << c.from << " to " << c.to << ": " << text;
  }
}

// Columns that crowd the L1 are walked a few at a time where the lines of enough rows stay in it.
TEST(ConversionTuning, ColumnsThatCrowdTheL1) {
  Options options;
  static_cast<ConversionTuning&>(options.tuning) = {.streams = 16};
  options.tuning.caches = Caches{};
  const auto staggered = [&](std::int64_t channels, std::int64_t side) {
    const Shape shape("nchw", {1, channels, side, side});
    const Mapping src(Layout::parse("n h w c"), shape, 4), dst(Layout::parse("n c h w"), shape, 4);
    Guarded in(src.bytes(), true), got(dst.bytes(), true);
    std::vector<unsigned char> want(dst.bytes());
    fill(in.bytes());
    convert_by_oracle(DType::f32, src, in.data(), DType::f32, dst, want.data());
    const Program move(DType::f32, src, DType::f32, dst, {}, options);
    move.run(in.data(), got.data(), nullptr);
    EXPECT_TRUE(std::equal(want.begin(), want.end(), got.data())) << shape.text();
    return move.explain().find("a few columns at a time") != std::string::npos;
  };
  for (const std::int64_t channels : {32, 48, 50, 64, 96, 160})
    EXPECT_TRUE(staggered(channels, 64)) << channels;
  EXPECT_FALSE(staggered(16, 64));   // a line of the source
  EXPECT_FALSE(staggered(128, 64));  // rows crowd it too
  EXPECT_FALSE(staggered(64, 63));   // columns are spread over all sets
  options.tuning.caches.l3 = 4 << 20;
  EXPECT_FALSE(staggered(64, 64));  // much of the L3
}

}  // namespace
}  // namespace stowage
