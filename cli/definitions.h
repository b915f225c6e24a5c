// SPDX-License-Identifier: Apache-2.0
// What the commands are and take, read back from the parser: man pages, completion and sentences
// about slips are made of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace stowage::cli {

/// An option, or a positional argument.
struct Definition {
  std::vector<std::string> names;  ///< "-h", "--help"; of a positional argument "MODEL"
  std::string value;               ///< "FILE", "cpu|opencl[:N]"; empty: a flag
  std::string description;
  bool positional = false, required = false;
  bool repeated = false;  ///< may be given several times
};

Definition definition_of(const CLI::Option& option);

/// Of all that is not hidden, positional arguments first.
std::vector<Definition> definitions_of(const CLI::App& app);

/// In the order of --help.
std::vector<const CLI::App*> commands_of(const CLI::App& app);

/// The words of "cpu|opencl[:N]"; none where the value is no choice.
std::vector<std::string> choices_of(std::string_view value);

/// A file in a folder, which is made. Throws Error(bad_input).
void write_below(const std::string& folder, const std::string& name, std::string_view words);

}  // namespace stowage::cli
