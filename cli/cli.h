// SPDX-License-Identifier: Apache-2.0
// The program `stowage`: one function, so that tests can call it.
#pragma once

#include <functional>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace stowage::cli {

/// Where a command writes, and whether a person is looking.
struct Streams {
  std::ostream& out;
  std::ostream& err;
  bool out_is_terminal = false;
  bool err_is_terminal = false;
};

/// Parses, runs, and reports: 0, 1 when a check failed, else the code of the Error, whose sentence
/// goes to `err` in one line. Never throws.
int run_cli(std::span<const std::string> arguments, const Streams& streams) noexcept;

/// A command whose options have been declared; `act` runs it and returns 0 or 1.
struct Command {
  CLI::App* app = nullptr;
  std::function<int()> act;
};

// One a file of that name.
Command add_run(CLI::App& app, const Streams& streams);
Command add_info(CLI::App& app, const Streams& streams);
Command add_plan(CLI::App& app, const Streams& streams);
Command add_bench(CLI::App& app, const Streams& streams);
Command add_check(CLI::App& app, const Streams& streams);
Command add_convert(CLI::App& app, const Streams& streams);
Command add_layout(CLI::App& app, const Streams& streams);
Command add_devices(CLI::App& app, const Streams& streams);
Command add_calibrate(CLI::App& app, const Streams& streams);
Command add_selftest(CLI::App& app, const Streams& streams);

using Json = nlohmann::ordered_json;

/// Bytes that are no UTF-8 are replaced, never an exception. `indent` < 0: one line.
std::string json_text(const Json& json, int indent = 2);

/// One printable line: control characters escaped, and a text with a caret below it told in words.
std::string one_line(std::string_view sentence);

}  // namespace stowage::cli
