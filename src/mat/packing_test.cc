// SPDX-License-Identifier: Apache-2.0
// convert_packing against ncnn's rules, written as loops over bytes.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "stowage/error.h"
#include "stowage/mat.h"

namespace stowage {

namespace {

using Bytes = std::vector<unsigned char>;

/// ncnn's header and bytes of a tensor whose packed axis has `scalars`, of which scalar k of
/// position i holds bytes that say (k, i); padding and gaps are zero.
struct OracleMat {
  int dims, w, h, d, c;
  std::size_t cstep, elemsize;
  int elempack;
  Bytes bytes;
};

/// Byte b of scalar k at the i-th position of all other axes.
unsigned char byte_of(std::size_t k, std::size_t i, std::size_t b) {
  return static_cast<unsigned char>(1 + (k * 89 + i * 13 + b * 57) % 251);
}

/// `inner`: extents w, h, d of which those not packed count.
OracleMat oracle_mat(int dims, const int (&inner)[3], int scalars, std::size_t lane, int pack) {
  OracleMat m{};
  m.dims = dims;
  m.w = inner[0];
  m.h = dims >= 2 ? inner[1] : 1;
  m.d = dims == 4 ? inner[2] : 1;
  m.c = 1;
  const int packs = (scalars + pack - 1) / pack;
  (dims == 1 ? m.w : dims == 2 ? m.h : m.c) = packs;
  m.elempack = pack;
  m.elemsize = lane * static_cast<std::size_t>(pack);
  const std::size_t plane = static_cast<std::size_t>(m.w * m.h * m.d);
  std::size_t aligned = plane * m.elemsize;
  while (aligned % 16 != 0) ++aligned;
  m.cstep = aligned / m.elemsize;
  m.bytes.assign(m.cstep * static_cast<std::size_t>(m.c) * m.elemsize, 0);
  for (int q = 0; q < m.c; ++q) {
    for (int z = 0; z < m.d; ++z) {
      for (int y = 0; y < m.h; ++y) {
        for (int x = 0; x < m.w; ++x) {
          const int group = dims == 1 ? x : dims == 2 ? y : q;
          const int position = dims == 1 ? 0 : dims == 2 ? x : (z * m.h + y) * m.w + x;
          const std::size_t element = static_cast<std::size_t>(q) * m.cstep +
                                      static_cast<std::size_t>((z * m.h + y) * m.w + x);
          for (int k = 0; k < pack; ++k) {
            const int scalar = group * pack + k;
            if (scalar >= scalars) continue;
            for (std::size_t b = 0; b < lane; ++b) {
              m.bytes[element * m.elemsize + static_cast<std::size_t>(k) * lane + b] =
                  byte_of(static_cast<std::size_t>(scalar), static_cast<std::size_t>(position), b);
            }
          }
        }
      }
    }
  }
  return m;
}

/// Over memory that ends with the Mat: what reads behind it is seen by the address sanitizer.
Mat mat_of(const OracleMat& o) {
  const auto memory = std::make_shared<Bytes>(o.bytes);
  const MatShape shape{.dims = o.dims,
                       .w = o.w,
                       .h = o.h,
                       .d = o.d,
                       .c = o.c,
                       .elemsize = o.elemsize,
                       .elempack = o.elempack};
  EXPECT_EQ(Mat(shape).bytes(), o.bytes.size());
  return Mat::wrap(shape, memory->data(), memory);
}

void expect_equal(const Mat& m, const OracleMat& o, const std::string& what) {
  ASSERT_EQ(m.dims, o.dims) << what;
  ASSERT_EQ(m.w, o.w) << what;
  ASSERT_EQ(m.h, o.h) << what;
  ASSERT_EQ(m.d, o.d) << what;
  ASSERT_EQ(m.c, o.c) << what;
  ASSERT_EQ(m.elemsize, o.elemsize) << what;
  ASSERT_EQ(m.elempack, o.elempack) << what;
  // A 1-D Mat that shares memory keeps the bytes that the memory has.
  if (o.dims != 1) {
    ASSERT_EQ(m.cstep, o.cstep) << what;
  }
  const std::size_t count =
      o.dims == 1 ? static_cast<std::size_t>(o.w) * o.elemsize : o.bytes.size();
  ASSERT_EQ(std::memcmp(m.data, o.bytes.data(), count), 0) << what;
}

TEST(ConvertPacking, EqualsNcnnsRules) {
  constexpr int kInner[][3] = {{4, 4, 2}, {5, 3, 3}, {1, 1, 1}, {31, 2, 1}};
  int moved = 0, same = 0;
  for (int dims = 1; dims <= 4; ++dims) {
    for (const auto& inner : kInner) {
      for (const std::size_t lane : {1u, 2u, 3u, 4u, 6u, 8u, 12u}) {
        for (const int scalars : {48, 30, 17, 1}) {
          for (const int from : {1, 2, 3, 4, 8, 16}) {
            const OracleMat source = oracle_mat(dims, inner, scalars, lane, from);
            // What the header says; lanes beyond `scalars` are zero and count as scalars.
            const int all = (scalars + from - 1) / from * from;
            for (const int to : {1, 2, 3, 4, 8, 16}) {
              const std::string what = "dims " + std::to_string(dims) + " lane " +
                                       std::to_string(lane) + " scalars " +
                                       std::to_string(scalars) + " from " + std::to_string(from) +
                                       " to " + std::to_string(to);
              for (const bool padding : {false, true}) {
                const Mat a = mat_of(source);
                Mat b;
                convert_packing(a, b, to, {.padding = padding});
                if (from == to || (all % to != 0 && !padding)) {
                  ASSERT_EQ(b.data, a.data) << what;
                  ASSERT_EQ(b.elempack, from) << what;
                  ++same;
                  continue;
                }
                OracleMat want = oracle_mat(dims, inner, scalars, lane, to);
                // Padded lanes of the source stay scalars: unpacking yields the rounded count.
                const int packs = (all + to - 1) / to;
                if ((dims == 1 ? want.w : dims == 2 ? want.h : want.c) != packs) {
                  OracleMat more = oracle_mat(dims, inner, all, lane, to);
                  std::fill(more.bytes.begin(), more.bytes.end(), 0);
                  for (std::size_t i = 0; i < want.bytes.size(); ++i) more.bytes[i] = want.bytes[i];
                  want = more;
                }
                expect_equal(b, want, what);
                ASSERT_EQ(b.data == a.data, dims == 1 && all % to == 0) << what;
                ++moved;
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GT(moved, 10000);
  EXPECT_GT(same, 5000);
}

TEST(ConvertPacking, OddPacksAndThreads) {
  for (const int pack : {1, 3, 5, 6, 7, 12, 32, 64}) {
    for (const int to : {1, 5, 6, 7, 12, 32, 64}) {
      for (const int threads : {1, 2, 3}) {
        const OracleMat source = oracle_mat(3, {67, 33, 1}, 70, 4, pack);
        const Mat a = mat_of(source);
        Mat b, c;
        convert_packing(a, b, to, {.padding = true, .threads = threads});
        convert_packing(a, c, to, {.padding = true});
        ASSERT_EQ(b.bytes(), c.bytes());
        ASSERT_EQ(std::memcmp(b.data, c.data, b.bytes()), 0) << pack << " " << to;
        const int all = (70 + pack - 1) / pack * pack;
        if ((all + to - 1) / to == (70 + to - 1) / to) {
          expect_equal(b, oracle_mat(3, {67, 33, 1}, 70, 4, to), std::to_string(to));
        }
      }
    }
  }
}

TEST(ConvertPacking, SourceMayBeDestination) {
  for (int dims = 1; dims <= 4; ++dims) {
    Mat a = mat_of(oracle_mat(dims, {5, 3, 2}, 16, 4, 1));
    convert_packing(a, a, 4);
    expect_equal(a, oracle_mat(dims, {5, 3, 2}, 16, 4, 4), "packed");
    convert_packing(a, a, 8);
    expect_equal(a, oracle_mat(dims, {5, 3, 2}, 16, 4, 8), "4 to 8");
    convert_packing(a, a, 1);
    expect_equal(a, oracle_mat(dims, {5, 3, 2}, 16, 4, 1), "unpacked");
    EXPECT_EQ(a.use_count(), 1);
  }
  // Nor does a destination that is another header over the source's memory harm.
  const OracleMat source = oracle_mat(3, {4, 4, 1}, 16, 4, 1);
  Bytes memory = source.bytes;
  const MatShape planar{.dims = 3, .w = 4, .h = 4, .c = 16};
  const MatShape packed{.dims = 3, .w = 4, .h = 4, .c = 4, .elemsize = 16, .elempack = 4};
  const Mat a = Mat::wrap(planar, memory.data());
  Mat b = Mat::wrap(packed, memory.data());
  convert_packing(a, b, 4);
  expect_equal(b, oracle_mat(3, {4, 4, 1}, 16, 4, 4), "over itself");
  EXPECT_EQ(memory, source.bytes);
}

TEST(ConvertPacking, MemoryOfTheDestination) {
  const Mat a = mat_of(oracle_mat(3, {5, 3, 1}, 8, 4, 1));
  Mat b;
  convert_packing(a, b, 4);
  const void* const memory = b.data;
  convert_packing(a, b, 4);
  EXPECT_EQ(b.data, memory);  // the same shape, and nobody else has it
  const Mat other = b;
  convert_packing(a, b, 4);
  EXPECT_NE(b.data, memory);
  Bytes mine(b.bytes());
  Mat outside = Mat::wrap(b, mine.data());
  convert_packing(a, outside, 4);
  EXPECT_EQ(outside.data, mine.data());
  EXPECT_EQ(mine, oracle_mat(3, {5, 3, 1}, 8, 4, 4).bytes);
}

TEST(ConvertPacking, EmptyAndImpossible) {
  Mat filled(3);
  convert_packing(Mat(), filled, 4);
  EXPECT_TRUE(filled.empty());
  EXPECT_EQ(filled.dims, 0);
  convert_packing(Mat(0, 3, 4), filled, 4);
  EXPECT_TRUE(filled.empty());
  EXPECT_EQ(filled.elempack, 1);
  for (const int pack : {-1, 0, 65}) EXPECT_THROW(convert_packing(Mat(8), filled, pack), Error);
  EXPECT_THROW(convert_packing(Mat(8), filled, 4, {.threads = 0}), Error);
}

TEST(ConvertPacking, AnyDistanceOfPlanesAndBatches) {
  // Planes and samples are where the header says, and come out where ncnn's would.
  for (const int from : {1, 2, 4}) {
    for (const int to : {1, 2, 4, 8}) {
      const MatShape shape = MatShape{.dims = 3,
                                      .w = 3,
                                      .h = 5,
                                      .c = 8 / from,
                                      .elemsize = 2u * unsigned(from),
                                      .elempack = from,
                                      .n = 3,
                                      .cstep = 21,
                                      .nstep = 200}
                                 .complete();
      Mat a(shape);
      const auto at = [](const Mat& m, int n, int c, std::size_t i) {
        const std::size_t element =
            m.nstep * std::size_t(n) + m.cstep * std::size_t(c / m.elempack) + i;
        return static_cast<std::uint16_t*>(m.data) + element * std::size_t(m.elempack) +
               std::size_t(c % m.elempack);
      };
      for (int n = 0; n < 3; ++n)
        for (int c = 0; c < 8; ++c)
          for (std::size_t i = 0; i < 15; ++i)
            *at(a, n, c, i) = static_cast<std::uint16_t>(n * 1000 + c * 100 + int(i));
      Mat b;
      convert_packing(a, b, to);
      if (from == to) continue;
      EXPECT_EQ(b.nstep * b.elemsize % 4096, 0u);
      EXPECT_EQ(b.cstep, (15 * b.elemsize + 15) / 16 * 16 / b.elemsize);
      for (int n = 0; n < 3; ++n)
        for (int c = 0; c < 8; ++c)
          for (std::size_t i = 0; i < 15; ++i)
            ASSERT_EQ(*at(b, n, c, i), *at(a, n, c, i)) << from << " " << to;
    }
  }
  // A batch of vectors shares memory where its samples' distance is whole in the new elements.
  const Mat vectors(MatShape{.dims = 1, .w = 48, .n = 2});
  Mat packed;
  convert_packing(vectors, packed, 4);
  EXPECT_EQ(packed.data, vectors.data);
  EXPECT_EQ(packed.nstep * packed.elemsize, vectors.nstep * vectors.elemsize);
  convert_packing(vectors, packed, 3);
  EXPECT_NE(packed.data, vectors.data);
}

}  // namespace

}  // namespace stowage
