// SPDX-License-Identifier: Apache-2.0
// Threads for calls that are told a number of them.
#pragma once

#include <memory>

#include "base/thread_pool.h"

namespace stowage {

/// The pool of the calling thread with so many threads, which it keeps until it is asked for
/// another number; null for one. Throws what ThreadPool throws.
inline ThreadPool* pool_of(int threads) {
  expect_threads(threads);
  if (threads == 1) return nullptr;
  thread_local std::unique_ptr<ThreadPool> pool;
  thread_local int asked = 0;
  if (pool == nullptr || asked != threads) {
    pool.reset();
    pool = std::make_unique<ThreadPool>(threads);
    asked = threads;
  }
  return pool.get();
}

}  // namespace stowage
