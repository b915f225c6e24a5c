// SPDX-License-Identifier: Apache-2.0
// Static memory: one offset for every buffer of a plan, decided before run.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace stowage::plan {

/// A stretch of memory that lives from one step to another, both included.
struct Buffer {
  std::size_t bytes = 0;
  int first_step = 0, last_step = 0;
  /// The buffer inside of whose memory this one lies, `share_at` bytes from its beginning: its
  /// continuation in place, or a part of it; -1: memory of its own. A byte is held from the first
  /// step of any buffer that has it to the last step of any.
  int share_with = -1;
  std::size_t share_at = 0;
};

/// Offsets are multiples of this.
inline constexpr std::size_t kArenaAlignment = 64;
/// Bytes behind the last byte of a buffer which belong to it: kernels may read them.
inline constexpr std::size_t kArenaSlack = 64;

struct Arena {
  std::vector<std::size_t> offsets;  ///< one a buffer
  std::size_t bytes = 0;             ///< alignment and slack included
  std::size_t lower_bound = 0;       ///< most bytes alive at one step; no arena is smaller
};

/// Packs the buffers greedily, each into the tightest gap: by size, by size x lifetime and by
/// start, from below and, under a cap near the lower bound, from both ends; the smallest result is
/// kept. Deterministic; quadratic in the buffers. Throws Error(limit) when `limit` bytes do not
/// suffice, Error(internal) when the buffers make no sense.
Arena make_arena(std::span<const Buffer> buffers, std::size_t limit);

/// Throws Error(internal) when two buffers alive at one step overlap and do not share memory, one
/// lies outside the arena or off the alignment, or a shared one lies elsewhere than its partner.
void verify(std::span<const Buffer> buffers, const Arena& arena);

}  // namespace stowage::plan
