// SPDX-License-Identifier: Apache-2.0
// stowage selftest: which kernels a device runs as the CPU does.
#include "cli/selftest.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/device.h"
#include "cli/rates.h"
#include "cli/user_file.h"

namespace stowage::cli {
namespace {

namespace fs = std::filesystem;

Json read_record(const std::string& file) {
  return read_user_file(
      file, "devices", "this is no record of failed kernels; delete it and run 'stowage selftest'");
}

struct SelftestOptions : DeviceArguments {
  SelftestOptions() {
    device = "opencl";
    fill_nan = true;
  }

  std::string rates;
  bool json = false, dry = false;
};

int run(SelftestOptions options, const Streams& streams) {
  check_device(options, false);
  expect_no_cpu(options);
  const std::string file = selftest_file(options.rates);
  if (file.empty() && !options.dry) {
    fail(ErrorCode::usage, "there is no home to keep the failures in; use --rates FILE");
  }
  open_device(options);
  const DeviceFacts& facts = options.opened->facts();
  const std::vector<KernelCheck> checks = selftest(options.opened);
  if (!options.dry) save_selftest(file, facts, checks);
  const auto failed =
      std::ranges::count_if(checks, [](const KernelCheck& c) { return !c.passed(); });
  std::ostream& out = streams.out;
  if (options.json) {
    Json json;
    json["device"] = facts.name;
    json["driver"] = facts.driver;
    json["kernels"] = Json::array();
    for (const KernelCheck& check : checks) {
      Json item;
      item["kernel"] = check.kernel;
      item["passed"] = check.passed();
      if (!check.passed()) item["problem"] = check.problem;
      json["kernels"].push_back(std::move(item));
    }
    out << json_text(json) << "\n";
    return failed == 0 ? 0 : 1;
  }
  for (const KernelCheck& check : checks) {
    out << (check.passed() ? "PASS " : "FAIL ") << check.kernel;
    if (!check.passed()) out << ": " << one_line(check.problem);
    out << "\n";
  }
  out << checks.size() - static_cast<std::size_t>(failed) << " passed, " << failed << " failed\n";
  if (!options.dry) out << "kept in " << one_line(file) << "\n";
  return failed == 0 ? 0 : 1;
}

}  // namespace

std::string selftest_file(const std::string& rates) {
  const std::string beside = rates.empty() || rates == "default" ? rates_file() : rates;
  return beside.empty() ? "" : fs::path(beside).replace_filename("selftest.json").string();
}

std::vector<std::string> failed_kernels(const std::string& rates, const DeviceFacts& facts) {
  const std::string file = selftest_file(rates);
  if (!is_there(file)) return {};
  const Json json = read_record(file);
  const Json* failed = device_entry(json, facts);
  if (failed == nullptr || !failed->is_object()) return {};
  std::vector<std::string> names;
  for (const auto& [kernel, problem] : failed->items()) names.push_back(kernel);
  return names;
}

void save_selftest(const std::string& file, const DeviceFacts& facts,
                   std::span<const KernelCheck> checks) {
  Json json;
  if (is_there(file)) json = read_record(file);
  Json failed = Json::object();
  for (const KernelCheck& check : checks) {
    if (!check.passed()) failed[check.kernel] = check.problem;
  }
  json["devices"][device_key(facts)] = std::move(failed);
  write_user_file(file, json);
}

Command add_selftest(CLI::App& app, const Streams& streams) {
  auto options = std::make_shared<SelftestOptions>();
  CLI::App* command =
      app.add_subcommand("selftest", "Compare every kernel of a device with the CPU");
  command->footer(
      "Small tensors in images and in buffers, stored as f32 and as f16. What failed is kept by\n"
      "device and driver in selftest.json beside the rates, and plans for that device avoid these\n"
      "kernels until a later selftest passes. The exit code is 1 when a kernel failed.");
  command->add_option("--device", options->device, "The device: opencl[:N] (default: opencl)")
      ->type_name("opencl[:N]");
  command
      ->add_option("--rates", options->rates,
                   "Keep what failed beside this file, as commands with the same --rates read it")
      ->type_name("FILE");
  command->add_flag("--dry-run", options->dry, "Test and print, keep nothing");
  command->add_flag("--json", options->json, "Print JSON and nothing else");
  const Streams where = streams;
  return {command, [options, where] { return run(*options, where); }};
}

}  // namespace stowage::cli
