// SPDX-License-Identifier: Apache-2.0
// Permutations of axes as loops over tiles, whose order, whose size and whether they bypass the
// caches are found by trying them on the case: the method of P. Springer, T. Su, P. Bientinesi,
// "HPTT: A High-Performance Tensor Transposition C++ Library" (ARRAY 2017).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>

#include "base/bytes.h"
#include "bench/convert/permutation.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace stowage::bench {

constexpr std::int64_t kLargestBlock = 128;

#if defined(__x86_64__)
__attribute__((target("avx2"))) inline void stream_rows(const char* src, std::int64_t is, char* dst,
                                                        std::int64_t os, std::int64_t rows,
                                                        std::int64_t bytes) {
  for (std::int64_t j = 0; j < rows; ++j) {
    for (std::int64_t i = 0; i < bytes; i += 32) {
      _mm256_stream_si256(reinterpret_cast<__m256i*>(dst + j * os + i),
                          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + j * is + i)));
    }
  }
}

inline bool has_avx2() { return __builtin_cpu_supports("avx2") != 0; }
#else
inline void stream_rows(const char*, std::int64_t, char*, std::int64_t, std::int64_t,
                        std::int64_t) {}

inline bool has_avx2() { return false; }
#endif

/// Buffers on which ways to do a case are tried.
class Trial {
 public:
  Trial(std::int64_t in, std::int64_t out) : src_(make(in)), dst_(make(out)) {}

  /// Of a call: the best of three batches of some 2 ms, for stores that bypass the caches are fast
  /// until memory has to take them. The first call alone where it takes three times `best`.
  template <class F>
  double seconds(double best, F&& move) {
    const double first = batch(1, move);
    if (first > 3 * best) return first;
    const int calls = static_cast<int>(std::clamp(2e-3 / first, 1.0, 1000.0));
    double least = 1e30;
    for (int i = 0; i < 3; ++i) least = std::min(least, batch(calls, move));
    return least;
  }

 private:
  template <class F>
  double batch(int calls, F&& move) {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    for (int i = 0; i < calls; ++i) move(src_.get(), dst_.get());
    return std::chrono::duration<double>(Clock::now() - begin).count() / calls;
  }

  static std::unique_ptr<void, Free> make(std::int64_t bytes) {
    void* const p = allocate(static_cast<std::size_t>(bytes) + 64);
    for (std::int64_t i = 0; i < bytes; ++i) {
      static_cast<unsigned char*>(p)[i] = static_cast<unsigned char>(i * 2654435761 >> 13);
    }
    return std::unique_ptr<void, Free>(p);
  }

  std::unique_ptr<void, Free> src_, dst_;
};

/// A way to walk: loops from the outermost, of which those of the axes that adjoin in the
/// destination and in the source go by the macro-tile.
struct Walk {
  std::vector<std::size_t> order;
  std::int64_t n = 0, m = 0;  ///< macro-tile along the destination's and the source's inner axis
  bool stream = false;
};

/// What a search may find: `non_temporal` is nothing where plain stores are faster.
enum class Stores { plain, any, non_temporal };

/// `Tile::run(src, is, dst, os, n, m)` moves n x m elements, is and os between the rows of either
/// side, whose elements adjoin; `Tile::side<T>()` is how many it moves at once either way.
template <class T, class Tile>
class Permutation {
 public:
  Permutation(std::vector<Axis> axes, ThreadPool& pool, Stores stores)
      : axes_(std::move(axes)), pool_(&pool), may_stream_(stores != Stores::plain && has_avx2()) {
    to_ = axes_.size() - 1;
    while (axes_[from_].is != 1) ++from_;
    walk_.order.resize(axes_.size());
    walk_.n = walk_.m = std::max<std::int64_t>(32, Tile::template side<T>());
    std::iota(walk_.order.begin(), walk_.order.end(), std::size_t{0});
    if (from_ == to_) walk_.n = axes_.size() == 1 ? 4096 : axes_[to_].n;
    search();
  }

  void run(const void* src, void* dst) const { run(walk_, src, dst); }

  bool streams() const { return walk_.stream; }

 private:
  void run(const Walk& w, const void* src, void* dst) const {
    const std::size_t k = w.order[0];
    const std::int64_t step = step_of(w, k), count = (axes_[k].n + step - 1) / step;
    const std::int64_t threads = pool_->threads();
    const std::int64_t parts = threads == 1 ? 1 : std::min(count, 4 * threads);
    parallel(pool_, static_cast<std::size_t>(parts), [&](std::size_t part) {
      const auto p = static_cast<std::int64_t>(part);
      loop(w, 0, count * p / parts * step, std::min(axes_[k].n, count * (p + 1) / parts * step),
           static_cast<const T*>(src), static_cast<T*>(dst), 1, 1);
#if defined(__x86_64__)
      if (w.stream) _mm_sfence();
#endif
    });
  }

