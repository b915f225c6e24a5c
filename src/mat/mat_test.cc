// SPDX-License-Identifier: Apache-2.0
#include "stowage/mat.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <vector>

#include "mat/test_util.h"

namespace stowage {

namespace {

using Header = std::array<std::size_t, 9>;  // dims w h d c cstep elemsize elempack n

Header header(const MatShape& s) {
  return {std::size_t(s.dims), std::size_t(s.w),        std::size_t(s.h),
          std::size_t(s.d),    std::size_t(s.c),        s.cstep,
          s.elemsize,          std::size_t(s.elempack), std::size_t(s.n)};
}

TEST(MatTest, ConstructorsMeanWhatNcnnsDo) {
  const std::size_t four = 4;
  // checklist 7.3 to 7.8, 7.12, 7.13, 7.36; seeds' tables of elemsize and elempack.
  EXPECT_EQ(header(Mat(40)), (Header{1, 40, 1, 1, 1, 40, 4, 1, 1}));
  EXPECT_EQ(header(Mat(10, 16u, 4)), (Header{1, 10, 1, 1, 1, 10, 16, 4, 1}));
  EXPECT_EQ(header(Mat(3)), (Header{1, 3, 1, 1, 1, 4, 4, 1, 1}));
  EXPECT_EQ(header(Mat(7, 8u)), (Header{1, 7, 1, 1, 1, 8, 8, 1, 1}));
  EXPECT_EQ(header(Mat(5, 6)), (Header{2, 5, 6, 1, 1, 32, 4, 1, 1}));
  EXPECT_EQ(header(Mat(5, 6, 2u)), (Header{2, 5, 6, 1, 1, 32, 2, 1, 1}));
  EXPECT_EQ(header(Mat(5, 6, 16u, 2)), (Header{2, 5, 6, 1, 1, 30, 16, 2, 1}));
  EXPECT_EQ(header(Mat(2, 3, 4)), (Header{3, 2, 3, 1, 4, 8, 4, 1, 1}));
  EXPECT_EQ(header(Mat(2, 3, 4, four)), (Header{3, 2, 3, 1, 4, 8, 4, 1, 1}));
  EXPECT_EQ(header(Mat(2, 3, 1, std::size_t{16}, 4)), (Header{3, 2, 3, 1, 1, 6, 16, 4, 1}));
  EXPECT_EQ(header(Mat(2, 3, 5, 4)), (Header{4, 2, 3, 5, 4, 32, 4, 1, 1}));
  EXPECT_EQ(header(Mat(2, 3, 5, 4, 1u)), (Header{4, 2, 3, 5, 4, 32, 1, 1, 1}));
  EXPECT_EQ(header(Mat(2, 3, 5, 4, 8u, 8)), (Header{4, 2, 3, 5, 4, 30, 8, 8, 1}));
  EXPECT_EQ(header(Mat(2, 3, 5, 4, 8, 8)), (Header{4, 2, 3, 5, 4, 30, 8, 8, 1}));
  // Ambiguous in ncnn: w, h, c, elemsize, elempack.
  EXPECT_EQ(header(Mat(5, 3, 1, 3, 3)), (Header{3, 5, 3, 1, 1, 16, 3, 3, 1}));
  EXPECT_EQ(header(Mat(5, 3, 1, 3u, 3)), (Header{3, 5, 3, 1, 1, 16, 3, 3, 1}));
  EXPECT_EQ(header(Mat(std::vector<int>(6).size())), (Header{1, 6, 1, 1, 1, 8, 4, 1, 1}));
  EXPECT_EQ(header(Mat()), (Header{0, 0, 0, 0, 0, 0, 0, 0, 1}));
  EXPECT_TRUE(Mat().empty());
  EXPECT_TRUE(Mat(0, 3, 4).empty());
}

TEST(MatTest, StepsAreNcnns) {
  // align(plane * elemsize, 16) / elemsize, floored; samples begin at multiples of 4096 bytes.
  for (const std::size_t elemsize : {1u, 2u, 3u, 4u, 6u, 8u, 12u, 16u, 32u, 64u}) {
    for (int w = 1; w < 40; w += 3) {
      for (int h = 1; h < 6; ++h) {
        const std::size_t plane = std::size_t(w * h);
        std::size_t bytes = plane * elemsize;
        while (bytes % 16 != 0) ++bytes;
        EXPECT_EQ(Mat(w, h, 3, elemsize).cstep, bytes / elemsize);
        EXPECT_EQ(Mat(w, h, elemsize).cstep, bytes / elemsize);
        EXPECT_EQ(Mat(w * h, elemsize).cstep, bytes / elemsize);
        EXPECT_EQ(Mat(w, 1, h, 2, elemsize).cstep, bytes / elemsize);
        const Mat batch(MatShape{.dims = 3, .w = w, .h = h, .c = 3, .elemsize = elemsize, .n = 2});
        std::size_t sample = bytes / elemsize * 3 * elemsize;
        while (sample % 4096 != 0) ++sample;
        EXPECT_EQ(batch.nstep, sample / elemsize);
        EXPECT_EQ(batch.total(), bytes / elemsize * 3);
        EXPECT_EQ(batch.bytes(), (sample / elemsize + batch.total()) * elemsize);
      }
    }
  }
}

TEST(MatTest, HeadersThatMakeNoSenseAreErrors) {
  expect_error(ErrorCode::usage, "negative", [] { Mat(-1); });
  expect_error(ErrorCode::usage, "negative", [] { Mat(3, 3, -2, 4u); });
  expect_error(ErrorCode::usage, "negative", [] { Mat(MatShape{.dims = 1, .w = 3, .n = -1}); });
  expect_error(ErrorCode::usage, "do not hold", [] { Mat(3, 3, 3, 4u, 3); });
  expect_error(ErrorCode::usage, "do not hold", [] { Mat(3, 3, 3, 0u); });
  expect_error(ErrorCode::usage, "do not hold", [] { Mat(3, 3, 3, -4, 1); });
  expect_error(ErrorCode::usage, "do not hold", [] { Mat(3, 3, 3, 4u, 0); });
  expect_error(ErrorCode::usage, "dims 2",
               [] { Mat(MatShape{.dims = 2, .w = 3, .h = 3, .c = 2}); });
  expect_error(ErrorCode::usage, "dims 5", [] { Mat(MatShape{.dims = 5, .w = 3}); });
  expect_error(ErrorCode::usage, "cstep of 8",
               [] { Mat(MatShape{.dims = 3, .w = 3, .h = 3, .c = 2, .cstep = 8}); });
  expect_error(ErrorCode::usage, "nstep of 23",
               [] { Mat(MatShape{.dims = 3, .w = 3, .h = 3, .c = 2, .n = 2, .nstep = 23}); });
  const int most = 2147483647;
  expect_error(ErrorCode::limit, "64 bits", [&] { Mat(most, most, most); });
  expect_error(ErrorCode::limit, "2^47", [] { Mat(1 << 24, 1 << 24); });
  // What shape() says of packs must be an extent, too.
  std::vector<std::byte> none(1);
  for (const MatShape& s :
       {MatShape{.dims = 1, .w = 1 << 30, .elemsize = 4, .elempack = 4},
        {.dims = 2, .w = 0, .h = 1 << 29, .elemsize = 4, .elempack = 4},
        {.dims = 3, .w = 0, .h = 1, .c = 1 << 30, .elemsize = 2, .elempack = 2}}) {
    expect_error(ErrorCode::limit, "packs of", [&] { Mat::wrap(s, none.data()); });
  }
  EXPECT_EQ(
      Mat::wrap({.dims = 1, .w = 1 << 29, .elemsize = 3, .elempack = 3}, none.data()).shape().w,
      3 << 29);
  expect_error(ErrorCode::limit, "", [&] { Mat(most, most, 4u, 1); });
  expect_error(ErrorCode::limit, "",
               [&] { Mat(MatShape{.dims = 3, .w = 1, .h = 1, .c = 2, .cstep = ~std::size_t{0}}); });
}

TEST(MatTest, CopiesShareAndClonesDoNot) {
  Mat a = counted(MatShape::of(3, 3, 2));
  EXPECT_EQ(a.use_count(), 1);
  {
    const Mat b = a;
    EXPECT_EQ(a.use_count(), 2);
    EXPECT_EQ(b.data, a.data);
  }
  EXPECT_EQ(a.use_count(), 1);
  Mat view = a.channel(1);
  a.release();
  EXPECT_TRUE(a.empty());
  EXPECT_EQ(a.dims, 0);
  EXPECT_EQ(view.use_count(), 1);
  EXPECT_EQ(view.at<float>(2, 2), 17);  // a view keeps the memory
  const Mat deep = view.clone();
  view.fill(5.0f);
  EXPECT_EQ(deep.at<float>(2, 2), 17);
  EXPECT_EQ(deep.cstep, 12u);
}

TEST(MatTest, CreateKeepsMemoryThatNobodyShares) {
  Mat a(4, 3);
  const void* const before = a.data;
  a.create(4, 3);
  EXPECT_EQ(a.data, before);
  const Mat b = a;
  a.create(4, 3);
  EXPECT_NE(a.data, before);
  EXPECT_EQ(b.data, before);
  a.create(5, 2u);
  EXPECT_EQ(header(a), (Header{1, 5, 1, 1, 1, 8, 2, 1, 1}));
  a.create_like(Mat());
  EXPECT_TRUE(a.empty());
  float mine[12];
  Mat outside(4, 3, mine);
  outside.create(4, 3);
  EXPECT_EQ(outside.data, mine);
}

TEST(MatTest, MemoryOfTheCaller) {
  std::vector<float> cells(18);
  std::iota(cells.begin(), cells.end(), 0.0f);
  // Where ncnn's cstep and dense planes differ the caller must say which they are.
  expect_error(ErrorCode::usage, "12 elements", [&] { Mat(3, 3, 2, cells.data()); });
  Mat dense = Mat::wrap({.dims = 3, .w = 3, .h = 3, .c = 2, .cstep = 9}, cells.data());
  EXPECT_EQ(dense.use_count(), 0);
  EXPECT_EQ(dense.at<float>(0, 0, 1), 9);
  EXPECT_EQ(dense.bytes(), 72u);
  EXPECT_EQ(dense.clone().cstep, 12u);
  EXPECT_EQ(dense.clone().at<float>(2, 2, 1), 17);
  // One plane claims nothing behind its last element: ncnn's claims 16 bytes of these 12.
  EXPECT_EQ(Mat(3, cells.data()).bytes(), 12u);
  EXPECT_EQ(Mat(3, 3, cells.data()).bytes(), 36u);
  EXPECT_EQ(header(Mat(2, 2, 4, cells.data())), (Header{3, 2, 2, 1, 4, 4, 4, 1, 1}));
  EXPECT_EQ(header(Mat(2, cells.data(), 16, 4)), (Header{1, 2, 1, 1, 1, 2, 16, 4, 1}));
  expect_error(ErrorCode::usage, "no memory", [] { Mat(3, static_cast<void*>(nullptr)); });
  auto owner = std::make_shared<std::vector<float>>(6);
  {
    const Mat kept = Mat::wrap({.dims = 1, .w = 6}, owner->data(), owner);
    EXPECT_EQ(owner.use_count(), 2);
  }
  EXPECT_EQ(owner.use_count(), 1);
}

// ncnn recomputes cstep in channel_range and reshape, and forgets one that is not its own.
TEST(MatTest, ViewsInheritTheDistanceOfPlanes) {
  std::vector<float> cells(100, -1.0f);
  Mat m = Mat::wrap({.dims = 3, .w = 3, .h = 2, .c = 4, .cstep = 25}, cells.data());
  for (int q = 0; q < 4; ++q)
    for (int y = 0; y < 2; ++y)
      for (int x = 0; x < 3; ++x) m.at<float>(x, y, q) = static_cast<float>(q * 6 + y * 3 + x);
  EXPECT_EQ(cells[75 + 5], 23);
  const Mat middle = m.channel_range(1, 2);
  EXPECT_EQ(middle.cstep, 25u);
  EXPECT_EQ(middle.c, 2);
  EXPECT_EQ(middle.at<float>(1, 1, 1), 16);
  const Mat turned = m.reshape(2, 3, 4);
  EXPECT_EQ(turned.data, m.data);
  EXPECT_EQ(turned.at<float>(1, 2, 3), 23);
  const Mat flat = m.reshape(24);
  EXPECT_NE(flat.data, m.data);
  for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(flat[i], static_cast<float>(i));
  m.channel(2).fill(7.0f);
  EXPECT_EQ(cells[50 + 5], 7);
  EXPECT_EQ(cells[50 + 6], -1);  // gaps keep what they hold
}

TEST(MatTest, ViewsOfAllDims) {
  const Mat volume = counted(MatShape::of(3, 2, 5, 4));
  const Mat channel = volume.channel(2);
  EXPECT_EQ(header(channel), (Header{3, 3, 2, 1, 5, 6, 4, 1, 1}));
  EXPECT_EQ(channel.at<float>(2, 1, 4), 89);
  EXPECT_EQ(volume.at<float>(2, 1, 4, 2), 89);
  EXPECT_EQ(header(volume.depth(3)), (Header{2, 3, 2, 1, 1, 6, 4, 1, 1}));
  EXPECT_EQ(volume.depth(3).at<float>(0, 0), 18);
  EXPECT_EQ(volume.depth_range(1, 3).at<float>(0, 1, 2), 21);
  const Mat matrix = counted(MatShape::of(5, 4));
  EXPECT_EQ(matrix.row_range(1, 2).at<float>(0, 1), 10);
  EXPECT_EQ(matrix.row_range(1, 2).h, 2);
  EXPECT_EQ(matrix.range(3, 4).at<float>(3), 6);
  EXPECT_EQ(matrix.row(2)[1], 11);
  const Mat vector = counted(MatShape::of(9));
  EXPECT_EQ(vector.range(4, 3)[2], 6);
  EXPECT_EQ(vector[8], 8);
  // A plane is a channel of dims 1 and 2; a volume's slices are also those of its channel.
  EXPECT_EQ(vector.channel(0)[4], 4);
  EXPECT_EQ(header(matrix.channel(0)), (Header{2, 5, 4, 1, 1, 20, 4, 1, 1}));
  EXPECT_EQ(matrix.channel(0).at<float>(1, 2), 11);
  for (int q = 0; q < 4; ++q) {
    for (int z = 0; z < 5; ++z) {
      for (int y = 0; y < 2; ++y) {
        EXPECT_EQ(volume.channel(q).depth(z).row(y)[1], volume.at<float>(1, y, z, q));
      }
    }
    EXPECT_EQ(volume.channel(q).depth_range(1, 3).at<float>(2, 1, 2), volume.at<float>(2, 1, 3, q));
  }
  const float* pointer = vector;
  EXPECT_EQ(pointer[3], 3);
  EXPECT_EQ(static_cast<const float*>(volume.channel(1))[0], 30);
  const Mat batch = counted({.dims = 3, .w = 3, .h = 3, .c = 2, .n = 3});
  EXPECT_EQ(batch.batch(2).at<float>(0, 0, 1), 45);
  EXPECT_EQ(header(batch.batch_range(1, 2)), (Header{3, 3, 3, 1, 2, 12, 4, 1, 2}));
  EXPECT_EQ(batch.batch_range(1, 2).batch(1).at<float>(2, 2, 1), 53);
  EXPECT_EQ(batch.channel_range(1, 1).batch(1).at<float>(0, 0, 0), 27);
}

TEST(MatTest, FloatsAsFarAsTotalSays) {
  for (const MatShape& shape :
       {MatShape::of(10), MatShape::of(3, 3), MatShape::of(3, 3, 2), MatShape::of(10, 4u)}) {
    Mat m(shape);
    for (std::size_t i = 0; i < m.total(); ++i) m[i] = static_cast<float>(i);
    EXPECT_EQ(m.row(0)[2], 2);
    expect_error(ErrorCode::usage, "float ", [&] { m[m.total()]; });
  }
  // Of memory of the caller nothing behind the last element.
  float three[3] = {1, 2, 3};
  Mat m(3, three);
  EXPECT_EQ(m.total(), 3u);
  expect_error(ErrorCode::usage, "float 3 of 3", [&] { m[3]; });
}

TEST(MatTest, BytesEndWithTheLastSample) {
  Mat batch = counted({.dims = 3, .w = 3, .h = 3, .c = 3, .n = 2});
  Mat part = batch.channel_range(1, 2);
  EXPECT_EQ(part.bytes(), (part.nstep + 2 * part.cstep) * 4);
  EXPECT_LE(static_cast<std::byte*>(part.data) + part.bytes(),
            static_cast<std::byte*>(batch.data) + batch.bytes());
  // What lies between the samples of a view belongs to somebody else.
  part.fill(-7.0f);
  EXPECT_EQ(batch.batch(0).at<float>(2, 2, 0), 8);
  EXPECT_EQ(batch.batch(1).at<float>(2, 2, 0), 35);
  EXPECT_EQ(batch.batch(1).at<float>(2, 2, 2), -7);
  const Mat copy = part.clone();
  EXPECT_EQ(copy.batch(1).at<float>(0, 0, 0), -7);
  EXPECT_EQ(header(copy), (Header{3, 3, 3, 1, 2, 12, 4, 1, 2}));
}

TEST(MatTest, AccessIsChecked) {
  Mat m = counted(MatShape::of(3, 3, 2));
  expect_error(ErrorCode::usage, "coordinate 0 is 3", [&] { m.at<float>(3, 0, 0); });
  expect_error(ErrorCode::usage, "coordinate 2 is -1", [&] { m.at<float>(0, 0, -1); });
  expect_error(ErrorCode::usage, "2 coordinates", [&] { m.at<float>(0, 0); });
  expect_error(ErrorCode::usage, "8 bytes", [&] { m.at<double>(0, 0, 0); });
  expect_error(ErrorCode::usage, "8 bytes", [&] { m.fill(1.0); });
  expect_error(ErrorCode::usage, "1 bytes", [&] { m.row<char>(0); });
  expect_error(ErrorCode::usage, "rows", [&] { m.row(3); });
  expect_error(ErrorCode::usage, "channels", [&] { m.channel(2); });
  expect_error(ErrorCode::usage, "channels", [&] { m.channel_range(1, 2); });
  expect_error(ErrorCode::usage, "channels", [&] { m.channel_range(2147483647, 2147483647); });
  expect_error(ErrorCode::usage, "channels 1 to 2", [&] { m.channel(0).channel(1); });
  expect_error(ErrorCode::usage, "no depth", [&] { m.depth(0); });
  expect_error(ErrorCode::usage, "take a channel", [&] { m.row_range(0, 1); });
  expect_error(ErrorCode::usage, "take a channel", [&] { m.range(0, 1); });
  expect_error(ErrorCode::usage, "float 24 of 24", [&] { m[24]; });
  expect_error(ErrorCode::usage, "float 20 of 20", [&] { m.reshape(18)[20]; });
  expect_error(ErrorCode::usage, "not as many", [&] { m.reshape(17); });
  expect_error(ErrorCode::usage, "negative", [&] { m.reshape(-3, -6); });
  expect_error(ErrorCode::usage, "samples", [&] { m.batch(1); });
  Mat batch(MatShape{.dims = 1, .w = 3, .n = 2});
  expect_error(ErrorCode::usage, "batch", [&] { batch.range(0, 1); });
  // One packed element is one value.
  Mat packed(2, 3, 1, 16u, 4);
  using Pack = std::array<float, 4>;
  packed.at<Pack>(1, 2, 0) = {1, 2, 3, 4};
  EXPECT_EQ(packed.row<Pack>(2)[1], (Pack{1, 2, 3, 4}));
  EXPECT_EQ(packed.row(2)[6], 3);
  packed.fill(Pack{5, 6, 7, 8});
  EXPECT_EQ(packed[6], 7);
}

TEST(MatTest, ReshapeMovesOnlyWhereGapsComeOrGo) {
  const struct {
    MatShape from;
    std::vector<int> to;
    bool shares;
  } cases[] = {
      {MatShape::of(24), {6, 4}, true},
      {MatShape::of(24), {2, 2, 6}, true},
      {MatShape::of(24), {3, 2, 4}, false},
      {MatShape::of(3, 2, 4), {24}, false},
      {MatShape::of(3, 2, 4), {2, 3, 4}, true},
      {MatShape::of(3, 2, 4), {4, 3, 2}, false},
      {MatShape::of(4, 2, 3), {24}, true},
      {MatShape::of(4, 2, 3), {8, 3}, true},
      {MatShape::of(4, 2, 3), {2, 2, 2, 3}, true},
      {MatShape::of(3, 3, 1, 5), {45}, false},
      {{.dims = 3, .w = 3, .h = 3, .c = 2, .n = 2}, {6, 3}, false},
      {{.dims = 3, .w = 3, .h = 3, .c = 2, .n = 2}, {9, 1, 2}, true},
  };

  for (const auto& c : cases) {
    const Mat m = counted(c.from);
    const Mat r = c.to.size() == 1   ? m.reshape(c.to[0])
                  : c.to.size() == 2 ? m.reshape(c.to[0], c.to[1])
                  : c.to.size() == 3 ? m.reshape(c.to[0], c.to[1], c.to[2])
                                     : m.reshape(c.to[0], c.to[1], c.to[2], c.to[3]);
    EXPECT_EQ(r.data == m.data, c.shares) << r.dims;
    EXPECT_EQ(std::size_t(r.dims), c.to.size());
    float next = 0;
    for (int n = 0; n < r.n; ++n) {
      for (int q = 0; q < r.c; ++q) {
        const auto* plane =
            static_cast<const float*>(r.data) + r.nstep * std::size_t(n) + r.cstep * std::size_t(q);
        for (std::size_t i = 0; i < r.plane(); ++i) EXPECT_EQ(plane[i], next++);
      }
    }
  }
}

TEST(MatTest, MemoryIsSharedWithTensors) {
  const struct {
    const char *layout, *shape;
    Header header;
  } cases[] = {
      {"ncnn-3d-pack4", "c=6,h=3,w=5", {3, 5, 3, 1, 2, 15, 16, 4, 1}},
      {"ncnn-3d-pack1", "c=6,h=3,w=5", {3, 5, 3, 1, 6, 16, 4, 1, 1}},
      {"ncnn-1d-pack4", "w=10", {1, 3, 1, 1, 1, 3, 16, 4, 1}},
      {"ncnn-2d-pack8", "h=9,w=3", {2, 3, 2, 1, 1, 6, 32, 8, 1}},
      {"ncnn-4d-pack2", "c=3,d=2,h=3,w=3", {4, 3, 3, 2, 2, 18, 8, 2, 1}},
      {"ncnn-batch-pack4", "n=2,c=6,h=3,w=5", {3, 5, 3, 1, 2, 15, 16, 4, 2}},
      {"NCHW", "n=1,c=6,h=3,w=5", {3, 5, 3, 1, 6, 15, 4, 1, 1}},
      {"NCHW", "n=2,c=6,h=3,w=5", {3, 5, 3, 1, 6, 15, 4, 1, 2}},
      {"nChw8c", "n=1,c=6,h=3,w=5", {3, 5, 3, 1, 1, 15, 32, 8, 1}},
      {"NHWC", "n=1,c=3,h=4,w=5", {3, 5, 4, 1, 1, 20, 12, 3, 1}},
      {"h w c", "c=3,h=4,w=5", {3, 5, 4, 1, 1, 20, 12, 3, 1}},
      {"a b", "a=7,b=5", {2, 5, 7, 1, 1, 35, 4, 1, 1}},
      {"n c", "n=1,c=9", {2, 9, 1, 1, 1, 9, 4, 1, 1}},
      // Axes count by name, in whatever order the shape has them.
      {"ncnn-2d-pack1", "w=3,h=6", {2, 3, 6, 1, 1, 18, 4, 1, 1}},
      {"ncnn-2d-pack4", "w=3,h=6", {2, 3, 2, 1, 1, 6, 16, 4, 1}},
      {"ncnn-3d-pack4", "w=5,h=3,c=6", {3, 5, 3, 1, 2, 15, 16, 4, 1}},
      {"ncnn-3d-pack1", "h=3,w=5,c=6", {3, 5, 3, 1, 6, 16, 4, 1, 1}},
      {"ncnn-4d-pack2", "w=3,c=3,d=2,h=3", {4, 3, 3, 2, 2, 18, 8, 2, 1}},
      {"ncnn-batch-pack4", "c=6,w=5,n=2,h=3", {3, 5, 3, 1, 2, 15, 16, 4, 2}},
      {"NHWC", "n=1,h=4,w=5,c=3", {3, 5, 4, 1, 1, 20, 12, 3, 1}},
      // Nothing follows the only sample of a batch.
      {"ncnn-batch-pack4", "n=1,c=6,h=3,w=5", {3, 5, 3, 1, 2, 15, 16, 4, 1}},
      {"ncnn-batch-pack4", "c=6,h=3,w=5,n=1", {3, 5, 3, 1, 2, 15, 16, 4, 1}},
  };

  for (const auto& c : cases) {
    Tensor tensor(DType::f32, Shape::parse(c.shape), Layout::parse(c.layout));
    std::iota(tensor.as<float>().begin(), tensor.as<float>().end(), 0.0f);
    const Mapping mapping = tensor.mapping();
    const void* const memory = tensor.data();
    EXPECT_EQ(header(Mat::wrap(tensor.mutable_view())), c.header) << c.layout;
    Mat mat = Mat::wrap(std::move(tensor));
    EXPECT_EQ(header(mat), c.header) << c.layout;
    EXPECT_EQ(mat.data, memory);
    EXPECT_EQ(mat.use_count(), 1);
    // And back, with the count of scalars that the header has no place for.
    const Shape& shape = mapping.shape();
    const char packed = mat.dims == 1 ? 'w' : mat.dims == 2 ? 'h' : 'c';
    int axis = shape.index_of(Axis(std::string_view(&packed, 1)));
    if (axis < 0) axis = 0;  // axes of other names count by position
    const TensorView view = mat.view(DType::f32, shape[axis]);
    EXPECT_EQ(view.data, memory);
    EXPECT_EQ(view.mapping.shape().elements(), shape.elements());
    std::array<Digit, kMaxDigits> ours, theirs;
    const std::size_t count = view.mapping.normal_form(ours);
    ASSERT_EQ(count, mapping.normal_form(theirs)) << c.layout;
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(ours[i].stride, theirs[i].stride) << c.layout;
  }
  for (const char* other : {"h c w", "w h c", "image-channel", "c h (w)~64"}) {
    const bool image = std::string_view(other) == "image-channel";
    const Shape shape = Shape::parse(image ? "n=1,c=6,h=3,w=5" : "c=6,h=3,w=5");
    expect_error(ErrorCode::usage, "does not lie as a Mat does",
                 [&] { Mat::wrap(Tensor(DType::f32, shape, Layout::parse(other))); });
  }
}

TEST(MatTest, WhatIsMovedFromIsEmpty) {
  Mat frame(4, 3, 2);
  frame.fill(1.0f);
  const Mat queued = std::move(frame);
  EXPECT_TRUE(frame.empty());  // NOLINT(bugprone-use-after-move): this is what is tested
  frame.create(4, 3, 2);
  frame.fill(2.0f);
  EXPECT_EQ(queued.at<float>(0, 0, 0), 1.0f);
  EXPECT_EQ(queued.use_count(), 1);
  frame = std::move(frame.channel(1).clone());
  EXPECT_EQ(frame.dims, 2);
}

TEST(MatTest, ViewsHaveTheNamedLayouts) {
  const struct {
    MatShape shape;
    const char* layout;
  } cases[] = {
      {MatShape::of(10, 16u, 4), "ncnn-1d-pack4"},
      {MatShape::of(5, 3, 8u, 2), "ncnn-2d-pack2"},
      {MatShape::of(5, 3, 7), "ncnn-3d-pack1"},
      {MatShape::of(5, 3, 7, 64u, 16), "ncnn-3d-pack16"},
      {MatShape::of(5, 3, 2, 7, 12u, 3), "ncnn-4d-pack3"},
  };

  for (const auto& c : cases) {
    const Mat m(c.shape);
    EXPECT_EQ(m.view(DType::f32).mapping.layout(), Layout::parse(c.layout)) << c.layout;
    EXPECT_LE(m.view(DType::f32).mapping.bytes(), m.bytes());
  }
  const Mat m(MatShape::of(5, 3, 2, 16u, 4));
  EXPECT_EQ(m.view(DType::i32, 5).mapping.shape(), Shape("chw", {5, 3, 5}));
  EXPECT_EQ(m.view(DType::f32).mapping.shape(), Shape("chw", {8, 3, 5}));
  expect_error(ErrorCode::usage, "view of f16", [&] { m.view(DType::f16); });
  expect_error(ErrorCode::usage, "2 packs", [&] { m.view(DType::f32, 4); });
  expect_error(ErrorCode::usage, "2 packs", [&] { m.view(DType::f32, 9); });
  const Mat batch(
      MatShape{.dims = 3, .w = 5, .h = 3, .c = 2, .elemsize = 16, .elempack = 4, .n = 2});
  EXPECT_TRUE(batch.view(DType::f32)
                  .mapping.same_bytes(
                      Mapping(Layout::parse("ncnn-batch-pack4"), Shape("nchw", {2, 8, 3, 5}), 4)));
}

TEST(MatTest, MeanAndNorm) {
  for (const int pack : {1, 4}) {
    Mat m = counted(MatShape::of(3, 3, 8 / pack, 4u * unsigned(pack), pack));
    const Mat before = m.clone();
    const float mean[] = {1, 2, 3, 4, 5, 6, 7, 8}, norm[] = {2, 3, 4, 5, 6, 7, 8, 9};
    m.substract_mean_normalize(mean, norm);
    for (int c = 0; c < 8; ++c) {
      for (int i = 0; i < 9; ++i) {
        const std::size_t at =
            std::size_t(c / pack) * m.cstep * std::size_t(pack) + std::size_t(i * pack + c % pack);
        const float x = static_cast<const float*>(before.data)[at];
        EXPECT_EQ(static_cast<const float*>(m.data)[at], (x - mean[c]) * norm[c]);
      }
    }
  }
  // Lanes that do not count stay as they are, and arrays are as long as what counts.
  const std::array<float, 7> mean = {1, 2, 3, 4, 5, 6, 7}, norm = {2, 3, 4, 5, 6, 7, 8};
  const std::span<const float> means(mean), norms(norm), none;

  const struct {
    std::span<const float> mean, norm;
    int counts;
  } cases[] = {{means.first(3), norms.first(3), 3},
               {means.first(2), norms.first(1), 2},
               {none, norms.first(3), 3},
               {means.first(7), norms.first(7), 7},
               {means.first(1), norms.first(1), 4},
               {means.first(1), none, 4},
               {none, none, 3}};

  for (const auto& c : cases) {
    for (const int dims : {1, 2, 3}) {
      const int packs = (c.counts + 3) / 4;
      Mat m = dims == 1   ? Mat(packs, 16u, 4)
              : dims == 2 ? Mat(5, packs, 16u, 4)
                          : Mat(5, 2, packs, 16u, 4);
      m.fill(9.0f);
      m.substract_mean_normalize(c.mean, c.norm);
      const std::size_t run = dims == 1 ? 1 : dims == 2 ? 5 : 10;
      const std::size_t step = dims == 3 ? m.cstep : run;
      for (int q = 0; q < packs * 4; ++q) {
        const auto of = [&](std::span<const float> list, float other) {
          return list.empty() ? other : list[list.size() == 1 ? 0 : std::size_t(q)];
        };
        const float want = q < c.counts ? (9 - of(c.mean, 0)) * of(c.norm, 1) : 9;
        const float* const plane =
            static_cast<const float*>(m.data) + step * std::size_t(q / 4) * 4;
        for (std::size_t i = 0; i < run; ++i) ASSERT_EQ(plane[i * 4 + std::size_t(q % 4)], want);
      }
    }
  }
  Mat packed(5, 2, 1, 16u, 4);
  for (const auto& [a, b] : {std::pair{5, 5}, {5, 0}, {3, 4}, {0, 7}}) {
    expect_error(ErrorCode::usage, "values for 1 packs of 4", [&] {
      packed.substract_mean_normalize(means.first(std::size_t(a)), norms.first(std::size_t(b)));
    });
  }
  expect_error(ErrorCode::usage, "values for 2 packs of 4",
               [&] { Mat(5, 2, 2, 16u, 4).substract_mean_normalize(means.first(4), none); });
  Mat bytes(4, 4, 3, 1u);
  const float one[] = {1, 1, 1};
  expect_error(ErrorCode::usage, "floats", [&] { bytes.substract_mean_normalize(one, nullptr); });
}

}  // namespace

}  // namespace stowage
