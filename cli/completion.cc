// SPDX-License-Identifier: Apache-2.0
#include "cli/completion.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/text.h"
#include "cli/definitions.h"
#include "stowage/layout.h"

namespace stowage::cli {
namespace {

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string out;
  for (const std::string& word : words) out += text(out.empty() ? "" : between, word);
  return out;
}

/// What a value can be, where it is neither a file nor free.
std::vector<std::string> values_of(const Definition& d) {
  const std::string& kind = d.positional ? d.names[0] : d.value;
  if (kind != "LAYOUT") return choices_of(kind);
  std::vector<std::string> names;
  for (const NamedLayout& named : layout_catalog()) names.emplace_back(named.name);
  return names;
}

bool is_folder(const Definition& d) { return (d.positional ? d.names[0] : d.value) == "DIR"; }

bool is_file(const Definition& d) {
  const std::string& kind = d.positional ? d.names[0] : d.value;
  return is_folder(d) || kind == "MODEL" || kind == "IN" || kind == "OUT" || kind == "FILE" ||
         kind.ends_with("=FILE");
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::App* command : commands_of(app)) out.push_back(command->get_name());
  return out;
}

/// The beginning of a description, without what would need an escape.
std::string brief(std::string_view description) {
  for (const std::string_view end : {". ", "; ", ": ", " (", ", such as", ".\n"}) {
    description = description.substr(0, description.find(end));
  }
  std::string out;
  for (const char c : description) {
    if (std::string_view("'\"`\\$[]:\n").find(c) == std::string_view::npos) out += c;
  }
  if (out.ends_with('.')) out.pop_back();
  return out;
}

// bash: the words of a line come in COMP_WORDS, where '=' is a word of its own.

constexpr std::string_view kBashBegin =
    R"(# Completion of stowage for bash. Made by 'stowage --completion bash'.
_stowage() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command='' i
  if [[ $word == = ]]; then
    word=''
  elif [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD-2]}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    if [[ ${COMP_WORDS[i]} != -* ]]; then
      command=${COMP_WORDS[i]}
      break
    fi
  done
  # Without an answer the shell completes names of files.
  COMPREPLY=()
  local options='' values=''
)";

constexpr std::string_view kBashEnd = R"(  if [[ -n $values ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
  elif [[ $word == -* || -z $command ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
  fi
}
complete -o default -F _stowage stowage
)";

std::string bash_command(const CLI::App& command) {
  std::vector<std::string> options;
  std::string cases, words;
  for (const Definition& d : definitions_of(command)) {
    const std::vector<std::string> values = values_of(d);
    if (d.positional) {
      if (!values.empty()) words = joined(values, " ");
      continue;
    }
    options.insert(options.end(), d.names.begin(), d.names.end());
    if (d.value.empty()) continue;
    // Those without choices are named, too, so that no layout is offered behind them.
    if (!values.empty() || !words.empty()) {
      cases += text("        ", joined(d.names, "|"), ") values='", joined(values, " "), "' ;;\n");
    }
  }
  if (!words.empty()) {
    cases += text("        *) [[ $word == -* ]] || values='", words, "' ;;\n");
  }
  std::string out = text("      options='", joined(options, " "), "'\n");
  if (!cases.empty()) out += text("      case $before in\n", cases, "      esac\n");
  return out;
}

std::string bash(const CLI::App& app) {
  std::string out(kBashBegin);
  out += "  case $command in\n";
  out += text("    '')\n", bash_command(app), "      options+=' ", joined(command_names(app), " "),
              "'\n      ;;\n");
  for (const CLI::App* command : commands_of(app)) {
    out += text("    ", command->get_name(), ")\n", bash_command(*command), "      ;;\n");
  }
  return text(out, "  esac\n", kBashEnd);
}

// zsh: _arguments takes '--name[what it is]:what follows:how to complete that'.

std::string zsh_action(const Definition& d) {
  const std::vector<std::string> values = values_of(d);
  if (!values.empty()) return text("(", joined(values, " "), ")");
  return is_folder(d) ? "_files -/" : is_file(d) ? "_files" : " ";
}

