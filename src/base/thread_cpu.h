// SPDX-License-Identifier: Apache-2.0
// On which CPU a thread runs, where other programs want it, too.
#pragma once

#include <sched.h>
#include <time.h>

#include <atomic>
#include <chrono>

namespace stowage {

/// The CPU on which the calling thread runs; -1 where the system doesn't say.
int current_cpu() noexcept;

/// Moves the calling thread off `cpu` to any other that its affinity mask allows. The mask is the
/// same afterwards. Does nothing where there is no other.
void leave_cpu(int cpu) noexcept;

/// A thread that others wait for.
///
/// The kernel preempts a thread in the middle of a task, and whoever waits for that task waits as
/// long as the other program runs: on Linux some milliseconds. Who waits has a CPU to give, and
/// takes the thread there.
class ThreadCpu {
 public:
  /// To be called by the thread itself, before anything else.
  void begin() noexcept;
  /// For how long the thread has run; that of a thread that waits for a CPU stands still. Negative
  /// before begin, and where the system doesn't say.
  std::chrono::nanoseconds time() const noexcept;
  /// Moves the thread to `cpu`, where it stays; for the CPU to be free, the caller is to sleep
  /// then. Does nothing where the thread's affinity mask has no such CPU.
  void move_to(int cpu) noexcept;
  /// To be called by the thread itself: undoes move_to. The thread leaves that CPU and has its own
  /// affinity mask again.
  void move_back() noexcept;

 private:
  std::atomic<int> thread_{0};  // as the system counts them; 0 before begin
  std::atomic<bool> moved_{false};
  clockid_t clock_{};
  cpu_set_t mask_{};  // the thread's own
};

}  // namespace stowage
