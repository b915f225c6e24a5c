// SPDX-License-Identifier: Apache-2.0
#include "cli/manual.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/text.h"
#include "cli/definitions.h"
#include "stowage/version.h"

namespace stowage::cli {
namespace {

/// Text as roff prints it: '-' is a minus, which can be searched and copied; a line that begins
/// like a request is none.
std::string escaped(std::string_view words) {
  std::string out;
  bool line_begins = true;
  for (const char c : words) {
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    line_begins = c == '\n';
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '\'') {
      out += "\\(aq";
    } else if (c == '^') {
      out += "\\(ha";
    } else if (c == '~') {
      out += "\\(ti";
    } else {
      out += c;
    }
  }
  return out;
}

std::string bold(std::string_view words) { return text("\\fB", escaped(words), "\\fR"); }

std::string italic(std::string_view words) { return text("\\fI", escaped(words), "\\fR"); }

/// One sentence a line, as man(7) wants it, each ended.
std::string paragraph(std::string_view words) {
  std::string flat(words);
  std::replace(flat.begin(), flat.end(), '\n', ' ');
  if (!flat.empty() && flat.back() != '.') flat += '.';
  for (std::size_t at = 0; (at = flat.find(". ", at)) != flat.npos; ++at) {
    const char next = flat[std::min(at + 2, flat.size() - 1)];
    if (next >= 'A' && next <= 'Z') flat[at + 1] = '\n';
  }
  return escaped(flat) + "\n";
}

/// "stowage-run"
std::string page_name(const CLI::App& app, const CLI::App& command) {
  return &command == &app ? app.get_name() : text(app.get_name(), "-", command.get_name());
}

std::string upper(std::string word) {
  for (char& c : word) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return word;
}

std::string lower_first(std::string words) {
  if (!words.empty() && words[0] >= 'A' && words[0] <= 'Z') {
    words[0] = static_cast<char>(words[0] - 'A' + 'a');
  }
  return words;
}

std::string synopsis(const CLI::App& app, const CLI::App& command) {
  std::string out = bold(app.get_name());
  if (&command == &app) {
    return text(out, " ", italic("COMMAND"), " [", italic("OPTIONS"), "]\n");
  }
  out += text(" ", bold(command.get_name()), " [", italic("OPTIONS"), "]");
  for (const Definition& d : definitions_of(command)) {
    if (!d.positional) continue;
    const std::string name = italic(d.names[0]) + (d.repeated ? "..." : "");
    out += d.required ? " " + name : text(" [", name, "]");
  }
  return out + "\n";
}

std::string definitions(const CLI::App& command, bool positional) {
  std::string out;
  for (const Definition& d : definitions_of(command)) {
    if (d.positional != positional) continue;
    std::string names;
    for (const std::string& name : d.names) {
      names += text(names.empty() ? "" : ", ", positional ? italic(name) : bold(name));
    }
    out += text(".TP\n", names, d.value.empty() ? "" : " " + italic(d.value), "\n",
                paragraph(d.description));
  }
  return out;
}

}  // namespace

std::string man_page(const CLI::App& app, const CLI::App& command,
                     std::span<const std::string_view> exit_codes) {
  const bool whole = &command == &app;
  const std::string name = page_name(app, command);
  std::string description = command.get_description();
  if (!description.empty() && description.back() == '.') description.pop_back();
  std::string out =
      text(".\\\" Made by 'stowage --share'.\n.TH ", escaped(upper(name)), " 1 \"\" \"Stowage ",
           STOWAGE_VERSION, "\" \"Stowage\"\n.SH NAME\n", escaped(name), " \\- ",
           escaped(whole ? description : lower_first(description)), "\n.SH SYNOPSIS\n",
           synopsis(app, command), ".SH DESCRIPTION\n", paragraph(command.get_description()));
  if (!whole && !command.get_footer().empty()) {
    out += text(".PP\n", paragraph(command.get_footer()));
  }
  const std::string arguments = definitions(command, true);
  if (!arguments.empty()) out += text(".SH ARGUMENTS\n", arguments);
  if (whole) {
    out += ".SH COMMANDS\n";
    for (const CLI::App* one : commands_of(app)) {
      out += text(".TP\n\\fB", escaped(page_name(app, *one)), "\\fR(1)\n",
                  paragraph(one->get_description()));
    }
  }
  out += text(".SH OPTIONS\n", definitions(command, false), ".SH EXIT STATUS\n");
  for (std::size_t code = 0; code < exit_codes.size(); ++code) {
    out += text(".TP\n", bold(std::to_string(code)), "\n", paragraph(exit_codes[code]));
  }
  out += ".SH SEE ALSO\n";
  std::string others;
  const auto see = [&](const CLI::App& other) {
    if (&other == &command) return;
    others += text(others.empty() ? "" : ",\n", "\\fB", escaped(page_name(app, other)), "\\fR(1)");
  };
  see(app);
  for (const CLI::App* one : commands_of(app)) see(*one);
  return out + others + "\n";
}

void write_man_pages(const CLI::App& app, std::span<const std::string_view> exit_codes,
                     const std::string& folder) {
  std::vector<const CLI::App*> all = commands_of(app);
  all.push_back(&app);
  for (const CLI::App* command : all) {
    write_below(folder, page_name(app, *command) + ".1", man_page(app, *command, exit_codes));
  }
}

}  // namespace stowage::cli
