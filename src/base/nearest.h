// SPDX-License-Identifier: Apache-2.0
// What was meant by a word that is none of those expected.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace stowage {

/// The first of the names that are nearest to `word`: the same but for case and '_' or '-', or a
/// few letters that are missing, too many, wrong or swapped, or one the beginning of the other.
/// Empty where none is near.
std::string_view nearest(std::string_view word, std::span<const std::string_view> names);

/// "; did you mean --image?" or nothing; `before` is what stands before a name.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> names,
                         std::string_view before = "");

}  // namespace stowage
