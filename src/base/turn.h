// SPDX-License-Identifier: Apache-2.0
// A thread on a CPU that other programs want, too.
#pragma once

#include <chrono>

namespace stowage {

/// The CPU on which the calling thread runs; -1 where the system doesn't say.
int current_cpu() noexcept;

/// Moves the calling thread off `cpu` to any other that its affinity mask allows. The mask is the
/// same afterwards. Does nothing where there is no other.
void leave_cpu(int cpu) noexcept;

/// The time that a thread has on its CPU until another program takes it.
///
/// The kernel preempts a thread at a tick of its clock, which is in the middle of a task, and
/// whoever waits for that task waits as long as the other program runs: on Linux some milliseconds.
/// Therefore a thread that sees that it is preempted gives its CPU away by itself, between tasks
/// and before the kernel would. On a CPU that nobody else wants, turns have no end.
class Turn {
 public:
  /// Whether another task may begin in this turn. To be called between tasks.
  bool lasts() noexcept;

  /// Lets the others have the CPU, and begins the next turn.
  void yield() noexcept;

  /// The thread slept: a new turn begins.
  void begin() noexcept { begin_ = Clock::now(); }

 private:
  using Clock = std::chrono::steady_clock;

  Clock::time_point begin_{}, checked_{}, shared_until_{};
  long preemptions_ = 0;  // as of checked_
};

}  // namespace stowage
