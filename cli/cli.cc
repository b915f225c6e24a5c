// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>
#include <ostream>
#include <stdexcept>
#include <vector>

#include "base/text.h"
#include "stowage/error.h"

#ifndef STOWAGE_VERSION
#define STOWAGE_VERSION "0.1.0"
#endif

namespace stowage::cli {
namespace {

constexpr const char* kDescription =
    "Stowage runs neural networks on this device, and shows where every tensor lies in memory.";

constexpr const char* kFooter =
    "Exit codes: 0 all went well, 1 a check failed, 2 the command line is wrong, 3 a file or an\n"
    "input is bad, 4 not supported, 5 a device failed, 6 a limit or the memory is exceeded, 7 a\n"
    "bug in Stowage.\n"
    "'stowage COMMAND --help' tells about one command.";

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

std::string no_command(const std::string& first, std::span<const Command> commands) {
  std::string names;
  for (const Command& command : commands) {
    names += text(names.empty() ? "" : ", ", command.app->get_name());
  }
  return text(first.empty() ? "there is nothing to do" : text("there is no command '", first, "'"),
              "; choose one of ", names, ", or --help");
}

int dispatch(std::vector<std::string> arguments, const Streams& streams) {
  CLI::App app(kDescription, "stowage");
  app.footer(kFooter);
  app.require_subcommand(1);
  app.set_version_flag("--version", "stowage " STOWAGE_VERSION, "Print the version and leave");
  app.set_help_flag("-h,--help", "Print this help and leave");
  const Command commands[] = {
      add_run(app, streams),      add_info(app, streams),    add_plan(app, streams),
      add_bench(app, streams),    add_check(app, streams),   add_convert(app, streams),
      add_layout(app, streams),   add_devices(app, streams), add_calibrate(app, streams),
      add_selftest(app, streams),
  };
  const std::string first = arguments.empty() ? "" : arguments.front();
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::Success& success) {  // --help, --version
    app.exit(success, streams.out, streams.err);
    return 0;
  } catch (const CLI::ParseError& error) {
    const Command* chosen = std::find_if(std::begin(commands), std::end(commands),
                                         [](const Command& c) { return c.app->parsed(); });
    if (chosen == std::end(commands)) {
      return report(streams, ErrorCode::usage, no_command(first, commands));
    }
    return report(streams, ErrorCode::usage,
                  text(error.what(), "; 'stowage ", chosen->app->get_name(),
                       " --help' tells what is understood"));
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
    // "n c/ h\n    ^ expected a number", perhaps followed by a trail.
    const std::size_t column = caret - line;
    told = text(sentence.substr(std::min(caret + 2, sentence.size())), ", at column ", column,
                " of '", sentence.substr(0, line), "'");
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
      const int code = dispatch({arguments.begin(), arguments.end()}, streams);
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
