// SPDX-License-Identifier: Apache-2.0
#include "base/thread_cpu.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace stowage {
namespace {

TEST(ThreadCpu, LeavesACpuAndKeepsTheMask) {
  std::thread([] {
    cpu_set_t before, after;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    for (int cpu : {current_cpu(), -1, 4096, 1 << 30}) leave_cpu(cpu);
    ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
  }).join();
}

TEST(ThreadCpu, StaysWhereThereIsNoOtherCpu) {
  std::thread([] {
    const int cpu = current_cpu();
    ASSERT_GE(cpu, 0);
    cpu_set_t one, after;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    leave_cpu(cpu);
    EXPECT_EQ(current_cpu(), cpu);
    ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&one, &after));
  }).join();
}

/// A thread that computes until it is stopped.
class Busy {
 public:
  Busy()
      : thread_([this] {
          cpu.begin();
          started_.store(true);
          while (!stopped_.load()) {
            if (go_back.exchange(false)) {
              cpu.move_back();
              is_back.store(true);
            }
            on.store(current_cpu());
          }
        }) {
    while (!started_.load()) std::this_thread::yield();
  }

  ~Busy() {
    stopped_.store(true);
    thread_.join();
  }

  cpu_set_t mask() {
    cpu_set_t mask;
    EXPECT_EQ(pthread_getaffinity_np(thread_.native_handle(), sizeof mask, &mask), 0);
    return mask;
  }

  ThreadCpu cpu;
  std::atomic<int> on{-1};
  std::atomic<bool> go_back{false}, is_back{false};

 private:
  std::atomic<bool> started_{false}, stopped_{false};
  std::thread thread_;
};

TEST(ThreadCpu, MovesAThreadToEachCpuOfItsMaskAndBack) {
  Busy thread;
  const cpu_set_t before = thread.mask();
  for (int cpu = 0; cpu < 8; ++cpu) {
    if (!CPU_ISSET(cpu, &before)) continue;
    thread.cpu.move_to(cpu);
    cpu_set_t mask = thread.mask();
    EXPECT_EQ(CPU_COUNT(&mask), 1);
    while (thread.on.load() != cpu) std::this_thread::yield();
    thread.is_back.store(false);
    thread.go_back.store(true);
    while (!thread.is_back.load()) std::this_thread::yield();
    mask = thread.mask();
    EXPECT_TRUE(CPU_EQUAL(&mask, &before));
  }
}

TEST(ThreadCpu, GoesNowhereOutsideOfItsMask) {
  Busy thread;
  const cpu_set_t before = thread.mask();
  int other = 0;
  while (CPU_ISSET(other, &before)) ++other;
  for (const int cpu : {other, -1, 1 << 30}) thread.cpu.move_to(cpu);
  const cpu_set_t after = thread.mask();
  EXPECT_TRUE(CPU_EQUAL(&after, &before));
}

TEST(ThreadCpu, TimeStandsStillForAThreadThatSleeps) {
  using namespace std::chrono_literals;
  EXPECT_LT(ThreadCpu().time(), 0ns);
  Busy busy;
  const auto begin = busy.cpu.time();
  EXPECT_GE(begin, 0ns);
  while (busy.cpu.time() == begin) std::this_thread::yield();
  ThreadCpu cpu;
  std::atomic<bool> asleep{false}, stop{false};
  std::thread sleeper([&] {
    cpu.begin();
    asleep.store(true);
    stop.wait(false);
  });
  while (!asleep.load()) std::this_thread::yield();
  auto last = cpu.time();
  // It falls asleep sooner or later.
  for (int still = 0; still < 100;) {
    const auto now = cpu.time();
    still = now == last ? still + 1 : 0;
    last = now;
  }
  stop.store(true);
  stop.notify_one();
  sleeper.join();
}

}  // namespace
}  // namespace stowage
