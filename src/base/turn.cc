// SPDX-License-Identifier: Apache-2.0
#include "base/turn.h"

#include <sched.h>
#include <sys/resource.h>

namespace stowage {

namespace {

using namespace std::chrono_literals;

// Linux preempts after 3 ms and at the next tick, of which there are 250 or 1000 in a second.
constexpr auto kTurn = 2ms;
// A system call tells of preemptions: a fifth of a microsecond.
constexpr auto kCheck = 200us;
// A CPU that was shared stays so for many turns.
constexpr auto kShared = 100ms;

/// How often the kernel has taken the CPU from the calling thread.
long preemptions() noexcept {
  rusage usage{};
  return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

}  // namespace

int current_cpu() noexcept { return sched_getcpu(); }

void leave_cpu(int cpu) noexcept {
  cpu_set_t all;
  if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof all, &all) != 0) return;
  cpu_set_t others = all;
  CPU_CLR(cpu, &others);
  if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof others, &others) != 0) return;
  sched_setaffinity(0, sizeof all, &all);
}

bool Turn::lasts() noexcept {
  const Clock::time_point now = Clock::now();
  if (now - checked_ >= kCheck) {
    checked_ = now;
    if (const long count = preemptions(); count != preemptions_) {
      preemptions_ = count;
      begin_ = now;
      shared_until_ = now + kShared;
    }
  }
  return now - begin_ < kTurn || now >= shared_until_;
}

void Turn::yield() noexcept {
  sched_yield();
  begin();
  checked_ = begin_;
  const long count = preemptions();  // those who waited got the CPU
  if (count != preemptions_) shared_until_ = begin_ + kShared;
  preemptions_ = count;
}

}  // namespace stowage
