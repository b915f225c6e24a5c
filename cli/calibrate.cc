// SPDX-License-Identifier: Apache-2.0
// stowage calibrate: what this machine does a second, for the planner.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/device.h"
#include "cli/rates.h"
#include "stowage/machine.h"

namespace stowage::cli {
namespace {

struct CalibrateOptions : DeviceArguments {
  std::string file;
  bool json = false, dry = false;
};

/// `names` says how the members of `rates` are called; `usual`: without measuring.
template <class Rates, class Names>
void print(const CalibrateOptions& options, Json json, const Rates& rates, const Rates& usual,
           const Names& names, std::ostream& out) {
  if (options.json) {
    for (const auto& r : names) json["rates"][r.name] = rates.*r.member;
    out << json_text(json) << "\n";
    return;
  }
  for (const auto& r : names) {
    out << fmt::format("{:26} {:9.2f} {:8} {} (built in: {:g})\n", r.name, rates.*r.member, r.unit,
                       r.meaning, usual.*r.member);
  }
}

int run(CalibrateOptions options, std::ostream& out) {
  check_device(options, false);
  const std::string file = options.file.empty() ? rates_file() : options.file;
  if (file.empty() && !options.dry) {
    fail(ErrorCode::usage, "there is no home to keep the rates in; use --rates FILE");
  }
  open_device(options);
  Json json;
  if (options.opened == nullptr) {
    const Rates rates = measure_rates();
    if (!options.dry) save_rates(file, rates);
    json["machine"] = processor_name();
    print(options, std::move(json), rates, Rates{}, rate_names(), out);
  } else {
    const DeviceFacts& facts = options.opened->facts();
    const DeviceRates rates = measure_device_rates(options.opened);
    if (!options.dry) save_device_rates(file, facts, rates);
    json["device"] = facts.name;
    json["driver"] = facts.driver;
    print(options, std::move(json), rates, facts.rates, device_rate_names(), out);
  }
  if (!options.dry && !options.json) out << "kept in " << one_line(file) << "\n";
  return 0;
}

}  // namespace

Command add_calibrate(CLI::App& app, const Streams& streams) {
  auto options = std::make_shared<CalibrateOptions>();
  CLI::App* command =
      app.add_subcommand("calibrate", "Measure this machine or a device for the planner");
  command->footer(
      "It takes about a second, for a device a few. The rates are kept by machine, or by device "
      "and\n"
      "driver, in XDG_CONFIG_HOME/stowage/rates.json (~/.config unless set) and used by run,\n"
      "plan, bench and check from then on; '--rates default' does without them.");
  command
      ->add_option("--device", options->device, "What to measure: cpu (the default) or opencl[:N]")
      ->type_name("cpu|opencl[:N]");
  command->add_option("--rates", options->file, "Keep them in this file")->type_name("FILE");
  command->add_flag("--dry-run", options->dry, "Measure and print, keep nothing");
  command->add_flag("--json", options->json, "Print JSON and nothing else");
  std::ostream& out = streams.out;
  return {command, [options, &out] { return run(*options, out); }};
}

}  // namespace stowage::cli