  std::int64_t step_of(const Walk& w, std::size_t k) const {
    return k == to_ ? w.n : k == from_ ? w.m : 1;
  }

  void loop(const Walk& w, std::size_t depth, std::int64_t begin, std::int64_t end, const T* src,
            T* dst, std::int64_t n, std::int64_t m) const {
    const std::size_t k = w.order[depth];
    const Axis& x = axes_[k];
    const std::int64_t step = step_of(w, k);
    for (std::int64_t i = begin; i < end; i += step) {
      if (k == to_) n = std::min(step, end - i);
      if (k == from_) m = std::min(step, end - i);
      const T* from = src + i * x.is;
      T* to = dst + i * x.os;
      if (depth + 1 < w.order.size()) {
        loop(w, depth + 1, 0, axes_[w.order[depth + 1]].n, from, to, n, m);
      } else if (from_ == to_) {
        std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(T));
      } else {
        tile(w, from, to, n, m);
      }
    }
  }

  void tile(const Walk& w, const T* src, T* dst, std::int64_t n, std::int64_t m) const {
    const std::int64_t is = axes_[to_].is, os = axes_[from_].os;
    constexpr std::int64_t e = sizeof(T);
    constexpr std::int64_t side = Tile::template side<T>();
    if (!w.stream || n % side != 0 || m < side || n * e % 32 != 0 || os * e % 32 != 0 ||
        reinterpret_cast<std::uintptr_t>(dst) % 32 != 0)
      return Tile::run(src, is, dst, os, n, m);
    alignas(64) T rows[kLargestBlock * kLargestBlock];
    Tile::run(src, is, rows, n, n, m);
    stream_rows(reinterpret_cast<const char*>(rows), n * e, reinterpret_cast<char*>(dst), os * e, m,
                n * e);
  }

  /// Keeps the fastest: first of the orders within half a second, then of the macro-tiles.
  void search() {
    using Clock = std::chrono::steady_clock;
    const std::int64_t bytes =
        std::accumulate(axes_.begin(), axes_.end(), static_cast<std::int64_t>(sizeof(T)),
                        [](std::int64_t n, const Axis& x) { return n * x.n; });
    Trial trial(bytes, bytes);
    double best = 1e30;
    const auto measure = [&](const Walk& w) {
      const double took = trial.seconds(best, [&](const void* a, void* b) { run(w, a, b); });
      if (took >= best) return;
      best = took;
      walk_ = w;
    };
    Walk w = walk_;
    const auto stop = Clock::now() + std::chrono::milliseconds(500);
    do {
      measure(w);
    } while (Clock::now() < stop && std::next_permutation(w.order.begin(), w.order.end()));
    if (from_ == to_) return;
    w = walk_;
    for (const bool stream : {false, true}) {
      if (stream && !may_stream_) continue;
      for (const auto& [n, m] : {std::pair<int, int>{32, 32},
                                 {16, 16},
                                 {16, 64},
                                 {64, 16},
                                 {64, 64},
                                 {16, 128},
                                 {128, 16},
                                 {128, 128}}) {
        if (std::min(n, m) < Tile::template side<T>()) continue;
        w.n = n;
        w.m = m;
        w.stream = stream;
        measure(w);
      }
    }
  }

  std::vector<Axis> axes_;
  ThreadPool* pool_;
  bool may_stream_;
  std::size_t from_ = 0, to_ = 0;  ///< the axes whose elements adjoin in the source, destination
  Walk walk_;
};

/// A move of the case by such tiles; none where it is no permutation.
template <class Tile>
Move permuted(const Case& c, ThreadPool& pool, Stores stores) {
  auto axes = axes_of(c);
  if (!axes || axes->empty()) return {};
  const auto move = [&]<class T>(T) -> Move {
    const auto made = std::make_shared<Permutation<T, Tile>>(std::move(*axes), pool, stores);
    if (stores == Stores::non_temporal && !made->streams()) return {};
    return [made](const void* src, void* dst) { made->run(src, dst); };
  };
  switch (dtype_bytes(c.src)) {
    case 1:
      return move(std::uint8_t());
    case 2:
      return move(std::uint16_t());
    case 4:
      return move(std::uint32_t());
    default:
      return move(std::uint64_t());
  }
}

}  // namespace stowage::bench
