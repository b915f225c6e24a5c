// SPDX-License-Identifier: Apache-2.0
// Rows of every length up to a few vectors against sums and extremes in double precision.
#include "kernels/rows/rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/test_util.h"

namespace stowage {
namespace {

using op_test::for_each_target;

constexpr std::int64_t kLongest = 150;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Between -3 and 3, in no order, the largest and the least at another place for each length.
std::vector<float> values(std::int64_t n) {
  std::vector<float> x;
  for (std::int64_t i = 0; i < n; ++i)
    x.push_back(static_cast<float>((i * 37 + n * 11) % 101) * 0.06f - 3);
  return x;
}

double joined(Reduction kind, double acc, double v) {
  switch (kind) {
    case Reduction::sum:
      return acc + v;
    case Reduction::sum_square:
      return acc + v * v;
    case Reduction::sum_abs:
      return acc + std::fabs(v);
    case Reduction::max:
      return std::max(acc, v);
    case Reduction::min:
      return std::min(acc, v);
  }
  return acc;
}

TEST(Rows, ReductionsOfEveryLength) {
  for_each_target([] {
    for (const Reduction kind : {Reduction::sum, Reduction::sum_square, Reduction::sum_abs,
                                 Reduction::max, Reduction::min}) {
      for (std::int64_t n = 0; n <= kLongest; ++n) {
        const std::vector<float> x = values(n);
        double expected = 0.25;
        for (const float v : x) expected = joined(kind, expected, v);
        EXPECT_NEAR(reduce_row(kind, x.data(), n, 0.25f), expected, 1e-4)
            << static_cast<int>(kind) << " of " << n;
      }
    }
  });
}

TEST(Rows, ExtremesKeepNanAndInfinity) {
  for_each_target([] {
    for (std::int64_t n = 1; n <= 70; ++n) {
      for (std::int64_t at = 0; at < n; ++at) {
        std::vector<float> x = values(n);
        x[static_cast<std::size_t>(at)] = kNan;
        EXPECT_TRUE(std::isnan(reduce_row(Reduction::max, x.data(), n, -kInfinity))) << n << at;
        EXPECT_TRUE(std::isnan(reduce_row(Reduction::min, x.data(), n, kInfinity))) << n << at;
        x[static_cast<std::size_t>(at)] = kInfinity;
        EXPECT_EQ(reduce_row(Reduction::max, x.data(), n, -kInfinity), kInfinity) << n << at;
      }
    }
    EXPECT_TRUE(std::isnan(reduce_row(Reduction::max, values(40).data(), 40, kNan)));
  });
}

TEST(Rows, DeviationsOfEveryLength) {
  for_each_target([] {
    for (std::int64_t n = 0; n <= kLongest; ++n) {
      const std::vector<float> x = values(n);
      double expected = 2;
      for (const float v : x) expected += (v - 0.5) * (v - 0.5);
      EXPECT_NEAR(deviation_row(x.data(), n, 0.5f, 2), expected, 1e-3) << n;
    }
  });
}

TEST(Rows, SoftmaxOfEveryLengthInPlaceToo) {
  for_each_target([] {
    for (std::int64_t n = 1; n <= kLongest; ++n) {
      const std::vector<float> x = values(n);
      double sum = 0;
      for (const float v : x) sum += std::exp(double{v});
      for (const bool log : {false, true}) {
        std::vector<float> y(x.size() + 1, 7.0f), same = x;
        softmax_rows(x.data(), y.data(), 1, n, log);
        softmax_rows(same.data(), same.data(), 1, n, log);
        EXPECT_EQ(y.back(), 7.0f) << n;
        for (std::size_t i = 0; i < x.size(); ++i) {
          const double expected = log ? x[i] - std::log(sum) : std::exp(double{x[i]}) / sum;
          EXPECT_NEAR(y[i], expected, 1e-5) << i << " of " << n;
          EXPECT_EQ(same[i], y[i]) << i << " of " << n;
        }
      }
    }
  });
}

/// Rows side by side are what each is by itself, and a NaN or an infinity stays in its row.
TEST(Rows, SoftmaxOfSeveralRows) {
  for_each_target([] {
    for (const std::int64_t n : {1, 3, 4, 15, 16, 17, 21, 31, 32, 33, 70}) {
      for (std::int64_t rows = 1; rows <= 9; ++rows) {
        for (const bool log : {false, true}) {
          std::vector<float> x = values(n * rows);
          if (rows > 2) x[static_cast<std::size_t>(n * 2 - 1)] = NAN;
          if (rows > 4) x[static_cast<std::size_t>(n * 3)] = -INFINITY;
          std::vector<float> y(x.size() + 1, 7.0f), one(static_cast<std::size_t>(n));
          softmax_rows(x.data(), y.data(), rows, n, log);
          EXPECT_EQ(y.back(), 7.0f);
          for (std::int64_t r = 0; r < rows; ++r) {
            softmax_rows(x.data() + r * n, one.data(), 1, n, log);
            for (std::int64_t i = 0; i < n; ++i) {
              const float got = y[static_cast<std::size_t>(r * n + i)];
              const float want = one[static_cast<std::size_t>(i)];
              EXPECT_EQ(std::isnan(got), std::isnan(want)) << r << ", " << i << " of " << n;
              if (!std::isnan(want)) {
                EXPECT_EQ(got, want) << r << ", " << i << " of " << n;
              }
              EXPECT_EQ(std::isnan(got), (rows > 2 && r == 1) || (rows > 4 && r == 3 && n == 1));
            }
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace stowage
