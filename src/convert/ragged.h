// SPDX-License-Identifier: Apache-2.0
// Rows whose last run is shorter than the others: NHWC to blocks of channels that do not divide the
// channels, and back. They are two nests, of which each reads or writes lines of the other;
// together each line is met once.
#pragma once

#include "convert/job.h"

namespace stowage::conversion {

/// The job that does both nests in one pass, of elements of so many bytes; false where they are not
/// rows of runs and the ends of these rows, padded or cut, or no kernel moves them.
bool choose_ragged(const Nest& whole, const Nest& ends, int element, Job& job) noexcept;

}  // namespace stowage::conversion
