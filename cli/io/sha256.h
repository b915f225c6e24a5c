// SPDX-License-Identifier: Apache-2.0
// SHA-256 of a file.
#pragma once

#include <string>

namespace stowage::cli {

/// 64 hexadecimal digits in lower case. Throws Error(bad_input) when the file cannot be read.
std::string sha256_of_file(const std::string& path);

}  // namespace stowage::cli
