// SPDX-License-Identifier: Apache-2.0
// Memory that a destination has already, the caller's with any distance of planes above all.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <vector>

#include "stowage/pixels.h"

namespace stowage {

namespace {

constexpr std::size_t kDense = 15;  // 5 x 3
constexpr std::uint32_t kGap = 0xdeadbeef;

/// Scalars 1, 2, 3, ... by channel, then position.
Mat packed(int scalars, int elempack) {
  Mat planar(5, 3, scalars), out;
  for (int q = 0; q < scalars; ++q) {
    for (int i = 0; i < 15; ++i) planar.at<float>(i % 5, i / 5, q) = float(1 + q * 15 + i);
  }
  convert_packing(planar, out, elempack);
  return out;
}

struct Use {
  const char* name;
  MatShape made;  // what the call makes, steps left out
  std::function<void(Mat& out)> call;
};

std::vector<Use> uses() {
  static const std::vector<std::uint8_t> pixels = [] {
    std::vector<std::uint8_t> p(45);
    for (std::size_t i = 0; i < p.size(); ++i) p[i] = static_cast<std::uint8_t>(3 * i);
    return p;
  }();
  const Pixels picture{PixelFormat::rgb, 5, 3, pixels.data()};
  const auto from = [picture](const FromPixels& how) {
    return [picture, how](Mat& out) { from_pixels(picture, out, how); };
  };
  const MatShape three = MatShape::of(5, 3, 3);
  return {
      {"unpacked", three, [](Mat& m) { convert_packing(packed(3, 3), m, 1); }},
      {"unpacked in threads", MatShape::of(5, 3, 8),
       [](Mat& m) { convert_packing(packed(8, 4), m, 1, {.threads = 2}); }},
      {"packed", MatShape::of(5, 3, 2, 16u, 4),
       [](Mat& m) { convert_packing(packed(8, 1), m, 4); }},
      {"padded", MatShape::of(5, 3, 2, 16u, 4),
       [](Mat& m) { convert_packing(packed(6, 1), m, 4, {.padding = true}); }},
      {"cast", MatShape::of(5, 3, 8, 2u), [](Mat& m) { cast_float32_to_float16(packed(8, 1), m); }},
      {"pixels", three, from({})},
      {"other colours", three, from({.to = PixelFormat::bgr})},
      {"pixels packed", MatShape::of(5, 3, 2, 8u, 2), from({.elempack = 2})},
      {"bordered", MatShape::of(5, 3, 2),
       [](Mat& m) { copy_make_border(Mat(3, 2, 2), m, 1, 0, 1, 1, BORDER_CONSTANT, 7); }},
      {"cut", MatShape::of(5, 3, 2), [](Mat& m) { copy_cut_border(Mat(6, 6, 2), m, 2, 1, 0, 1); }},
      {"resized", MatShape::of(5, 3, 2), [](Mat& m) { resize_bilinear(Mat(10, 6, 2), m, 5, 3); }},
  };
}

TEST(MatMemory, OfTheDestinationIsWrittenWhateverItsSteps) {
  for (const Use& use : uses()) {
    Mat want;
    use.call(want);
    for (const std::size_t cstep : {kDense, kDense + 1, kDense + 9}) {
      MatShape shape = use.made;
      shape.cstep = cstep;
      shape = shape.complete();
      std::vector<std::uint32_t> memory(shape.cstep * std::size_t(shape.c) * shape.elemsize / 4 + 1,
                                        kGap);
      Mat out = Mat::wrap(shape, memory.data());
      use.call(out);
      ASSERT_EQ(out.data, memory.data()) << use.name << " " << cstep;
      ASSERT_EQ(out.cstep, cstep) << use.name;
      ASSERT_EQ(memory.back(), kGap);
      const auto* const bytes = reinterpret_cast<const std::byte*>(memory.data());
      for (int q = 0; q < shape.c; ++q) {
        const std::byte* const plane = bytes + cstep * std::size_t(q) * shape.elemsize;
        ASSERT_EQ(std::memcmp(plane, want.channel(q).data, kDense * shape.elemsize), 0)
            << use.name << " " << cstep << " plane " << q;
      }
    }
  }
}

TEST(MatMemory, CreateKeepsTheCallersSteps) {
  std::vector<float> memory(24 * 3);
  Mat out = Mat::wrap({.dims = 3, .w = 5, .h = 3, .c = 3, .cstep = 24}, memory.data());
  out.create(5, 3, 3);
  EXPECT_EQ(out.data, memory.data());
  EXPECT_EQ(out.cstep, 24u);
  out.create({.dims = 3, .w = 5, .h = 3, .c = 3, .cstep = 24});
  EXPECT_EQ(out.data, memory.data());
  // Steps that are asked for must be.
  out.create({.dims = 3, .w = 5, .h = 3, .c = 3, .cstep = 15});
  EXPECT_NE(out.data, memory.data());
  EXPECT_EQ(out.cstep, 15u);
}

TEST(MatMemory, CreateLikeHasNcnnsSteps) {
  std::vector<float> memory(200);
  const Mat odd = Mat::wrap({.dims = 3, .w = 5, .h = 3, .c = 3, .n = 2, .cstep = 21, .nstep = 90},
                            memory.data());
  Mat out;
  out.create_like(odd);
  EXPECT_EQ(out.cstep, 16u);
  EXPECT_EQ(out.nstep, 1024u);
  EXPECT_EQ(out.n, 2);
  EXPECT_EQ(odd.shape().cstep, 16u);
  EXPECT_EQ(Mat(odd.shape()).nstep, 1024u);
  Mat dense = Mat(3, 3, memory.data());
  EXPECT_EQ(dense.cstep, 9u);
  EXPECT_EQ(dense.shape().cstep, 12u);
}

}  // namespace

}  // namespace stowage
