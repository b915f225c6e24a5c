// SPDX-License-Identifier: Apache-2.0
// What this machine does at most: timed, all threads at work.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <vector>

#include "base/caches.h"
#include "base/cpus.h"
#include "base/thread_pool.h"
#include "kernels/peaks.h"
#include "runtime/measure.h"
#include "stowage/machine.h"

namespace stowage {

namespace {

using Clock = std::chrono::steady_clock;

/// Keeps what loops compute from being left out.
std::atomic<float> sink;

/// Seconds of the fastest of some regions in which each thread calls `task(thread)`. Others may be
/// using the machine, and a thread may come late: what either takes away is not what it can do.
template <class F>
double fastest(ThreadPool& pool, const F& task) {
  constexpr int kRegions = 24;
  constexpr double kBudget = 0.1;
  double best = std::numeric_limits<double>::infinity(), spent = 0;
  for (int i = 0; i < kRegions && (i < 4 || spent < kBudget); ++i) {
    const Clock::time_point begin = Clock::now();
    pool.run(static_cast<std::size_t>(pool.threads()), task);
    const double s = std::chrono::duration<double>(Clock::now() - begin).count();
    best = std::min(best, s);
    spent += s;
  }
  return best;
}

double gflops(ThreadPool& pool) {
  constexpr std::int64_t kSteps = 100'000;
  const double s = fastest(pool, [](std::size_t) { sink = multiply_adds(kSteps); });
  return static_cast<double>(multiply_adds_flops() * kSteps) * pool.threads() / s / 1e9;
}

/// Each thread has arrays of its own, `bytes` in all, and goes over them for about a megabyte at
/// least, so that its coming late hardly counts.
double gb_per_s(ThreadPool& pool, std::size_t bytes) {
  const std::size_t floats = bytes / static_cast<std::size_t>(pool.threads()) / sizeof(float);
  const std::size_t part = floats / (3 * kPeakGroup) * kPeakGroup;
  const auto passes = static_cast<int>(1 + (std::size_t{1} << 20) / std::max<std::size_t>(part, 1));
  std::vector<std::vector<float>> own(static_cast<std::size_t>(pool.threads()));
  for (std::vector<float>& floats_of : own) floats_of.assign(3 * part, 1.0f);
  const auto count = static_cast<std::int64_t>(part);
  const double total = 3.0 * sizeof(float) * static_cast<double>(part) * passes * pool.threads();
  const double reading = fastest(pool, [&](std::size_t i) {
    for (int p = 0; p < passes; ++p) sink = read_all(own[i].data(), 3 * count);
  });
  const double both = fastest(pool, [&](std::size_t i) {
    float* const z = own[i].data();
    for (int p = 0; p < passes; ++p) triad(z, z + count, z + 2 * count, count);
  });
  return total / std::min(reading, both) / 1e9;
}

/// What no cache holds, within what a small machine has to give.
double of_memory(ThreadPool& pool) {
  const Caches& caches = host_caches();
  const std::size_t cached =
      static_cast<std::size_t>(caches.l2) * static_cast<std::size_t>(pool.threads()) +
      static_cast<std::size_t>(caches.l3);
  return gb_per_s(
      pool, std::clamp<std::size_t>(2 * cached, std::size_t{64} << 20, std::size_t{512} << 20));
}

}  // namespace

double memory_gb_per_s() {
  ThreadPool pool(1, available_cpus());
  return of_memory(pool);
}

const Peaks::Level& Peaks::level(double bytes) const {
  for (const Level& level : levels) {
    if (bytes <= static_cast<double>(level.bytes)) return level;
  }
  return levels.back();
}

Peaks measure_peaks(int threads) {
  expect_threads(threads);
  ThreadPool pool(threads, available_cpus());
  const auto of = static_cast<std::size_t>(pool.threads());
  const Caches& caches = host_caches();
  const auto l2 = static_cast<std::size_t>(caches.l2) * of;
  const auto l3 = static_cast<std::size_t>(caches.l3);
  // Half of a cache, for others use it, too; of the L3 what hardly fits into an L2, but no more: a
  // large one serves other virtual machines, and how much of it is this one's nobody says.
  Peaks peaks;
  peaks.threads = threads;
  peaks.gflops = gflops(pool);
  peaks.levels = {{"L2", l2, gb_per_s(pool, l2 / 2)},
                  {"L3", l3, gb_per_s(pool, std::clamp(l3 / 2, 2 * l2, 8 * l2))},
                  {"memory", std::numeric_limits<std::size_t>::max(), of_memory(pool)}};
  // What comes from afar so fast comes at least as fast from nearby. Others may have had the
  // machine while a nearer level was measured.
  for (std::size_t i = peaks.levels.size() - 1; i > 0; --i) {
    double& nearer = peaks.levels[i - 1].gb_per_s;
    nearer = std::max(nearer, peaks.levels[i].gb_per_s);
  }
  return peaks;
}

}  // namespace stowage
