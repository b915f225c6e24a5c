// SPDX-License-Identifier: Apache-2.0
#include "cli/definitions.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/text.h"
#include "cli/io/file.h"

namespace stowage::cli {

Definition definition_of(const CLI::Option& option) {
  Definition d;
  d.description = option.get_description();
  d.positional = option.get_positional();
  d.required = option.get_required();
  d.repeated = option.get_items_expected_max() >= CLI::detail::expected_max_vector_size;
  if (d.positional) {
    d.names.push_back(option.get_name(true, false));
    return d;
  }
  for (const std::string& name : option.get_snames()) d.names.push_back(text("-", name));
  for (const std::string& name : option.get_lnames()) d.names.push_back(text("--", name));
  if (option.get_type_size() != 0) d.value = option.get_type_name();
  return d;
}

std::vector<Definition> definitions_of(const CLI::App& app) {
  std::vector<Definition> out;
  for (const bool positional : {true, false}) {
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_positional() != positional || option->get_group().empty()) continue;
      out.push_back(definition_of(*option));
    }
  }
  return out;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands(std::function<bool(const CLI::App*)>());
}

std::vector<std::string> choices_of(std::string_view value) {
  std::vector<std::string> out;
  if (value.find('|') == value.npos || value.find('=') != value.npos) return out;
  while (!value.empty()) {
    const std::size_t end = std::min(value.find('|'), value.size());
    const std::string_view word = value.substr(0, end);
    out.emplace_back(word.substr(0, std::min(word.find('['), word.size())));
    value.remove_prefix(std::min(end + 1, value.size()));
  }
  return out;
}

void write_below(const std::string& folder, const std::string& name, std::string_view words) {
  std::error_code ignored;  // OutputFile tells why a file cannot be written
  std::filesystem::create_directories(folder, ignored);
  OutputFile file(text(folder, "/", name));
  file.write(words);
  file.commit();
}

}  // namespace stowage::cli
