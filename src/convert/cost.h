// SPDX-License-Identifier: Apache-2.0
// What a job takes, to choose between several.
#pragma once

#include "convert/job.h"

namespace stowage::conversion {

/// Nanoseconds of one core, about, of what is in its caches. Of a job without a cast.
double cost_of(const Job& job, const Tuning& tuning) noexcept;

}  // namespace stowage::conversion
