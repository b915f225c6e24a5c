// SPDX-License-Identifier: Apache-2.0
// Float Mats of other sizes: what ncnn computes of one plane, and that any packing is the same.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stowage/error.h"
#include "stowage/mat.h"

namespace stowage {

namespace {

using Resize = void (*)(const Mat&, Mat&, int, int);

struct Case {
  const char* name;
  Resize resize;
  int w, h;
  std::vector<float> want;
};

// Of (3 x^2 + 7 y + x y) % 11, 5 x 4, by ncnn.
const Case kCases[] = {
    {"nearest", resize_nearest, 7, 3, {0,  0, 3, 1, 1, 5, 4, 7, 7, 0, 10,
                                       10, 4, 4, 3, 3, 8, 8, 8, 3, 4}},
    {"nearest", resize_nearest, 3, 6, {0, 3, 5, 0, 3, 5, 7, 0, 4, 3, 8, 3, 3, 8, 3, 10, 5, 2}},
    {"bilinear", resize_bilinear, 7, 3, {1.16667f, 1.92857f, 2.5f,     2.5f,     4.16667f, 4.47619f,
                                         4,        5,        4.42857f, 5.42857f, 9,        5.07143f,
                                         3.71429f, 4,        8.83333f, 6.92857f, 5.7381f,  6.33333f,
                                         3.35714f, 2.95238f, 4}},
    {"bilinear",
     resize_bilinear,
     3,
     6,
     {1, 1, 4.33333f, 2.83333f, 5.5f, 4.16667f, 4.66667f, 9.66667f, 3.94444f, 4.66667f, 8.33333f,
      3.72222f, 6.5f, 7, 3.5f, 8.33333f, 6, 3.33333f}},
    {"bicubic", resize_bicubic, 7, 3, {0.9673f,  1.87201f, 2.43997f, 2.32639f, 4.29268f,  4.77435f,
                                       3.93121f, 5.07872f, 3.78681f, 5.76763f, 10.03125f, 5.43235f,
                                       3.02442f, 4.03936f, 9.19014f, 6.9069f,  5.5631f,   6.25232f,
                                       3.03984f, 2.47978f, 4.1475f}},
    {"bicubic",
     resize_bicubic,
     3,
     6,
     {0.77906f, 0.21874f, 4.61259f, 2.6169f, 5.6875f, 4.12616f, 4.49917f, 10.52894f, 3.5584f,
      4.25199f, 8.61689f, 3.45201f, 6.50347f, 6.8125f, 3.25347f, 8.69991f, 5.82639f, 3.12564f}},
};

/// Plane q is 2^q times that.
Mat planes(int c) {
  Mat m(5, 4, c);
  for (int q = 0; q < c; ++q) {
    for (int y = 0; y < 4; ++y) {
      for (int x = 0; x < 5; ++x) {
        m.at<float>(x, y, q) = static_cast<float>((x * x * 3 + y * 7 + x * y) % 11 * (1 << q));
      }
    }
  }
  return m;
}

TEST(ResizeMat, NumbersOfNcnnInAnyPacking) {
  for (const Case& c : kCases) {
    for (const int elempack : {1, 3, 6}) {
      Mat m;
      convert_packing(planes(6), m, elempack);
      c.resize(m, m, c.w, c.h);
      EXPECT_EQ(m.elempack, elempack);
      convert_packing(m, m, 1);
      ASSERT_EQ(m.c, 6);
      for (int q = 0; q < 6; ++q) {
        for (int i = 0; i < c.w * c.h; ++i) {
          const float want = c.want[std::size_t(i)] * static_cast<float>(1 << q);
          ASSERT_NEAR(m.at<float>(i % c.w, i / c.w, q), want, 3e-5f * static_cast<float>(1 << q))
              << c.name << " " << i;
        }
      }
    }
  }
}

TEST(ResizeMat, OtherDimsAndBatches) {
  Mat out;
  const Mat picture = planes(2);
  resize_bilinear(picture, out, 5, 4);
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(out.at<float>(i % 5, i / 5 % 4, i / 20), picture.at<float>(i % 5, i / 5 % 4, i / 20));
  }
  // Rows of dims 2 are channels: nothing mixes them, and the height stays.
  const Mat rows = planes(1).channel(0);
  resize_bilinear(rows, out, 10, 99);
  EXPECT_EQ(out.dims, 2);
  EXPECT_EQ(out.h, 4);
  EXPECT_EQ(out.at<float>(1, 3), 0.75f * rows.at<float>(0, 3) + 0.25f * rows.at<float>(1, 3));
  // Of dims 1 each number becomes a plane.
  Mat vector(3);
  vector[2] = 5;
  resize_nearest(vector, out, 4, 2);
  EXPECT_EQ(out.c, 3);
  EXPECT_EQ(out.at<float>(3, 1, 2), 5);
  Mat batch({.dims = 3, .w = 2, .h = 1, .c = 2, .n = 2});
  batch.batch(1).at<float>(1, 0, 1) = 8;
  resize_bicubic(batch, out, 1, 1);
  EXPECT_EQ(out.n, 2);
  EXPECT_EQ(out.batch(1).at<float>(0, 0, 1), 4);
  EXPECT_EQ(out.batch(0).at<float>(0, 0, 1), 0);
}

TEST(ResizeMat, WhatIsRefused) {
  Mat out;
  EXPECT_THROW(resize_bilinear(Mat(), out, 3, 3), Error);
  EXPECT_THROW(resize_bilinear(Mat(3, 3, 3), out, 0, 3), Error);
  EXPECT_THROW(resize_bilinear(Mat(3, 3, 3, 2u), out, 3, 3), Error);
  EXPECT_THROW(resize_bilinear(Mat(3, 3, 3, 3), out, 3, 3), Error);
}

}  // namespace

}  // namespace stowage
