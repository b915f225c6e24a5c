// SPDX-License-Identifier: Apache-2.0
// Command lines that the parser refuses, told with what would be right.
#pragma once

#include <span>
#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace stowage::cli {

/// One sentence for what `app` threw when it parsed `arguments`.
std::string slip(const CLI::App& app, std::span<const std::string> arguments,
                 const CLI::ParseError& error);

}  // namespace stowage::cli
