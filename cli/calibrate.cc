// SPDX-License-Identifier: Apache-2.0
// stowage calibrate: what this machine does a second, for the planner.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/model.h"
#include "cli/rates.h"
#include "stowage/machine.h"

namespace stowage::cli {
namespace {

struct CalibrateOptions {
  std::string file;
  bool json = false, dry = false;
};

int run(const CalibrateOptions& options, std::ostream& out) {
  const std::string file = options.file.empty() ? rates_file() : options.file;
  if (file.empty() && !options.dry) {
    fail(ErrorCode::usage, "there is no home to keep the rates in; use --rates FILE");
  }
  const Rates rates = measure_rates(), usual;
  if (!options.dry) save_rates(file, rates);
  if (options.json) {
    Json json;
    json["machine"] = processor_name();
    for (const RateName& r : rate_names()) json["rates"][r.name] = rates.*r.member;
    out << json_text(json) << "\n";
    return 0;
  }
  for (const RateName& r : rate_names()) {
    out << fmt::format("{:26} {:9.2f} {:8} {} (built in: {:g})\n", r.name, rates.*r.member, r.unit,
                       r.meaning, usual.*r.member);
  }
  if (!options.dry) out << "kept in " << one_line(file) << "\n";
  return 0;
}

}  // namespace

Command add_calibrate(CLI::App& app, const Streams& streams) {
  auto options = std::make_shared<CalibrateOptions>();
  CLI::App* command =
      app.add_subcommand("calibrate", "Measure this machine for the planner, in about a second");
  command->footer(
      "The rates are kept by machine in XDG_CONFIG_HOME/stowage/rates.json (~/.config unless set)\n"
      "and used by run, plan and bench from then on; '--rates default' does without them.");
  command->add_option("--rates", options->file, "Keep them in this file")->type_name("FILE");
  command->add_flag("--dry-run", options->dry, "Measure and print, keep nothing");
  command->add_flag("--json", options->json, "Print JSON and nothing else");
  std::ostream& out = streams.out;
  return {command, [options, &out] { return run(*options, out); }};
}

}  // namespace stowage::cli
