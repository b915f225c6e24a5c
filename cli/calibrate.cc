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

std::string in_words(const ConversionTuning& tuning) {
  const ConversionTuning usual = default_conversion_tuning();
  const auto words = [](const ConversionTuning& t) {
    return fmt::format("{}, {}, {}",
                       t.streams > 0 ? std::string("a line of rows or columns at once")
                                     : std::string("all rows and columns of a block at once"),
                       t.prefetch_for_write ? "prefetch for write" : "no prefetch for write",
                       t.non_temporal ? "non-temporal stores beyond L2" : "plain stores");
  };
  return fmt::format("{} (built in for this processor: {})", words(tuning), words(usual));
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
    const ConversionTuning tuning = measure_conversion_tuning();
    set_conversion_tuning(tuning);  // rates of conversions are of those that will run
    const Rates rates = measure_rates();
    if (!options.dry) save_rates(file, {rates, tuning});
    json["machine"] = processor_name();
    json["conversions"] = json_of(tuning);
    print(options, std::move(json), rates, Rates{}, rate_names(), out);
    if (!options.json) out << "transpositions: " << in_words(tuning) << "\n";
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
      "It takes a few seconds: what kernels and conversions do in a second, and in which order\n"
      "transpositions walk memory fastest. It is kept by machine, or by device and driver, in\n"
      "XDG_CONFIG_HOME/stowage/rates.json (~/.config unless set) and used by run, plan, bench,\n"
      "check and convert from then on; '--rates default' does without it.");
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
