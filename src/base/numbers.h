// SPDX-License-Identifier: Apache-2.0
// Lists of numbers, and what indexes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stowage {

using Ints = std::vector<std::int64_t>;
using Floats = std::vector<float>;

inline std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace stowage
