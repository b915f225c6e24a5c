// SPDX-License-Identifier: Apache-2.0
#include "convert/shuffle.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/checked.h"
#include "convert/blocks.h"
#include "convert/cost.h"
#include "convert/pool.h"
#include "convert/walk.h"

namespace stowage::conversion {
namespace {

constexpr std::int64_t kVector = ShuffleTable::kVector,
                       kLongest = ShuffleTable::kMostVectors * kVector;

/// How many iterations of the loop go on with a chunk of so many bytes: to whole vectors, if that
/// can be, the fewest; else as many as there is room for. 1: none.
std::int64_t part_of_chunk(const Loop& loop, std::int64_t bytes) noexcept {
  std::int64_t best = 1;
  for (std::int64_t n = 2; n <= loop.n && n * bytes <= kLongest; ++n) {
    if (loop.n % n != 0) continue;
    best = n;
    if (n * bytes % kVector == 0) break;
  }
  return best;
}

/// Takes the loops of a chunk out of the pool.
void take_chunk(Pool& pool, int element, Chain& out) noexcept {
  out = Chain{};
  while (out.count < static_cast<int>(out.loops.size())) {
    const std::int64_t bytes = out.n * element;
    const int i = pool.find_destination(bytes);
    if (bytes % kVector == 0 || i < 0) return;
    const Loop& next = pool.loops[i];
    const bool tail = next.valid < next.n;
    const std::int64_t n =
        tail ? (next.n * bytes <= kLongest ? next.n : 1) : part_of_chunk(next, bytes);
    if (n < 2) return;
    const bool part = n < next.n;
    append(out, pool.take_part(i, n));
    if (part) return;
  }
}

}  // namespace

bool make_shuffle(const Chain& chunk, int element, ShuffleTable& out) noexcept {
  const std::int64_t bytes = chunk.n * element;
  if (bytes > kLongest) return false;
  std::array<std::int64_t, static_cast<std::size_t>(kLongest)> from;  // -1: zero
  walk(chunk, 0, chunk.n,
       [&](std::int64_t i, std::int64_t is, std::int64_t, std::int64_t, bool valid) {
         from[static_cast<std::size_t>(i)] = valid ? is : -1;
       });
  out.vectors = static_cast<int>(ceil_div(bytes, kVector));
  out.bytes = bytes;
  out.pairs = 1;
  out.reach = 0;
  out.zeros = false;
  std::memset(out.order, 0, sizeof out.order);
  std::memset(out.taken, 0, sizeof out.taken);
  std::memset(out.window, 0, sizeof out.window);
  const std::int64_t per = kVector / element;
  const int lane = element >= 4 ? 4 : 1;
  for (int v = 0; v < out.vectors; ++v) {
    const auto vector = static_cast<std::size_t>(v);
    const std::int64_t first = v * per, end = std::min(first + per, chunk.n);
    std::uint64_t left = 0;  // elements without a window
    for (std::int64_t i = first; i < end; ++i) {
      const bool zero = from[static_cast<std::size_t>(i)] < 0;
      out.zeros |= zero;
      if (!zero) left |= std::uint64_t{1} << (i - first);
    }
    for (int window = 0; left != 0; ++window) {
      if (window == 2 * ShuffleTable::kMostPairs) return false;
      std::int64_t least = INT64_MAX;
      for (std::uint64_t rest = left; rest != 0; rest &= rest - 1)
        least = std::min(least, from[static_cast<std::size_t>(first + std::countr_zero(rest))]);
      const auto pair = static_cast<std::size_t>(window / 2);
      out.pairs = std::max(out.pairs, window / 2 + 1);
      out.window[vector][pair][window % 2] = least;
      out.reach = std::max(out.reach, least + kVector);
      for (std::uint64_t rest = left; rest != 0; rest &= rest - 1) {
        const int i = std::countr_zero(rest);
        const std::int64_t at = from[static_cast<std::size_t>(first + i)] - least;
        if (at + element > kVector || (lane == 4 && at % 4 != 0)) continue;
        left &= ~(std::uint64_t{1} << i);
        Byte* const order = out.order[vector][pair] + i * element;
        std::memset(out.taken[vector][pair] + i * element, 0xff, static_cast<std::size_t>(element));
        for (int k = 0; k < element; k += lane) {
          const auto index = static_cast<std::uint32_t>((at + k + window % 2 * kVector) / lane);
          if (lane == 1) order[k] = static_cast<Byte>(index);
          if (lane == 4) std::memcpy(order + k, &index, sizeof index);
        }
      }
    }
  }
  return true;
}

void move_chunk(const Chain& chunk, int element, const Byte* src, Byte* dst) noexcept {
  const auto e = static_cast<std::size_t>(element);
  walk(chunk, 0, chunk.n,
       [&](std::int64_t, std::int64_t is, std::int64_t os, std::int64_t, bool valid) {
         if (valid) std::memcpy(dst + os, src + is, e);
         if (!valid) std::memset(dst + os, 0, e);
       });
}

bool set_shuffle(const Nest& nest, int scalar, Job& job) noexcept {
  Pool pool(nest);
  const int element = take_element(pool, scalar);
  Job made;
  begin_job(nest, element, element, made);
  take_chunk(pool, element, made.chunk);
  ShuffleTable table;
  if (made.chunk.count == 0 || !make_shuffle(made.chunk, element, table)) return false;
  made.kind = Kind::shuffle;
  made.shuffle = kernels().shuffles_of(element).run[table.vectors - 1][table.pairs - 1];
  if (made.shuffle == nullptr) return false;
  made.shuffle_pairs = table.pairs;
  // Chunks that follow each other in the destination, and of those the ones whose sources are near.
  for (Chain* const chain : {&made.a, &made.b}) {
    const int i = pool.find_nearest_whole(chain == &made.a ? &Loop::os : &Loop::is);
    append(*chain, i >= 0 ? pool.take(i) : kOneIteration);
  }
  made.a.block = std::clamp<std::int64_t>(kMostBytes / table.bytes, 1, made.a.n);
  made.b.block = std::clamp<std::int64_t>(kMostBytes / table.bytes / made.a.block, 1, made.b.n);
  order_steps(made, pool);
  job = made;
  return true;
}

void choose_shuffle(const Nest& nest, int scalar, double least, const Tuning& tuning,
                    Job& job) noexcept {
  constexpr double kGain = 0.8, kWorth = 2;  // ns of a line
  if (job.fill || job.kind == Kind::planes) return;
  const double before = cost_of(job, tuning);
  if (before < least || before * kLine < kWorth * static_cast<double>(job.bytes())) return;
  Job made;
  if (!set_shuffle(nest, scalar, made)) return;
  if (cost_of(made, tuning) < std::min(kGain * before, before - least)) job = made;
}

}  // namespace stowage::conversion
