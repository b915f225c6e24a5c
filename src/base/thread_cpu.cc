// SPDX-License-Identifier: Apache-2.0
#include "base/thread_cpu.h"

#include <pthread.h>
#include <unistd.h>

namespace stowage {

int current_cpu() noexcept { return sched_getcpu(); }

namespace {

/// To one of `mask` but `cpu`, and then `mask` is allowed again.
void move_off(int cpu, const cpu_set_t& mask) noexcept {
  cpu_set_t others = mask;
  CPU_CLR(cpu, &others);
  if (CPU_COUNT(&others) > 0) sched_setaffinity(0, sizeof others, &others);
  sched_setaffinity(0, sizeof mask, &mask);
}

bool is_cpu(int cpu) { return cpu >= 0 && cpu < CPU_SETSIZE; }

}  // namespace

void leave_cpu(int cpu) noexcept {
  cpu_set_t all;
  if (is_cpu(cpu) && sched_getaffinity(0, sizeof all, &all) == 0) move_off(cpu, all);
}

void ThreadCpu::begin() noexcept {
  if (pthread_getcpuclockid(pthread_self(), &clock_) == 0) thread_.store(gettid());
}

std::chrono::nanoseconds ThreadCpu::time() const noexcept {
  timespec t;
  if (thread_.load() == 0 || clock_gettime(clock_, &t) != 0) return std::chrono::nanoseconds(-1);
  return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

void ThreadCpu::move_to(int cpu) noexcept {
  const int thread = thread_.load();
  cpu_set_t one;
  if (thread == 0 || !is_cpu(cpu) || moved_.load() ||
      sched_getaffinity(thread, sizeof mask_, &mask_) != 0 || !CPU_ISSET(cpu, &mask_)) {
    return;
  }
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  moved_.store(true);  // the thread may run at once
  if (sched_setaffinity(thread, sizeof one, &one) != 0) moved_.store(false);
}

void ThreadCpu::move_back() noexcept {
  if (!moved_.load()) return;
  move_off(current_cpu(), mask_);
  moved_.store(false);
}

}  // namespace stowage
