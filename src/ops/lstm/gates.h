// SPDX-License-Identifier: Apache-2.0
// Rows of weights times a vector: the bulk of a recurrent step.
#pragma once

#include <cstdint>

namespace stowage {

/// Results that are summed side by side; weights lie in panels of as many columns.
inline constexpr std::int64_t kGatePanel = 64;

/// out[j] += sum of x[k] * w[k][j] for 0 <= k < count and all columns of `panels` panels. The
/// weights of a panel are `count` rows of kGatePanel floats. `out` is aligned to 64 bytes.
void add_gates(const float* x, std::int64_t count, const float* w, std::int64_t panels,
               float* out) noexcept;

}  // namespace stowage
