// SPDX-License-Identifier: Apache-2.0
// A fork-join pool over pthreadpool.
#pragma once

#include <cstddef>
#include <type_traits>

struct pthreadpool;

namespace stowage {

/// Throws Error(usage) unless 1 <= threads <= 256.
void expect_threads(int threads);

/// `threads` workers, the caller included. One call of `run` at a time.
class ThreadPool {
 public:
  /// Throws what expect_threads throws, Error(limit) when the threads cannot be started.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const noexcept { return threads_; }

  /// For libraries that can share it; null for one thread.
  pthreadpool* handle() const noexcept { return pool_; }

  /// Calls task(i) for 0 <= i < count, in any order and on any worker; returns when all are done.
  /// `task` must not throw.
  template <class F>
  void run(std::size_t count, F&& task) noexcept {
    using Task = std::remove_reference_t<F>;
    run_raw(
        count, [](void* f, std::size_t i) { (*static_cast<Task*>(f))(i); },
        const_cast<void*>(static_cast<const void*>(&task)));
  }

 private:
  void run_raw(std::size_t count, void (*task)(void*, std::size_t), void* context) noexcept;

  int threads_;
  pthreadpool* pool_;  // null for one thread: the caller runs everything
};

/// CPUs that this process may use (its affinity mask).
int available_cpus() noexcept;

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
