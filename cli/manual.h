// SPDX-License-Identifier: Apache-2.0
// Man pages, made of the definitions of the commands.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace stowage::cli {

/// The page of one command, or of the program where `command` is `app`, for man(7).
/// `exit_codes[i]` is what the exit code i means.
std::string man_page(const CLI::App& app, const CLI::App& command,
                     std::span<const std::string_view> exit_codes);

/// stowage.1, stowage-run.1 and so on in `folder`, which is made. Throws Error(bad_input).
void write_man_pages(const CLI::App& app, std::span<const std::string_view> exit_codes,
                     const std::string& folder);

}  // namespace stowage::cli
