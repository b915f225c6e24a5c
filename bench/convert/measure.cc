// SPDX-License-Identifier: Apache-2.0
#include "bench/convert/measure.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <thread>

#include "base/bytes.h"
#include "convert/oracle.h"
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace stowage::bench {
namespace {

struct Free {
  void operator()(unsigned char* p) const { std::free(p); }
};

using Buffer = std::unique_ptr<unsigned char, Free>;

/// As the engine allocates tensors, in huge pages where they are large and the system has them;
/// filled with small f32 numbers.
Buffer make_buffer(std::size_t bytes, DType dtype) {
  Buffer out(static_cast<unsigned char*>(allocate(std::max<std::size_t>(bytes + 64, 4096))));
  std::mt19937 random(1);
  for (std::size_t i = 0; i < bytes; i += 4) {
    const auto word = static_cast<std::uint32_t>(random());
    std::memcpy(out.get() + i, &word, std::min<std::size_t>(4, bytes - i));
  }
  if (dtype == DType::f32) {
    for (std::size_t i = 0; i + 4 <= bytes; i += 4) {
      const float v = static_cast<float>(random() % 256);
      std::memcpy(out.get() + i, &v, 4);
    }
  }
  if (dtype == DType::f16 || dtype == DType::bf16) {
    // Neither NaN nor infinity, nor -0, of which oneDNN 2.6 drops the sign.
    for (std::size_t i = 1; i < bytes; i += 2) {
      out.get()[i] &= 0xbf;
      out.get()[i - 1] |= 1;
    }
  }
  return out;
}

void evict(const unsigned char* p, std::size_t bytes) {
#if defined(__x86_64__)
  for (std::size_t i = 0; i < bytes; i += 64) _mm_clflush(p + i);
  _mm_mfence();
#else
  static std::vector<unsigned char> other(256u << 20);
  for (std::size_t i = 0; i < other.size(); i += 64) ++other[i];
  static_cast<void>(p);
  static_cast<void>(bytes);
#endif
}

/// Other libraries' threads that have nothing to do spin for so long before they sleep
/// (pthreadpool's a million pauses), on the cores that the next contender's threads need.
constexpr std::chrono::milliseconds kThreadsSpin(60);

/// After so many calls the caches are as a contender leaves them; no turn has fewer.
constexpr int kCallsToWarm = 4;

std::vector<double> sorted(std::vector<double> values) {
  std::ranges::sort(values);
  return values;
}

double now_us() {
  using namespace std::chrono;
  return duration<double, std::micro>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace

double Entry::min_us() const { return us.empty() ? 0 : std::ranges::min(us); }

double Entry::median_us() const {
  const std::vector<double> found = sorted(us);
  return found.empty() ? 0 : found[found.size() / 2];
}

double Entry::fast_half_us() const {
  const std::vector<double> found = sorted(us);
  const auto half = static_cast<std::ptrdiff_t>((found.size() + 1) / 2);
  return found.empty() ? 0
                       : std::accumulate(found.begin(), found.begin() + half, 0.0) /
                             static_cast<double>(half);
}

void measure(const Case& c, std::vector<Entry>& all, const Settings& settings) {
  std::vector<Entry*> entries;
  for (Entry& e : all) {
    if (e.move) entries.push_back(&e);
  }

  struct Pair {
    std::size_t in, out;
    Buffer src, dst;
  };

  const auto make = [&](std::size_t in, std::size_t out) {
    return Pair{in, out, make_buffer(in, c.src), make_buffer(out, c.dst)};
  };
  const Pair baseline = make(c.bytes() / 2, c.bytes() / 2);
  const Pair own = make(c.source().bytes(), c.destination().bytes());
  for (std::size_t k = 0; k < entries.size(); ++k) {
    if (settings.cold) entries[k]->repeats = 1;
    if (entries[k]->repeats > 0) continue;
    const Pair& p = k == 0 ? baseline : own;
    // The first calls find cold caches and untouched pages: by their time a batch would be a call
    // or two, with as few before the clock, which then measures memory instead of caches.
    double us = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kCallsToWarm; ++i) {
      const double begin = now_us();
      entries[k]->move(p.src.get(), p.dst.get());
      us = std::min(us, now_us() - begin);
    }
    // Of long calls several as well: memory answers one faster than the next.
    entries[k]->repeats =
        std::clamp(static_cast<int>(settings.batch_us / us), kCallsToWarm, 100000);
  }
  for (int round = 0; round < settings.rounds; ++round) {
    for (std::size_t k = 0; k < entries.size(); ++k) {
      const Pair& p = k == 0 ? baseline : own;
      const int repeats = entries[k]->repeats;
      const Entry& before = *entries[k == 0 ? entries.size() - 1 : k - 1];
      if (settings.threads > 1 && entries[k]->own_threads != before.own_threads) {
        std::this_thread::sleep_for(kThreadsSpin);
      }
      if (settings.cold) {
        evict(p.src.get(), p.in);
        evict(p.dst.get(), p.out);
      } else {
        // The caches as this contender leaves them: each core's, for several threads.
        for (int i = 0; i < repeats; ++i) entries[k]->move(p.src.get(), p.dst.get());
      }
      const double begin = now_us();
      for (int i = 0; i < repeats; ++i) entries[k]->move(p.src.get(), p.dst.get());
      entries[k]->us.push_back((now_us() - begin) / repeats);
    }
  }
}

bool agrees(const Case& c, const Move& move) {
  const Mapping src = c.source(), dst = c.destination();
  const Buffer from = make_buffer(src.bytes(), c.src);
  const Buffer got = make_buffer(dst.bytes(), DType::u8),
               want = make_buffer(dst.bytes(), DType::u8);
  convert_by_oracle(c.src, src, from.get(), c.dst, dst, want.get());
  move(from.get(), got.get());
  const auto e = static_cast<std::size_t>(dtype_bytes(c.dst));
  for (std::int64_t cell = 0; cell < dst.cells(); ++cell) {  // others may write gaps
    std::array<std::int64_t, kMaxRank> x;
    const std::size_t at = static_cast<std::size_t>(cell) * e;
    if (std::memcmp(got.get() + at, want.get() + at, e) != 0 && dst.inverse(cell, x) != Cell::gap)
      return false;
  }
  return true;
}

}  // namespace stowage::bench
