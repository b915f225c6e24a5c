// SPDX-License-Identifier: Apache-2.0
// What a job takes, to choose between several.
#pragma once

#include "convert/job.h"

namespace stowage::conversion {

/// Nanoseconds of one core, about, of what is in its caches. Of a job without a cast.
double cost_of(const Job& job, const Tuning& tuning) noexcept;

/// What another way may cost at most to be taken for one that costs `before` and writes so many
/// bytes: a share `gain` of it, and `least` nanoseconds less. 0: this one costs fewer than `worth`
/// nanoseconds a line, or too little altogether, for looking further.
double most_of_other(double before, std::int64_t bytes, double worth, double gain,
                     double least) noexcept;

}  // namespace stowage::conversion
