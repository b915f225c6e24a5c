// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "stowage/error.h"
#include "stowage/machine.h"

namespace stowage {
namespace {

TEST(Peaks, EverySpeedIsANumberAndEverythingFitsSomewhere) {
  for (const int threads : {1, 2}) {
    const Peaks peaks = measure_peaks(threads);
    EXPECT_EQ(peaks.threads, threads);
    EXPECT_TRUE(std::isfinite(peaks.gflops) && peaks.gflops > 0) << peaks.gflops;
    ASSERT_EQ(peaks.levels.size(), 3u);
    for (const Peaks::Level& level : peaks.levels) {
      EXPECT_TRUE(std::isfinite(level.gb_per_s) && level.gb_per_s > 0) << level.name;
    }
    EXPECT_GE(peaks.levels[0].gb_per_s, peaks.levels[1].gb_per_s);
    EXPECT_GE(peaks.levels[1].gb_per_s, peaks.levels[2].gb_per_s);
    EXPECT_EQ(peaks.level(0).name, "L2");
    EXPECT_EQ(peaks.level(static_cast<double>(peaks.levels[0].bytes)).name, "L2");
    EXPECT_EQ(peaks.level(static_cast<double>(peaks.levels[0].bytes) + 1).name, "L3");
    EXPECT_EQ(peaks.level(std::numeric_limits<double>::infinity()).name, "memory");
  }
}

TEST(Peaks, RefusesWhatIsNoNumberOfThreads) {
  for (const int threads : {0, -1, 257}) {
    try {
      measure_peaks(threads);
      ADD_FAILURE() << threads;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::usage);
    }
  }
}

}  // namespace
}  // namespace stowage
