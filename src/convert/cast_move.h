// SPDX-License-Identifier: Apache-2.0
// Which kernel casts and moves a job's elements at once.
#pragma once

#include "convert/job.h"

namespace stowage::conversion {

/// Fewer rows or columns than that CastMoves::transpose moves one by one.
std::int64_t tile_of_cast(const Job& job) noexcept;

/// Whether runs of a copy are such as CastMoves::runs takes.
bool has_short_runs(const Job& job) noexcept;

/// Of a transposition between rows and pixels that has not grown so far; looks at the first loops
/// of both chains. Sets the kernels too.
void choose_join_move(const JoinKernelsByRows& joins, Job& job) noexcept;

/// Of the others that there are; looks at the loops of both chains.
UnitMove find_cast_move(const Job& job, const CastMoves& moves) noexcept;

}  // namespace stowage::conversion
