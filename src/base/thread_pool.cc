// SPDX-License-Identifier: Apache-2.0
#include "base/thread_pool.h"

#include <pthreadpool.h>
#include <sched.h>

#include "base/text.h"

namespace stowage {

void expect_threads(int threads) {
  if (threads < 1 || threads > 256) {
    fail(ErrorCode::usage, "the number of threads must be 1 to 256, not ", threads);
  }
}

ThreadPool::ThreadPool(int threads) : threads_(threads), pool_(nullptr) {
  expect_threads(threads);
  if (threads == 1) return;
  pool_ = pthreadpool_create(static_cast<std::size_t>(threads));
  if (pool_ == nullptr) fail(ErrorCode::limit, "cannot start ", threads, " threads");
}

ThreadPool::~ThreadPool() {
  if (pool_ != nullptr) pthreadpool_destroy(pool_);
}

void ThreadPool::run_raw(std::size_t count, void (*task)(void*, std::size_t),
                         void* context) noexcept {
  pthreadpool_parallelize_1d(pool_, task, context, count, 0);
}

int available_cpus() noexcept {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  const int n = CPU_COUNT(&set);
  return n < 1 ? 1 : n;
}

}  // namespace stowage
