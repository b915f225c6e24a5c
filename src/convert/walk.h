// SPDX-License-Identifier: Apache-2.0
// The iterations of a chain: one by one, and where they are.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "convert/job.h"

namespace stowage::conversion {

/// f(i, source offset, destination offset, parameter, has a source) for iterations
/// [start, start + n) of the chain.
template <class F>
void walk(const Chain& chain, std::int64_t start, std::int64_t n, F f) {
  if (chain.count == 0) {
    f(std::int64_t{0}, std::int64_t{0}, std::int64_t{0}, std::int64_t{0}, true);
    return;
  }
  if (chain.count == 1) {
    const Loop& l = chain.loops[0];
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t v = start + i;
      f(i, v * l.is, v * l.os, v * l.ps, v < l.valid);
    }
    return;
  }
  std::array<std::int64_t, 6> index{};
  std::int64_t is = 0, os = 0, ps = 0;
  for (int k = 0; k < chain.count; ++k) {
    const Loop& l = chain.loops[static_cast<std::size_t>(k)];
    const std::int64_t v = start % l.n;
    index[static_cast<std::size_t>(k)] = v;
    start /= l.n;
    is += v * l.is;
    os += v * l.os;
    ps += v * l.ps;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    bool valid = true;
    for (int k = 0; k < chain.count; ++k) {
      valid &= index[static_cast<std::size_t>(k)] < chain.loops[static_cast<std::size_t>(k)].valid;
    }
    f(i, is, os, ps, valid);
    for (int k = 0; k < chain.count; ++k) {
      const Loop& l = chain.loops[static_cast<std::size_t>(k)];
      is += l.is;
      os += l.os;
      ps += l.ps;
      if (++index[static_cast<std::size_t>(k)] < l.n) break;
      index[static_cast<std::size_t>(k)] = 0;
      is -= l.n * l.is;
      os -= l.n * l.os;
      ps -= l.n * l.ps;
    }
  }
}

inline std::int64_t stride_of(const Chain& chain, std::int64_t Loop::*stride) {
  return chain.count > 0 ? chain.loops[0].*stride : 0;
}

/// Where iterations [start, start + n) of the chain are on one side, from `base`. Those of the
/// first loop come again with each iteration of the second one: what is known of these doubles.
template <class B>
void locate_iterations(const Chain& chain, std::int64_t Loop::*stride, std::int64_t start,
                       std::int64_t n, B* base, B** out) {
  if (chain.count < 2) {
    const std::int64_t distance = stride_of(chain, stride);
    for (std::int64_t i = 0; i < n; ++i) out[i] = base + (start + i) * distance;
    return;
  }
  const Loop &inner = chain.loops[0], &next = chain.loops[1];
  const std::int64_t period = inner.n, all = period * next.n;
  while (n > 0) {
    B* from = base;
    std::int64_t rest = start / all;
    for (int k = 2; k < chain.count; rest /= chain.loops[k++].n)
      from += rest % chain.loops[k].n * (chain.loops[k].*stride);
    const std::int64_t first = start % all, part = std::min(n, all - first);
    std::int64_t known = std::min(part, period), v = first % period;
    from += first / period * (next.*stride);
    for (std::int64_t i = 0; i < known; ++i) {
      out[i] = from + v * (inner.*stride);
      if (++v < period) continue;
      v = 0;
      from += next.*stride;
    }
    while (known < part) {
      const std::int64_t more = std::min(known, part - known),
                         distance = known / period * (next.*stride);
      for (std::int64_t i = 0; i < more; ++i) out[known + i] = out[i] + distance;
      known += more;
    }
    out += part;
    start += part;
    n -= part;
  }
}

/// f(begin, end) for each range of iterations [start, start + n) without a source, counted from
/// `start`; ranges may overlap.
template <class F>
void each_without_source(const Chain& chain, std::int64_t start, std::int64_t n, F f) {
  std::int64_t below = 1;
  for (int k = 0; k < chain.count; ++k) {
    const Loop& loop = chain.loops[k];
    const std::int64_t cycle = below * loop.n, valid = below * loop.valid;
    std::int64_t at = valid < cycle ? start - start % cycle : start + n;
    for (; at < start + n; at += cycle) {
      const std::int64_t begin = std::max(at + valid, start), end = std::min(at + cycle, start + n);
      if (begin < end) f(begin - start, end - start);
    }
    below = cycle;
  }
}

/// Whether all iterations have the same mean and norm.
inline bool same_parameters(const Chain& chain) {
  const auto* const loops = chain.loops.begin();
  return std::all_of(loops, loops + chain.count, [](const Loop& l) { return l.ps == 0; });
}

/// Whether iterations of so many bytes fill one piece of the destination, in any order.
inline bool is_one_piece(const Chain& chain, std::int64_t bytes) {
  const auto* const end = chain.loops.begin() + chain.count;
  std::int64_t found = bytes;
  for (int k = 0; k < chain.count; ++k) {
    const auto* const next =
        std::find_if(chain.loops.begin(), end, [&](const Loop& l) { return l.os == found; });
    if (next == end) return false;
    found *= next->n;
  }
  return true;
}

/// Runs of more elements are cast one by one: calling a cast costs as much as a few dozen.
inline constexpr std::int64_t kShortRun = 256;

/// Runs of so many bytes are as fast one by one as by way of scratch memory.
inline constexpr std::int64_t kLongRunBytes = 32;

}  // namespace stowage::conversion
