// SPDX-License-Identifier: Apache-2.0
// A fork-join pool for short parallel regions on cores that may be shared.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <type_traits>

namespace stowage {

/// Throws Error(usage) unless 1 <= threads <= 256.
void expect_threads(int threads);

/// Threads that share the tasks of a parallel region, the caller included. One region at a time.
///
/// A region never waits for a thread that has not begun on it: where a core is taken by another
/// program, the caller does the work itself, and where that happens within a task the caller sleeps
/// and takes the thread to its own core (base/thread_cpu.h). Threads without work spin for some 50
/// microseconds, in which the next region of a model usually begins, and sleep after that. Tasks
/// run in the caller's floating-point mode (base/float_mode.h) on every thread.
class ThreadPool {
 public:
  /// As many of `threads` as there are `cpus` for. Throws what expect_threads throws, Error(limit)
  /// when the system refuses them.
  explicit ThreadPool(int threads, int cpus = std::numeric_limits<int>::max());
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Those that work, the caller included.
  int threads() const noexcept { return threads_; }

  /// Calls task(i) for 0 <= i < count, in any order and on any thread; returns when all are done.
  /// Each thread begins with a share of neighbouring tasks, the same in every region of one count,
  /// so that it finds in its caches what it wrote; then it takes from the ends of others' shares.
  /// `task` must not throw.
  template <class F>
  void run(std::size_t count, F&& task) noexcept {
    using Task = std::remove_reference_t<F>;
    run_raw(
        count, [](void* f, std::size_t i) { (*static_cast<Task*>(f))(i); },
        const_cast<void*>(static_cast<const void*>(&task)));
  }

 private:
  class Team;

  void run_raw(std::size_t count, void (*task)(void*, std::size_t), void* context) noexcept;

  int threads_;
  std::unique_ptr<Team> team_;  // null for one thread: the caller runs everything
};

/// A pool of one thread runs everything on the caller; so does a null pool.
template <class F>
void parallel(ThreadPool* pool, std::size_t count, F&& task) noexcept {
  if (pool == nullptr || pool->threads() == 1 || count <= 1) {
    for (std::size_t i = 0; i < count; ++i) task(i);
  } else {
    pool->run(count, task);
  }
}

}  // namespace stowage
