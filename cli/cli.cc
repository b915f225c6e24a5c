// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iterator>
#include <new>
#include <nlohmann/json.hpp>
#include <ostream>
#include <stdexcept>
#include <vector>

#include "base/text.h"
#include "cli/completion.h"
#include "cli/manual.h"
#include "cli/slips.h"
#include "stowage/error.h"
#include "stowage/version.h"

namespace stowage::cli {
namespace {

constexpr const char* kDescription =
    "Run neural networks on this device, and see where every tensor lies in memory.";

constexpr std::string_view kExitCodes[] = {"all went well",
                                           "a check failed",
                                           "the command line is wrong",
                                           "a file or an input is bad",
                                           "not supported",
                                           "a device failed",
                                           "a limit or the memory is exceeded",
                                           "a bug in Stowage"};

std::string footer() {
  std::string out = "Exit codes:\n";
  for (std::size_t code = 0; code < std::size(kExitCodes); ++code) {
    out += text("  ", code, "  ", kExitCodes[code], "\n");
  }
  return out + "\n'stowage COMMAND --help' tells about one command.";
}

int report(const Streams& streams, ErrorCode code, std::string_view sentence) {
  streams.out.flush();
  // On a terminal the caret under the offending place says more than words.
  const bool caret = streams.err_is_terminal && sentence.find("\n") != std::string_view::npos &&
                     sentence.find('^') != std::string_view::npos;
  if (caret) {
    streams.err << "stowage: this cannot be read:\n" << sentence << std::endl;
  } else {
    streams.err << "stowage: " << one_line(sentence) << std::endl;
  }
  return static_cast<int>(code);
}

/// What the definitions of the commands are good for beside parsing.
void add_definition_options(CLI::App& app, std::ostream& out) {
  app.add_option_function<std::string>(
         "--completion",
         [&app, &out](const std::string& shell) {
           out << completion(app, shell);
           throw CLI::Success();
         },
         "Print what completes commands and options in a shell")
      ->type_name("bash|zsh|fish")
      ->trigger_on_parse();
  app.add_option_function<std::string>(
         "--share",
         [&app](const std::string& folder) {
           write_man_pages(app, kExitCodes, folder + "/man/man1");
           write_completions(app, folder);
           throw CLI::Success();
         },
         "Write man pages and completion below this folder, as /usr/share has them")
      ->type_name("DIR")
      ->trigger_on_parse()
      ->group("");  // for the build
}

int dispatch(std::span<const std::string> arguments, const Streams& streams) {
  CLI::App app(kDescription, "stowage");
  app.footer(footer());
  app.require_subcommand(1);
  app.set_version_flag("--version", "stowage " STOWAGE_VERSION, "Print the version and leave");
  app.set_help_flag("-h,--help", "Print this help and leave");
  const Command commands[] = {
      add_run(app, streams),      add_info(app, streams),    add_plan(app, streams),
      add_bench(app, streams),    add_check(app, streams),   add_convert(app, streams),
      add_layout(app, streams),   add_devices(app, streams), add_calibrate(app, streams),
      add_selftest(app, streams),
  };
  add_definition_options(app, streams.out);
  try {
    // CLI11 takes them from the back.
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::Success& success) {  // --help, --version, --completion
    app.exit(success, streams.out, streams.err);
    return 0;
  } catch (const CLI::ParseError& error) {
    return report(streams, ErrorCode::usage, slip(app, arguments, error));
  }
  for (const Command& command : commands) {
    if (command.app->parsed()) return command.act();
  }
  return 0;
}

}  // namespace

std::string json_text(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string one_line(std::string_view sentence) {
  std::string told;
  const std::size_t line = sentence.find('\n');
  const std::size_t caret =
      sentence.find('^', line == std::string_view::npos ? sentence.size() : line);
  if (caret != std::string_view::npos) {
    // "n c/ h\n    ^ expected a number", perhaps followed by a trail, or by a line of advice.
    const std::size_t column = caret - line;
    const std::string_view why = sentence.substr(std::min(caret + 2, sentence.size()));
    const std::size_t end = std::min(why.find('\n'), why.size());
    told = text(why.substr(0, end), ", at column ", column, " of '", sentence.substr(0, line), "'",
                why.substr(end));
    sentence = told;
  }
  std::string out;
  for (const char c : sentence) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '\n') {
      out += "; ";
    } else if (code < 32 || code == 127) {
      out += fmt::format("\\x{:02x}", code);
    } else {
      out += c;
    }
  }
  return out;
}

int run_cli(std::span<const std::string> arguments, const Streams& streams) noexcept {
  try {
    try {
      const int code = dispatch(arguments, streams);
      streams.out.flush();
      if (code == 0 && !streams.out.good()) {
        return report(streams, ErrorCode::bad_input,
                      "cannot write to the standard output; is the disk full?");
      }
      return code;
    } catch (const Error& error) {
      return report(streams, error.code(), error.what());
    } catch (const std::bad_alloc&) {
      return report(streams, ErrorCode::limit, "out of memory; use a smaller model or input");
    } catch (const std::length_error&) {
      return report(streams, ErrorCode::limit, "a size exceeds what memory can hold");
    } catch (const std::exception& error) {
      return report(streams, ErrorCode::internal,
                    text("a bug in Stowage: ", error.what(), "; please report it"));
    }
  } catch (...) {
    return static_cast<int>(ErrorCode::internal);
  }
}

}  // namespace stowage::cli
