// SPDX-License-Identifier: Apache-2.0
// How large the blocks of a transposition are: how many of its rows and columns one kernel call
// takes.
#pragma once

#include <cstdint>

#include "convert/job.h"

namespace stowage::conversion {

/// What a unit may touch that meets no line twice, of `all` bytes: only what finding a unit takes
/// counts, some 100 ns.
std::int64_t most_of_streams(std::int64_t all) noexcept;

/// What a unit may touch that is walked a few rows or columns at a time.
std::int64_t most_of_panels(std::int64_t all) noexcept;

/// How many iterations of a chain of the job a block may take: a table of them, or zeros for those
/// without a source, are for kMaxBlock.
std::int64_t longest_block(const Job& job, const Chain& chain) noexcept;

/// How far apart the iterations of a chain are, 0 where that differs.
std::int64_t even_stride(const Chain& chain, std::int64_t Loop::*stride) noexcept;

/// na columns of nb rows at such distances, wherever they lie.
TransposeBlock block_of(std::int64_t na, std::int64_t nb, std::int64_t row_stride,
                        std::int64_t col_stride, const Tuning& tuning, Walk walk) noexcept;

/// Of elements of so many bytes, na columns of nb rows at such distances.
const TransposeKernel& kernel_for(int element, std::int64_t na, std::int64_t nb,
                                  std::int64_t row_stride, std::int64_t col_stride,
                                  const Tuning& tuning, Walk walk = Walk::free) noexcept;

/// Of what is transposed element by element, in tiles or one by one: a unit touches at most `most`
/// bytes; rows are cast that are `cast_row` long, if not 0.
void choose_blocks(Job& job, std::int64_t cast_row, std::int64_t most) noexcept;

/// What one unit that is no more than a tile or an element at a time should touch; a larger one
/// keeps too many lines waiting at once (docs/performance.md).
inline constexpr std::int64_t kMostBytes = 16384;

/// Of a transposition that moves `all` bytes; and in which order a block is walked, as far as the
/// job says. Returns whether small blocks may be repeated.
bool choose_transpose_blocks(Job& job, std::int64_t all, bool cast, Bypass bypass,
                             const Tuning& tuning) noexcept;

}  // namespace stowage::conversion
