// SPDX-License-Identifier: Apache-2.0
// Copies: what both sides keep together is moved run by run, rows of runs at a time.
#pragma once

#include "convert/job.h"

namespace stowage::conversion {

/// Makes it a copy of the loop `run` of the pool, -1: of single elements, and of what goes on with
/// it. `alone`: the nest makes all of its tensor. `cast`: elements change or are scaled, run by run
/// if `cast_runs`.
void choose_copy(Job& job, Pool& pool, int run, bool cast, bool cast_runs, bool alone,
                 const Tuning& tuning) noexcept;

}  // namespace stowage::conversion
