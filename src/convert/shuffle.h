// SPDX-License-Identifier: Apache-2.0
// Conversions in which what follows each other in the destination comes from few places of the
// source, in another order, as between the packings of weights: chunks of the destination are put
// together in registers, each vector of a few windows of the source.
#pragma once

#include "convert/job.h"

namespace stowage::conversion {

/// Whether the nest has digits of an end, see NestPlan::join_ends: no other way moves these.
bool has_end(const Nest& nest) noexcept;

/// Finds the vectors of a chunk, of elements of so many bytes. False, and any table: it has too
/// many bytes or its vectors need more windows than a table has, or the instruction set has no
/// kernel.
bool make_shuffle(const Chain& chunk, int element, ShuffleTable& out) noexcept;

/// One chunk, element by element, where a vector would reach beyond what may be read.
void move_chunk(const Chain& chunk, int element, const Byte* src, Byte* dst) noexcept;

/// Makes it a job of chunks of the nest, whose scalars have so many bytes. False, and the same job:
/// there are no chunks, none that holds all ends, or none that has a table.
bool set_shuffle(const Nest& nest, int scalar, Job& job) noexcept;

/// Likewise, if chunks save at least so many nanoseconds.
void choose_shuffle(const Nest& nest, int scalar, double least, const Tuning& tuning,
                    Job& job) noexcept;

}  // namespace stowage::conversion
