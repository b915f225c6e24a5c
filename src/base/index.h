// SPDX-License-Identifier: Apache-2.0
// Ids and sizes are signed; the containers of the standard library count without a sign.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stowage {

/// An index that is known not to be negative, as containers take it.
constexpr std::size_t idx(std::int64_t i) noexcept { return static_cast<std::size_t>(i); }

}  // namespace stowage
