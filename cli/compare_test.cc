// SPDX-License-Identifier: Apache-2.0
// Similarity and signal-to-noise ratio of arrays whose numbers are known.
#include "cli/compare.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cli/io/npy.h"

namespace stowage::cli {
namespace {

Tensor vector_of(const std::vector<float>& values) {
  const std::int64_t extents[] = {static_cast<std::int64_t>(values.size())};
  Tensor tensor(DType::f32, Shape::unnamed(extents));
  std::copy(values.begin(), values.end(), tensor.as<float>().begin());
  return tensor;
}

TEST(Closeness, OfKnownArrays) {
  const float inf = INFINITY;

  const struct {
    std::vector<float> a, b;
    double similarity, sqnr_db;
  } cases[] = {
      {{}, {}, 1, INFINITY},
      {{0, 0}, {0, 0}, 1, INFINITY},
      {{0, 0}, {0, 1}, 0, 0},
      {{1, 0}, {0, 0}, 0, -INFINITY},
      {{3, 4}, {3, 4}, 1, INFINITY},
      {{2, 0}, {1, 0}, 1, 0},  // a factor is not seen, but its noise is
      {{-1, 0}, {1, 0}, -1, 10 * std::log10(0.25)},
      {{1, 1}, {1, 0}, std::sqrt(0.5), 0},
      {{3e38f, 3e38f}, {3e38f, 3e38f}, 1, INFINITY},
      {{inf, NAN, 2}, {inf, NAN, 2}, 1, INFINITY},
      {{1.1f, 0}, {1, 0}, 1, 20},
  };

  for (const auto& c : cases) {
    const Closeness close = closeness(vector_of(c.a), vector_of(c.b));
    EXPECT_NEAR(close.similarity, c.similarity, 1e-12);
    if (std::isinf(c.sqnr_db)) {
      EXPECT_EQ(close.sqnr_db, c.sqnr_db);
    } else {
      EXPECT_NEAR(close.sqnr_db, c.sqnr_db, 1e-5);
    }
  }
  for (const auto& [a, b] : {std::pair{inf, -inf}, std::pair{NAN, 1.0f}, std::pair{1.0f, inf}}) {
    EXPECT_TRUE(std::isnan(closeness(vector_of({a, 1}), vector_of({b, 1})).similarity));
  }
}

TEST(Compare, SimilarityIsForFloatingPoint) {
  const Tensor a = vector_of({1, 1}), b = vector_of({1, 0.9f}), nan = vector_of({1, NAN});
  EXPECT_EQ(dissimilarity(a, b, 0.99), "");
  EXPECT_NE(dissimilarity(a, b, 0.999), "");
  EXPECT_NE(dissimilarity(a, nan, 0.1), "");
  EXPECT_EQ(dissimilarity(nan, nan, 0.1), "");
  EXPECT_NE(dissimilarity(a, vector_of({1}), 0.1), "");
  // Integers are equal or they are not.
  Tensor i(DType::i32, a.shape()), k(DType::i32, a.shape());
  i.as<std::int32_t>()[0] = k.as<std::int32_t>()[0] = 1;
  i.as<std::int32_t>()[1] = 1000000;
  k.as<std::int32_t>()[1] = 1000001;
  EXPECT_EQ(dissimilarity(i, i, 1), "");
  EXPECT_NE(dissimilarity(i, k, 0.1), "");
  EXPECT_NE(dissimilarity(a, i, 0.1), "");
}

}  // namespace
}  // namespace stowage::cli
