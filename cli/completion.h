// SPDX-License-Identifier: Apache-2.0
// Completion of commands, options and their values in a shell.
#pragma once

#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace stowage::cli {

/// A script for bash, zsh or fish, made of the definitions of the commands. It needs nothing but
/// the shell. Throws Error(usage) for another shell.
std::string completion(const CLI::App& app, std::string_view shell);

/// That of each shell where it looks for it below a folder such as /usr/share. Throws
/// Error(bad_input).
void write_completions(const CLI::App& app, const std::string& folder);

}  // namespace stowage::cli
