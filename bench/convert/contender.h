// SPDX-License-Identifier: Apache-2.0
// What a contender gets and what it gives: one file for each of them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "stowage/layout.h"

namespace stowage::bench {

struct Case {
  std::string_view name, from, to;
  Shape shape;
  DType src = DType::f32, dst = DType::f32;
  double goal = 0;  ///< fraction of memcpy, one thread; 0 = none stated

  Mapping source() const { return {Layout::parse(from), shape, dtype_bytes(src)}; }

  Mapping destination() const { return {Layout::parse(to), shape, dtype_bytes(dst)}; }

  /// Read and written, tails included.
  std::size_t bytes() const;
};

/// Named sets: "goals", "channels", "sizes", "ranks", "packings", "ends".
std::vector<Case> cases(std::string_view set);

using Move = std::function<void(const void* src, void* dst)>;

/// A move for the case, or an empty one where the contender has none. All share one pool: idle
/// threads of another would spin on the cores that are being measured. oneDNN brings its own.
Move make_memcpy(const Case& c, ThreadPool& pool);
Move make_stowage(const Case& c, ThreadPool& pool);
Move make_hptt(const Case& c, ThreadPool& pool);
Move make_onednn(const Case& c, ThreadPool& pool);
Move make_xnnpack(const Case& c, ThreadPool& pool);
Move make_eigen(const Case& c, ThreadPool& pool);
Move make_openblas(const Case& c, ThreadPool& pool);
Move make_naive(const Case& c, ThreadPool& pool);

/// The same of those that may bypass the caches with what is not read soon; empty where they
/// would not.
Move make_stowage_later(const Case& c, ThreadPool& pool);
Move make_hptt_later(const Case& c, ThreadPool& pool);

/// Bounds, which move as many lines and compute nothing: in order, and as a transposition meets
/// them.
Move make_bare_copy(const Case& c, ThreadPool& pool);
Move make_bare_walk(const Case& c, ThreadPool& pool);

}  // namespace stowage::bench
