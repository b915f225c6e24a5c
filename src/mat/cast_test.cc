// SPDX-License-Identifier: Apache-2.0
// Mats of other types, and of one dim; what of ncnn's Mat is made of other calls.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "base/scalar.h"
#include "stowage/error.h"
#include "stowage/mat.h"

namespace stowage {

namespace {

/// -20, -19.75, ... in the order of w, h, d, c, n, whatever the packing.
Mat quarters(const MatShape& shape) {
  Mat m(shape);
  float next = -20;
  for (int n = 0; n < m.n; ++n) {
    for (int q = 0; q < m.c; ++q) {
      const Mat sample = m.batch(n);
      float* p = static_cast<float*>(sample.data) +
                 sample.cstep * std::size_t(q) * std::size_t(m.elempack);
      for (std::size_t i = 0; i < m.plane() * std::size_t(m.elempack); ++i) p[i] = next += 0.25f;
    }
  }
  return m;
}

TEST(Cast, HalvesAndBackInEveryPacking) {
  for (const int elempack : {1, 3, 4}) {
    const auto elemsize = std::size_t(4 * elempack);
    for (const MatShape& shape :
         {MatShape{.dims = 1, .w = 9, .elemsize = elemsize, .elempack = elempack},
          {.dims = 2, .w = 5, .h = 3, .elemsize = elemsize, .elempack = elempack},
          {.dims = 3, .w = 5, .h = 3, .c = 2, .elemsize = elemsize, .elempack = elempack, .n = 2},
          {.dims = 4,
          .w = 5,
          .h = 3,
          .d = 2,
          .c = 2,
          .elemsize = elemsize,
          .elempack = elempack}}) {
      const Mat m = quarters(shape);
      Mat half, back;
      cast_float32_to_float16(m, half);
      EXPECT_EQ(half.elemsize, elemsize / 2);
      EXPECT_EQ(half.elempack, elempack);
      EXPECT_EQ(half.cstep, half.standard_cstep());
      EXPECT_EQ(half.row<std::uint16_t>(0)[1], f32_to_f16(m.row(0)[1]));
      cast_float16_to_float32(half, back);
      // All these numbers are halves and bfloats.
      ASSERT_EQ(static_cast<const MatShape&>(back), static_cast<const MatShape&>(m));
      for (int n = 0; n < m.n; ++n) {
        const Mat want = m.batch(n), got = back.batch(n);
        for (std::size_t i = 0; i < want.total() * std::size_t(elempack); ++i) {
          ASSERT_EQ(static_cast<const float*>(got.data)[i],
                    static_cast<const float*>(want.data)[i]);
        }
      }
      Mat same = m;
      cast_float32_to_bfloat16(same, same);
      EXPECT_EQ(same.row<std::uint16_t>(0)[1], f32_to_bf16(m.row(0)[1]));
      cast_bfloat16_to_float32(same, same);
      EXPECT_EQ(same.row(0)[1], m.row(0)[1]);
    }
  }
}

TEST(Cast, OtherTypesAndErrors) {
  Mat bytes(3, 1, 1, 1u);
  bytes.at<signed char>(1, 0, 0) = -128;
  Mat floats;
  cast_int8_to_float32(bytes, floats);
  EXPECT_EQ(floats.at<float>(1, 0, 0), -128);
  Mat out(4);
  cast(Mat(), out, DType::f32, DType::f16);
  EXPECT_TRUE(out.empty());
  EXPECT_THROW(cast_float16_to_float32(floats, out), Error);
  // Nothing moves where the types are one.
  cast(floats, out, DType::f32, DType::f32);
  EXPECT_EQ(out.data, floats.data);
}

TEST(Cast, HalvesOfAFile) {
  const std::array<unsigned short, 5> halves = {0x3c00, 0xc000, 0x0001, 0x7c00, 0x3555};
  const Mat m = Mat::from_float16(halves.data(), 5);
  EXPECT_EQ(m.dims, 1);
  EXPECT_EQ(m.w, 5);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(m[i], f16_to_f32(halves[i]));
  const std::array<unsigned short, 2> bfloats = {0x3f80, 0xc2f7};
  EXPECT_EQ(Mat::from_bfloat16(bfloats.data(), 2)[1], -123.5f);
  EXPECT_TRUE(Mat::from_float16(halves.data(), 0).empty());
  EXPECT_THROW(Mat::from_float16(halves.data(), -1), Error);
  EXPECT_THROW(Mat::from_float16(nullptr, 2), Error);
}

TEST(Cast, FlattenFollowsTheChannels) {
  Mat m(3, 1, 5);
  for (int q = 0; q < 5; ++q)
    for (int x = 0; x < 3; ++x) m.at<float>(x, 0, q) = static_cast<float>(q * 3 + x);
  Mat packed, flat;
  convert_packing(m, packed, 5);
  for (const Mat& from : {m, packed}) {
    flatten(from, flat);
    EXPECT_EQ(flat.dims, 1);
    EXPECT_EQ(flat.w, 15);
    EXPECT_EQ(flat.elempack, 1);
    for (std::size_t i = 0; i < 15; ++i) EXPECT_EQ(flat[i], static_cast<float>(i));
  }
  flatten(Mat(), flat);
  EXPECT_TRUE(flat.empty());
}

TEST(Cast, SmallCallsOfNcnn) {
  Mat m(3, 2, 2);
  m.channel(1).row<int>(1)[2] = 7;
  EXPECT_EQ(m.at<int>(2, 1, 1), 7);
  const Mat& read_only = m;
  const int* row = read_only.channel(1).row<int>(1);
  EXPECT_EQ(row[2], 7);
  m.fill(2.5f);
  EXPECT_EQ(m.channel(1)[5], 2.5f);
  m.fill(3);
  EXPECT_EQ(m.at<int>(0, 0, 1), 3);
  // A vector fills a packed element.
  Mat packed(3, 2, 2, 16u, 4);
  packed.fill(std::array<float, 4>{1, 2, 3, 4});
  EXPECT_EQ(packed.channel(1).row(1)[2], 3);
  Mat copy;
  copy.clone_from(packed);
  EXPECT_NE(copy.data, packed.data);
  EXPECT_EQ(copy.channel(1).row(1)[3], 4);
  EXPECT_EQ(Mat::PIXEL_RGB2BGR & Mat::PIXEL_CONVERT_MASK,
            Mat::PIXEL_BGR << Mat::PIXEL_CONVERT_SHIFT);
}

/// What ncnn's examples write, line by line.
TEST(Cast, OrdinaryLinesOfNcnn) {
  Mat anchors(6);
  anchors[0] = 12.f;
  const int j = 1;
  anchors[j * 2] = 14.f;
  EXPECT_EQ(anchors[2] + anchors[0], 26.f);
  Mat m(4, 3, 2);
  const auto sum = [](const float* values, int count) {
    float out = 0;
    for (int i = 0; i < count; ++i) out += values[i];
    return out;
  };
  for (int q = 0; q < m.c; ++q) {
    float* ptr = m.channel(q);
    for (int i = 0; i < m.w * m.h; ++i) ptr[i] = static_cast<float>(q * 12 + i);
  }
  EXPECT_EQ(sum(m.channel(1), 12), 210);
  EXPECT_EQ(sum((const float*)m, 12), 66);
  EXPECT_EQ(((float*)m)[3], 3);
  EXPECT_EQ(m.channel(1).row(2)[3], 23);
  EXPECT_EQ(m.row<const float>(1)[0], 4);
  const Mat out = m.reshape(m.w * m.h * m.c);
  std::vector<float> scores;
  for (int i = 0; i < out.w; ++i) scores.push_back(out[i]);
  EXPECT_EQ(scores[23], 23);
  const float norm[] = {2, 4};
  m.substract_mean_normalize(0, norm);
  EXPECT_EQ(m.channel(1)[0], 48);
  m.substract_mean_normalize(norm, 0);
  EXPECT_EQ(m.channel(1)[0], 44);
  Mat padded, cut;
  copy_make_border(m, padded, 1, 2, 3, 4, BORDER_CONSTANT, 114.f);
  EXPECT_EQ(padded.row(0)[0], 114);
  copy_cut_border(padded, cut, 1, 2, 3, 4);
  EXPECT_EQ(cut.channel(1)[0], 44);
  unsigned char bytes[12] = {1, 2, 3};
  const Mat gray(4, 3, (void*)bytes, (std::size_t)1u, 1);
  const unsigned char* first = gray;
  EXPECT_EQ(first[2], 3);
  EXPECT_EQ(gray.total() * gray.elemsize, 12u);
  std::vector<Mat> blobs(2);
  blobs[0] = m.clone();
  blobs[0].release();
  EXPECT_TRUE(blobs[0].empty() && blobs[1].empty());
}

}  // namespace

}  // namespace stowage
