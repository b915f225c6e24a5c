// SPDX-License-Identifier: Apache-2.0
// A case as a permutation of axes, for the contenders that know nothing else.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "bench/convert/contender.h"

namespace stowage::bench {

using Strides = std::array<std::int64_t, kMaxRank>;  ///< of each axis, in elements

/// False where an axis that is longer than 1 has not exactly one digit.
bool strides_of(const Mapping& m, Strides& out);

struct Axis {
  std::int64_t n, is, os;  ///< length, stride in the source and in the destination, in elements
};

/// Axes longer than 1 in the order of the destination, neighbours on both sides fused; none where
/// the type changes or a side has blocks, tails or gaps.
std::optional<std::vector<Axis>> axes_of(const Case& c);

/// [batch, rows, columns] to [batch, columns, rows].
struct Transposition {
  std::size_t batch, rows, columns;
};

std::optional<Transposition> transposition_of(const Case& c);

}  // namespace stowage::bench
