// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "base/float_mode.h"
#include "stowage/error.h"

namespace stowage {
namespace {

TEST(ThreadPool, EveryTaskOnce) {
  for (int threads : {1, 2, 3, 7}) {
    ThreadPool pool(threads);
    for (std::size_t count : {0, 1, 2, 3, 5, 8, 64, 1001}) {
      for (int round = 0; round < 50; ++round) {
        // Without atomics: two threads on one task would be a race.
        std::vector<int> calls(count, 0);
        parallel(&pool, count, [&](std::size_t i) { ++calls[i]; });
        ASSERT_EQ(calls, std::vector<int>(count, 1)) << threads << " threads, round " << round;
      }
    }
  }
}

TEST(ThreadPool, WhatARegionWroteTheNextOneReads) {
  ThreadPool pool(3);
  std::vector<int> from(97, 0), to(97, 0);
  for (int round = 1; round <= 20'000; ++round) {
    pool.run(97, [&](std::size_t i) { to[i] = from[(i + 31) % 97] + 1; });
    from.swap(to);
    ASSERT_EQ(from, std::vector<int>(97, round));
  }
}

TEST(ThreadPool, RegionsAfterPausesOfAllLengths) {
  // Around the time at which threads stop spinning and fall asleep.
  ThreadPool pool(4);
  for (int us = 0; us < 200; ++us) {
    std::this_thread::sleep_for(std::chrono::microseconds(us));
    std::atomic<int> calls{0};
    pool.run(16, [&](std::size_t) { ++calls; });
    ASSERT_EQ(calls, 16);
  }
}

TEST(ThreadPool, TheCallerWaitsForLongTasks) {
  ThreadPool pool(2);
  std::atomic<int> done{0};
  // Both begin, so that each has one; the second is long.
  pool.run(2, [&](std::size_t i) {
    if (i == 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ++done;
  });
  EXPECT_EQ(done, 2);
}

TEST(ThreadPool, ThreadsBesideTheCallerWork) {
  ThreadPool pool(3);
  // Each task waits until all three are under way, which takes three threads.
  std::mutex mutex;
  std::condition_variable changed;
  int inside = 0;
  std::set<std::thread::id> threads;
  pool.run(3, [&](std::size_t) {
    std::unique_lock lock(mutex);
    threads.insert(std::this_thread::get_id());
    ++inside;
    changed.notify_all();
    changed.wait(lock, [&] { return inside == 3; });
  });
  EXPECT_EQ(threads.size(), 3u);
}

// Where helpers are preempted they leave a region between its tasks, and come back to it.
TEST(ThreadPool, EveryTaskOnceOnCpusThatOthersKeepBusy) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> others;
  for (unsigned i = 0; i < std::thread::hardware_concurrency(); ++i) {
    others.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) {
      }
    });
  }
  {
    ThreadPool pool(3);
    for (int round = 0; round < 10; ++round) {
      std::vector<int> calls(400, 0);
      pool.run(calls.size(), [&](std::size_t i) {
        ++calls[i];
        const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(100);
        while (std::chrono::steady_clock::now() < end) {
        }
      });
      ASSERT_EQ(calls, std::vector<int>(400, 1)) << "round " << round;
    }
  }
  stop = true;
  for (std::thread& t : others) t.join();
}

TEST(ThreadPool, NoMoreThreadsThanCpus) {
  EXPECT_EQ(ThreadPool(8, 3).threads(), 3);
  EXPECT_EQ(ThreadPool(2, 8).threads(), 2);
  EXPECT_EQ(ThreadPool(5, 0).threads(), 1);
  ThreadPool one(5, 1);
  const std::thread::id caller = std::this_thread::get_id();
  one.run(100, [&](std::size_t) { EXPECT_EQ(std::this_thread::get_id(), caller); });
}

TEST(ThreadPool, NumbersOfThreadsThatAreRefused) {
  for (int threads : {-3, 0, 257, 1'000'000}) {
    EXPECT_THROW(ThreadPool(threads, 2), Error) << threads;
  }
}

TEST(ThreadPool, ManyPoolsAtOnce) {
  std::vector<std::thread> users;
  std::atomic<int> calls{0};
  for (int u = 0; u < 4; ++u) {
    users.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        ThreadPool pool(3);
        for (int r = 0; r < 20; ++r) pool.run(5, [&](std::size_t) { ++calls; });
      }
    });
  }
  for (std::thread& u : users) u.join();
  EXPECT_EQ(calls, 4 * 20 * 20 * 5);
}

TEST(ThreadPool, TasksRunInTheFloatModeOfTheCaller) {
  ThreadPool pool(3);
  for (bool flush : {true, false, true}) {
    const auto guard = flush ? std::make_unique<FlushDenormals>() : nullptr;
    // Enough tasks, long enough, that every thread takes some.
    std::vector<float> out(300);
    volatile float small = 1e-38f;
    const std::uint64_t mode = float_mode();
    std::atomic<int> others{0};
    pool.run(out.size(), [&](std::size_t i) {
      out[i] = small * 0.5f;
      others += ((float_mode() ^ mode) & ~std::uint64_t{0x3f}) != 0;  // but for sticky flags
      std::this_thread::sleep_for(std::chrono::microseconds(10));
    });
    EXPECT_EQ(others, 0);
    for (float y : out) ASSERT_EQ(std::bit_cast<std::uint32_t>(y) == 0, flush);
  }
}

TEST(FloatMode, FlushesAndIsRestored) {
  const auto flushes = [] {
    volatile float small = 1e-38f, denormal = std::bit_cast<float>(1u);
    const float result = small * 0.5f, operand = denormal * 1e30f;
    return std::pair(std::bit_cast<std::uint32_t>(result) == 0,
                     std::bit_cast<std::uint32_t>(operand) == 0);
  };
  const std::uint64_t before = float_mode();
  EXPECT_EQ(flushes(), std::pair(false, false));
  set_float_mode(before);  // without the flags of those operations
  {
    const FlushDenormals flush;
    EXPECT_EQ(flushes(), std::pair(true, true));
  }
  EXPECT_EQ(float_mode(), before);
}

}  // namespace
}  // namespace stowage
