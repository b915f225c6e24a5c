// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "mat/test_util.h"

namespace stowage {

namespace {

TEST(MatBorders, AreOfOneValueRepeatedOrMirrored) {
  const struct {
    MatShape shape;
    int top, bottom, left, right;
  } cases[] = {{MatShape::of(5, 4, 3), 1, 2, 3, 0},
               {MatShape::of(5, 4, 2, 16u, 4), 2, 0, 1, 2},
               {MatShape::of(5), 0, 0, 2, 1},
               {MatShape::of(3, 3), 2, 2, 2, 2},
               {MatShape::of(4, 3, 2, 3), 1, 1, 1, 1}};

  for (const auto& c : cases) {
    const Mat m = counted(c.shape);
    for (const int type : {BORDER_CONSTANT, BORDER_REPLICATE, BORDER_REFLECT}) {
      Mat framed;
      copy_make_border(m, framed, c.top, c.bottom, c.left, c.right, type, 114.0f);
      ASSERT_EQ(framed.w, m.w + c.left + c.right);
      ASSERT_EQ(framed.h, m.h + c.top + c.bottom);
      ASSERT_EQ(framed.cstep, framed.standard_cstep());
      const auto value = [](const Mat& a, int x, int y, int z, int q, int k) {
        const std::size_t element = a.cstep * std::size_t(q) + std::size_t((z * a.h + y) * a.w + x);
        return static_cast<const float*>(
            a.data)[element * std::size_t(a.elempack) + std::size_t(k)];
      };
      const auto inner = [&](int i, int before, int extent) {
        const int at = i - before;
        if (at >= 0 && at < extent) return at;
        if (type == BORDER_CONSTANT) return -1;
        if (type == BORDER_REPLICATE) return at < 0 ? 0 : extent - 1;
        return at < 0 ? -at : 2 * extent - 2 - at;
      };
      for (int q = 0; q < m.c; ++q) {
        for (int z = 0; z < m.d; ++z) {
          for (int y = 0; y < framed.h; ++y) {
            for (int x = 0; x < framed.w; ++x) {
              const int sx = inner(x, c.left, m.w), sy = inner(y, c.top, m.h);
              for (int k = 0; k < m.elempack; ++k) {
                const float want = sx < 0 || sy < 0 ? 114.0f : value(m, sx, sy, z, q, k);
                ASSERT_EQ(value(framed, x, y, z, q, k), want) << x << " " << y;
              }
            }
          }
        }
      }
      copy_cut_border(framed, framed, c.top, c.bottom, c.left, c.right);
      ASSERT_EQ(framed.w, m.w);
      for (int q = 0; q < m.c; ++q)
        ASSERT_EQ(value(framed, m.w - 1, m.h - 1, m.d - 1, q, 0),
                  value(m, m.w - 1, m.h - 1, m.d - 1, q, 0));
    }
  }
  Mat bytes(3, 3, 1u), out;
  copy_make_border(bytes, out, 0, 0, 1, 0, BORDER_CONSTANT, 200);
  EXPECT_EQ(out.at<unsigned char>(0, 2), 200);
  expect_error(ErrorCode::usage, "border of -1",
               [&] { copy_make_border(bytes, out, 0, 0, -1, 0); });
  expect_error(ErrorCode::usage, "mirrored",
               [&] { copy_make_border(bytes, out, 3, 0, 0, 0, BORDER_REFLECT); });
  expect_error(ErrorCode::usage, "unknown", [&] { copy_make_border(bytes, out, 0, 0, 0, 0, 3); });
  expect_error(ErrorCode::usage, "empty", [&] { copy_make_border(Mat(), out, 0, 0, 0, 0); });
  expect_error(ErrorCode::usage, "leave nothing", [&] { copy_cut_border(bytes, out, 2, 1, 0, 0); });
  expect_error(ErrorCode::usage, "leave nothing",
               [&] { copy_cut_border(bytes, out, 0, -1, 0, 0); });
}

// ncnn 1.0.20261020's numbers: what is packed counts by its scalars.
TEST(MatBorders, CountScalarsOfPackedVectorsAndRows) {
  using Row = std::vector<float>;

  const struct {
    int dims, before, after, type;
    int elempack;  // of the result
    Row want;      // of dims 2 the first column
  } cases[] = {
      {2, 2, 2, BORDER_CONSTANT, 4, {7, 7, 1, 4, 7, 10, 13, 16, 19, 22, 7, 7}},
      {2, 2, 2, BORDER_REPLICATE, 4, {1, 1, 1, 4, 7, 10, 13, 16, 19, 22, 22, 22}},
      {2, 2, 2, BORDER_REFLECT, 4, {7, 4, 1, 4, 7, 10, 13, 16, 19, 22, 19, 16}},
      {2, 1, 2, BORDER_CONSTANT, 1, {7, 1, 4, 7, 10, 13, 16, 19, 22, 7, 7}},
      {2, 1, 0, BORDER_REPLICATE, 1, {1, 1, 4, 7, 10, 13, 16, 19, 22}},
      {2, 4, 4, BORDER_REFLECT, 4, {13, 10, 7, 4, 1, 4, 7, 10, 13, 16, 19, 22, 19, 16, 13, 10}},
      {1, 4, 4, BORDER_CONSTANT, 4, {7, 7, 7, 7, 1, 2, 3, 4, 5, 6, 7, 8, 7, 7, 7, 7}},
      {1, 4, 4, BORDER_REPLICATE, 4, {1, 1, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 8, 8, 8, 8}},
      {1, 4, 4, BORDER_REFLECT, 4, {5, 4, 3, 2, 1, 2, 3, 4, 5, 6, 7, 8, 7, 6, 5, 4}},
      {1, 1, 2, BORDER_REPLICATE, 1, {1, 1, 2, 3, 4, 5, 6, 7, 8, 8, 8}},
      {1, 0, 3, BORDER_REFLECT, 1, {1, 2, 3, 4, 5, 6, 7, 8, 7, 6, 5}},
      {1, 2, 2, BORDER_CONSTANT, 4, {7, 7, 1, 2, 3, 4, 5, 6, 7, 8, 7, 7}},
  };

  for (const auto& c : cases) {
    const bool rows = c.dims == 2;
    Mat planar = rows ? Mat(3, 8) : Mat(8);
    for (int i = 0; i < planar.w * planar.h; ++i) planar[std::size_t(i)] = float(i + 1);
    Mat four;
    convert_packing(planar, four, 4);
    four = four.clone();
    const auto numbers = [&](const Mat& m) {
      Mat scalars;
      convert_packing(m, scalars, 1);
      Row out;
      for (int y = 0; rows && y < scalars.h; ++y) out.push_back(scalars.row(y)[0]);
      for (int x = 0; !rows && x < scalars.w; ++x) out.push_back(scalars.row(0)[x]);
      return out;
    };
    const int top = rows ? c.before : 0, bottom = rows ? c.after : 0;
    const int left = rows ? 0 : c.before, right = rows ? 0 : c.after;
    // Into memory of the caller, too.
    const auto all = int(c.want.size());
    std::vector<float> memory(std::size_t(all) * 3);
    const MatShape made{.dims = c.dims,
                        .w = rows ? 3 : all / c.elempack,
                        .h = rows ? all / c.elempack : 1,
                        .elemsize = 4u * unsigned(c.elempack),
                        .elempack = c.elempack};
    for (Mat framed : {Mat(), Mat::wrap(made, memory.data())}) {
      const void* const given = framed.data;
      copy_make_border(four, framed, top, bottom, left, right, c.type, 7);
      ASSERT_EQ(framed.dims, c.dims);
      ASSERT_EQ(framed.elempack, c.elempack);
      ASSERT_EQ(numbers(framed), c.want);
      if (given != nullptr) {
        ASSERT_EQ(framed.data, given);
      }
      copy_cut_border(framed, framed, top, bottom, left, right);
      ASSERT_EQ(numbers(framed), numbers(four));
    }
    Mat two;
    convert_packing(planar, two, 2);
    copy_cut_border(two, two, rows ? 3 : 0, rows ? 1 : 0, rows ? 0 : 3, rows ? 0 : 1);
    EXPECT_EQ(two.elempack, 2);
    EXPECT_EQ(numbers(two), (rows ? Row{10, 13, 16, 19} : Row{4, 5, 6, 7}));
    copy_cut_border(four, four, rows ? 3 : 0, 0, rows ? 0 : 3, 0);
    EXPECT_EQ(four.elempack, 1);
    EXPECT_EQ(numbers(four), (rows ? Row{10, 13, 16, 19, 22} : Row{4, 5, 6, 7, 8}));
  }
  Mat framed;
  copy_make_border(Mat(3, 2, 16u, 4), framed, 1, 0, 2, 0);
  EXPECT_EQ(framed.w, 5);
  EXPECT_EQ(framed.h, 9);
}

TEST(MatBorders, TooLargeOnesAreErrorsBeforeMemoryIsTaken) {
  const int much = 2000000000;

  const struct {
    MatShape shape;
    int top, bottom, left, right;
  } cases[] = {
      {MatShape::of(3, 3, 3), much, 0, much, 0},
      {MatShape::of(3, 3), much, much, 0, 0},
      {MatShape::of(3), 0, 0, much, much},
      {MatShape::of(1 << 15, 1, 3), much, 0, 0, 0},
      {MatShape::of(3, 2, 16u, 4), much, much, 0, 0},
      {MatShape::of(2, 16u, 4), 0, 0, much, much},
      {MatShape::of(3, 2, 16u, 4), much, 0, much, 0},
  };

  for (const auto& c : cases) {
    for (const int type : {BORDER_CONSTANT, BORDER_REPLICATE}) {
      Mat out;
      expect_error(ErrorCode::limit, "", [&] {
        copy_make_border(Mat(c.shape), out, c.top, c.bottom, c.left, c.right, type);
      });
    }
  }
}

TEST(MatBorders, BytesAreTruncatedAndInRange) {
  const struct {
    float value;
    int want;
  } cases[] = {{1.5f, 1},     {-100.7f, 256 - 100}, {200, 200},
               {255.9f, 255}, {-128.9f, 128},       {-0.9f, 0}};

  for (const auto& c : cases) {
    Mat out;
    copy_make_border(Mat(3, 3, 1u), out, 0, 0, 1, 0, BORDER_CONSTANT, c.value);
    EXPECT_EQ(out.at<unsigned char>(0, 2), c.want) << c.value;
  }
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float value :
       {256.0f, -129.0f, 1e9f, infinity, -infinity, std::numeric_limits<float>::quiet_NaN()}) {
    Mat out;
    expect_error(ErrorCode::usage, "border",
                 [&] { copy_make_border(Mat(3, 3, 1u), out, 0, 0, 1, 0, BORDER_CONSTANT, value); });
    copy_make_border(Mat(3, 3, 1u), out, 0, 0, 1, 0, BORDER_REPLICATE, value);
  }
}

}  // namespace

}  // namespace stowage
