// SPDX-License-Identifier: Apache-2.0
// Which kernel casts and moves a job's elements at once.
#pragma once

#include "convert/job.h"

namespace stowage::conversion {

/// Whether runs of a copy are such as CastMoves::runs takes.
bool has_short_runs(const Job& job) noexcept;

/// Of those that there are; looks at the loops of both chains.
CastMove find_cast_move(const Job& job, const CastMoves& moves) noexcept;

}  // namespace stowage::conversion
