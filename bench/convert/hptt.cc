// SPDX-License-Identifier: Apache-2.0
// The method of P. Springer, T. Su, P. Bientinesi, "HPTT: A High-Performance Tensor Transposition
// C++ Library" (ARRAY 2017), whose library is not packaged: micro-tiles transposed in registers,
// in macro-tiles of the axes that are contiguous on either side, within loops over the others.
// The order of the loops, the macro-tile and whether stores bypass the caches are measured.
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
namespace {

constexpr std::int64_t kMicro = 8, kLargestBlock = 128;

/// Transposes n x m elements: is and os between the rows of either side, whose elements adjoin.
template <class T>
void scalar_tile(const T* src, std::int64_t is, T* dst, std::int64_t os, std::int64_t n,
                 std::int64_t m) {
  for (std::int64_t j = 0; j < m; ++j)
    for (std::int64_t i = 0; i < n; ++i) dst[j * os + i] = src[i * is + j];
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void avx2_tile(const float* src, std::int64_t is, float* dst,
                                               std::int64_t os) {
  __m256 r[8], s[8];
  for (int i = 0; i < 8; ++i) r[i] = _mm256_loadu_ps(src + i * is);
  for (int i = 0; i < 8; i += 2) {
    s[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    s[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    r[i] = _mm256_shuffle_ps(s[i], s[i + 2], 0x44);
    r[i + 1] = _mm256_shuffle_ps(s[i], s[i + 2], 0xee);
    r[i + 2] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0x44);
    r[i + 3] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    _mm256_storeu_ps(dst + i * os, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
    _mm256_storeu_ps(dst + (i + 4) * os, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
  }
}

__attribute__((target("avx2"))) void stream_rows(const char* src, std::int64_t is, char* dst,
                                                 std::int64_t os, std::int64_t rows,
                                                 std::int64_t bytes) {
  for (std::int64_t j = 0; j < rows; ++j) {
    for (std::int64_t i = 0; i < bytes; i += 32) {
      _mm256_stream_si256(reinterpret_cast<__m256i*>(dst + j * os + i),
                          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src + j * is + i)));
    }
  }
}

bool has_avx2() { return __builtin_cpu_supports("avx2") != 0; }
#else
void avx2_tile(const float*, std::int64_t, float*, std::int64_t) {}

void stream_rows(const char*, std::int64_t, char*, std::int64_t, std::int64_t, std::int64_t) {}

bool has_avx2() { return false; }
#endif

template <class T>
void macro_tile(const T* src, std::int64_t is, T* dst, std::int64_t os, std::int64_t n,
                std::int64_t m, bool avx2) {
  for (std::int64_t i = 0; i < n; i += kMicro) {
    for (std::int64_t j = 0; j < m; j += kMicro) {
      const std::int64_t rows = std::min(kMicro, n - i), columns = std::min(kMicro, m - j);
      const T* from = src + i * is + j;
      T* to = dst + j * os + i;
      if (sizeof(T) == 4 && avx2 && rows == kMicro && columns == kMicro) {
        avx2_tile(reinterpret_cast<const float*>(from), is, reinterpret_cast<float*>(to), os);
      } else {
        scalar_tile(from, is, to, os, rows, columns);
      }
    }
  }
}

/// A way to walk: loops from the outermost, of which those of the axes that adjoin in the
/// destination and in the source go by the macro-tile.
struct Walk {
  std::vector<std::size_t> order;
  std::int64_t n = 32, m = 32;  ///< macro-tile along the destination's and the source's inner axis
  bool stream = false;
};

template <class T>
class Permutation {
 public:
  Permutation(std::vector<Axis> axes, ThreadPool& pool)
      : axes_(std::move(axes)), pool_(&pool), avx2_(has_avx2()) {
    to_ = axes_.size() - 1;
    while (axes_[from_].is != 1) ++from_;
    walk_.order.resize(axes_.size());
    std::iota(walk_.order.begin(), walk_.order.end(), std::size_t{0});
    if (from_ == to_) walk_.n = axes_.size() == 1 ? 4096 : axes_[to_].n;
    search();
  }

  void run(const void* src, void* dst) const { run(walk_, src, dst); }

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
    if (!w.stream || n * e % 32 != 0 || os * e % 32 != 0 ||
        reinterpret_cast<std::uintptr_t>(dst) % 32 != 0)
      return macro_tile(src, is, dst, os, n, m, avx2_);
    alignas(64) T rows[kLargestBlock * kLargestBlock];
    macro_tile(src, is, rows, n, n, m, avx2_);
    stream_rows(reinterpret_cast<const char*>(rows), n * e, reinterpret_cast<char*>(dst), os * e, m,
                n * e);
  }

  /// Keeps the fastest: first of the orders within half a second, then of the macro-tiles.
  void search() {
    using Clock = std::chrono::steady_clock;
    const auto elements = static_cast<std::size_t>(
        std::accumulate(axes_.begin(), axes_.end(), std::int64_t{1},
                        [](std::int64_t n, const Axis& x) { return n * x.n; }));
    const auto make = [&] {
      void* p = allocate(elements * sizeof(T) + 64);
      std::memset(p, 0, elements * sizeof(T));
      return std::unique_ptr<void, void (*)(void*)>(p, std::free);
    };
    const auto src = make(), dst = make();
    double best = 1e30;
    const auto measure = [&](const Walk& w) {
      for (int i = 0; i < 4; ++i) {
        const auto begin = Clock::now();
        run(w, src.get(), dst.get());
        const double took = std::chrono::duration<double>(Clock::now() - begin).count();
        if (i == 0 && took > 3 * best) return;
        if (i > 0 && took < best) {
          best = took;
          walk_ = w;
        }
      }
    };
    Walk w = walk_;
    const auto stop = Clock::now() + std::chrono::milliseconds(500);
    do {
      measure(w);
    } while (Clock::now() < stop && std::next_permutation(w.order.begin(), w.order.end()));
    if (from_ == to_) return;
    w = walk_;
    for (const bool stream : {false, true}) {
      if (stream && !avx2_) continue;
      for (const auto& [n, m] : {std::pair<int, int>{32, 32},
                                 {16, 16},
                                 {16, 64},
                                 {64, 16},
                                 {64, 64},
                                 {16, 128},
                                 {128, 16},
                                 {128, 128}}) {
        w.n = n;
        w.m = m;
        w.stream = stream;
        measure(w);
      }
    }
  }

  std::vector<Axis> axes_;
  ThreadPool* pool_;
  bool avx2_;
  std::size_t from_ = 0, to_ = 0;  ///< the axes whose elements adjoin in the source, destination
  Walk walk_;
};

template <class T>
Move move_of(std::vector<Axis> axes, ThreadPool& pool) {
  const auto made = std::make_shared<Permutation<T>>(std::move(axes), pool);
  return [made](const void* src, void* dst) { made->run(src, dst); };
}

}  // namespace

Move make_hptt(const Case& c, ThreadPool& pool) {
  auto axes = axes_of(c);
  if (!axes || axes->empty()) return {};
  switch (dtype_bytes(c.src)) {
    case 1:
      return move_of<std::uint8_t>(std::move(*axes), pool);
    case 2:
      return move_of<std::uint16_t>(std::move(*axes), pool);
    case 4:
      return move_of<std::uint32_t>(std::move(*axes), pool);
    default:
      return move_of<std::uint64_t>(std::move(*axes), pool);
  }
}

}  // namespace stowage::bench
