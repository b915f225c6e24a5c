// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace stowage {

/// What a kernel does beyond what its name says, in a phrase. Empty for one that is called as its
/// operator is and does just that.
std::string_view kernel_meaning(std::string_view kernel);

/// What keeps a kernel from the limits of the machine whatever its operands; empty for one that
/// reaches them.
std::string_view kernel_limit(std::string_view kernel);

/// Its results are sums of many products each: a convolution or a matrix product.
bool is_product(std::string_view kernel);

}  // namespace stowage
