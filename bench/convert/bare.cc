// SPDX-License-Identifier: Apache-2.0
// What memory gives to loads and stores of whole lines with nothing computed between them: bounds
// of all conversions that are made of such instructions, ours and others'. Neither puts elements
// where the case wants them. (memcpy writes lines without reading them, by an instruction of its
// own.)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/convert/bare.cc"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef STOWAGE_BENCH_BARE_ONCE
#define STOWAGE_BENCH_BARE_ONCE

#include <algorithm>
#include <cstdint>

namespace stowage::bench {

constexpr std::int64_t kLine = 64;

/// Which of n steps is taken after i others, four at a time so that no distance between two is that
/// of the two before.
constexpr std::int64_t scattered(std::int64_t i, std::int64_t n) {
  constexpr std::int64_t kOrder[] = {0, 3, 1, 2};
  const std::int64_t first = i / 4 * 4;
  return first + 4 <= n ? first + kOrder[i % 4] : i;
}

/// How a copy walks: so many parts of either side at once, stores that bypass the caches or not.
struct Streams {
  std::int64_t count = 1;
  bool bypass = false;
};

}  // namespace stowage::bench

#endif

HWY_BEFORE_NAMESPACE();

namespace stowage::bench {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Bytes = hn::CappedTag<std::uint8_t, kLine>;

/// Reads `in` bytes and writes `out`, but for what is left of a step of lines.
template <bool kBypass>
void copy_parts(const std::uint8_t* src, std::int64_t in, std::uint8_t* dst, std::int64_t out,
                std::int64_t parts) {
  const Bytes d;
  constexpr std::int64_t kSide = hn::MaxLanes(d), kStep = 512;  // of the larger side
  const std::int64_t in_part = in / parts / kLine * kLine, out_part = out / parts / kLine * kLine;
  const std::int64_t steps = std::max(in_part, out_part) / kStep;
  auto sum = hn::Zero(d);
  for (std::int64_t step = 0; step < steps; ++step) {
    const auto at = [&](std::int64_t bytes, std::int64_t k) {
      return bytes / kSide * k / steps * kSide;
    };
    const std::int64_t in_end = at(in_part, step + 1), out_end = at(out_part, step + 1);
    for (std::int64_t part = 0; part < parts; ++part) {
      const std::uint8_t* const from = src + part * in_part;
      std::uint8_t* const to = dst + part * out_part;
      std::int64_t i = at(in_part, step), o = at(out_part, step);
      while (i < in_end || o < out_end) {
        if (i < in_end) sum = hn::Or(sum, hn::LoadU(d, from + i));
        i += kSide;
        if (o < out_end) {
          if constexpr (kBypass) {
            hn::Stream(sum, d, to + o);
          } else {
            hn::StoreU(sum, d, to + o);
          }
        }
        o += kSide;
      }
    }
  }
  hwy::FlushStream();
  hn::StoreU(sum, d, dst);
}

void copy(const std::uint8_t* src, std::int64_t in, std::uint8_t* dst, std::int64_t out,
          const Streams& streams) {
  (streams.bypass ? copy_parts<true> : copy_parts<false>)(src, in, dst, out, streams.count);
}

/// Lines of n rows, which begin `from` bytes apart, to as many columns, `to` bytes apart, of `rows`
/// and `columns` elements of e bytes: each line that a transposition meets, once.
void walk(const std::uint8_t* src, std::int64_t from, std::uint8_t* dst, std::int64_t to,
          std::int64_t rows, std::int64_t columns, std::int64_t e, bool scatters) {
  const Bytes d;
  constexpr std::int64_t kSide = hn::MaxLanes(d);
  const std::int64_t side = kLine / e, tall = (rows + side - 1) / side,
                     wide = (columns + side - 1) / side;
  const auto turn = [&](std::int64_t i, std::int64_t n) { return scatters ? scattered(i, n) : i; };
  for (std::int64_t i = 0; i < tall; ++i) {
    // What fills no tile is the end of one that overlaps the tile before.
    const std::int64_t row = std::min(turn(i, tall) * side, rows - side);
    for (std::int64_t j = 0; j < wide; ++j) {
      const std::int64_t column = std::min(turn(j, wide) * side, columns - side);
      const std::uint8_t* a = src + row * from + column * e;
      std::uint8_t* b = dst + column * to + row * e;
      HWY_UNROLL(8)  // loads of their own, as squares have, which prefetchers tell apart
      for (std::int64_t k = 0; k < side; ++k, a += from, b += to) {
        for (std::int64_t x = 0; x < kLine; x += kSide) {
          hn::StoreU(hn::LoadU(d, a + x), d, b + x);
        }
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace stowage::bench

HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "bench/convert/search.h"

namespace stowage::bench {
namespace {

HWY_EXPORT(copy);
HWY_EXPORT(walk);

using Byte = std::uint8_t;

template <bool kScattered>
struct Lines {
  template <class T>
  static constexpr std::int64_t side() {
    return kLine / static_cast<std::int64_t>(sizeof(T));
  }

  template <class T>
  static void run(const T* src, std::int64_t is, T* dst, std::int64_t os, std::int64_t n,
                  std::int64_t m) {
    constexpr std::int64_t e = sizeof(T);
    HWY_DYNAMIC_DISPATCH(walk)
    (reinterpret_cast<const Byte*>(src), is * e, reinterpret_cast<Byte*>(dst), os * e, n, m, e,
     kScattered);
  }
};

}  // namespace

Move make_bare_copy(const Case& c, ThreadPool& pool) {
  const auto in = static_cast<std::int64_t>(c.source().bytes()),
             out = static_cast<std::int64_t>(c.destination().bytes());
  const auto run = [=, &pool](const Streams& streams, const void* src, void* dst) {
    const std::int64_t parts = pool.threads();
    parallel(&pool, static_cast<std::size_t>(parts), [&](std::size_t part) {
      const auto p = static_cast<std::int64_t>(part);
      const std::int64_t from = in / parts / kLine * kLine, to = out / parts / kLine * kLine;
      HWY_DYNAMIC_DISPATCH(copy)
      (static_cast<const Byte*>(src) + p * from, from, static_cast<Byte*>(dst) + p * to, to,
       streams);
    });
  };
  Trial trial(in, out);
  Streams best;
  double least = 1e30;
  for (const bool bypass : {false, true}) {
    for (const std::int64_t count : {1, 2, 4, 8, 16}) {
      const Streams way{count, bypass};
      const double took =
          trial.seconds(least, [&](const void* src, void* dst) { run(way, src, dst); });
      if (took >= least) continue;
      least = took;
      best = way;
    }
  }
  return [=](const void* src, void* dst) { run(best, src, dst); };
}

Move make_bare_walk(const Case& c, ThreadPool& pool) {
  const auto axes = axes_of(c);
  const std::int64_t side = kLine / dtype_bytes(c.src);
  if (!axes || axes->size() < 2 || axes->back().is == 1) return {};  // those are copies
  for (const Axis& x : *axes) {
    if ((x.is == 1 || x.os == 1) && x.n < side) return {};
  }
  const Move ways[] = {permuted<Lines<false>>(c, pool, Stores::any),
                       permuted<Lines<true>>(c, pool, Stores::any)};
  Trial trial(static_cast<std::int64_t>(c.source().bytes()),
              static_cast<std::int64_t>(c.destination().bytes()));
  const double straight = trial.seconds(1e30, ways[0]);
  return trial.seconds(straight, ways[1]) < straight ? ways[1] : ways[0];
}

}  // namespace stowage::bench

#endif