std::string zsh_arguments(const CLI::App& command) {
  std::string out = "      _arguments";
  for (const Definition& d : definitions_of(command)) {
    const std::string what = brief(d.positional ? d.names[0] : d.value);
    if (d.positional) {
      out += text(" \\\n        '",
                  d.repeated   ? "*:"
                  : d.required ? ":"
                               : "::",
                  what, ":", zsh_action(d), "'");
      continue;
    }
    for (const std::string& name : d.names) {
      out += text(" \\\n        '", d.repeated ? "*" : "", name, "[", brief(d.description), "]");
      if (!d.value.empty()) out += text(":", what, ":", zsh_action(d));
      out += "'";
    }
  }
  return out + "\n";
}

std::string zsh(const CLI::App& app) {
  std::string out =
      "#compdef stowage\n# Completion of stowage for zsh. Made by 'stowage --completion zsh'.\n"
      "_stowage() {\n"
      "  if (( CURRENT == 2 )); then\n"
      "    local -a commands=(\n";
  for (const CLI::App* command : commands_of(app)) {
    out += text("      '", command->get_name(), ":", brief(command->get_description()), "'\n");
  }
  out += text("    )\n    _describe command commands\n", zsh_arguments(app),
              "    return\n  fi\n  local command=${words[2]}\n  shift words\n"
              "  (( CURRENT-- ))\n  case $command in\n");
  for (const CLI::App* command : commands_of(app)) {
    out += text("    ", command->get_name(), ")\n", zsh_arguments(*command), "      ;;\n");
  }
  return out +
         "  esac\n}\n"
         "if [[ $funcstack[1] == _stowage ]]; then\n  _stowage \"$@\"\nelse\n"
         "  compdef _stowage stowage\nfi\n";
}

// fish: a line for each option.

std::string fish_options(const CLI::App& command, std::string_view when) {
  std::string out;
  for (const Definition& d : definitions_of(command)) {
    const std::vector<std::string> values = values_of(d);
    if (d.positional) {
      if (!values.empty()) {
        out += text("complete -c stowage -n '", when, "' -f -a '", joined(values, " "), "'\n");
      }
      continue;
    }
    out += text("complete -c stowage -n '", when, "'");
    for (const std::string& name : d.names) {
      out += name.starts_with("--") ? text(" -l ", name.substr(2)) : text(" -s ", name.substr(1));
    }
    if (!d.value.empty()) out += is_file(d) ? " -r -F" : " -x";
    if (!values.empty()) out += text(" -a '", joined(values, " "), "'");
    out += text(" -d '", brief(d.description), "'\n");
  }
  return out;
}

std::string fish(const CLI::App& app) {
  constexpr std::string_view kFirst = "__fish_use_subcommand";
  std::string out = "# Completion of stowage for fish. Made by 'stowage --completion fish'.\n";
  for (const CLI::App* command : commands_of(app)) {
    out += text("complete -c stowage -n ", kFirst, " -f -a ", command->get_name(), " -d '",
                brief(command->get_description()), "'\n");
  }
  out += fish_options(app, kFirst);
  for (const CLI::App* command : commands_of(app)) {
    out += fish_options(*command, text("__fish_seen_subcommand_from ", command->get_name()));
  }
  return out;
}

}  // namespace

std::string completion(const CLI::App& app, std::string_view shell) {
  if (shell == "bash") return bash(app);
  if (shell == "zsh") return zsh(app);
  if (shell == "fish") return fish(app);
  fail(ErrorCode::usage, "--completion '", shell, "' is unknown; choose bash, zsh or fish");
}

void write_completions(const CLI::App& app, const std::string& folder) {
  write_below(folder + "/bash-completion/completions", "stowage", bash(app));
  write_below(folder + "/zsh/site-functions", "_stowage", zsh(app));
  write_below(folder + "/fish/vendor_completions.d", "stowage.fish", fish(app));
}

}  // namespace stowage::cli
