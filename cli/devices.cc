// SPDX-License-Identifier: Apache-2.0
// stowage devices: where a model can run.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "base/cpus.h"
#include "cli/cli.h"
#include "cli/rates.h"
#include "stowage/machine.h"

namespace stowage::cli {
namespace {

/// The instruction set whose kernels run, by the lanes that dispatch chose.
std::string instruction_set(int lanes) {
#if defined(__x86_64__) || defined(__i386__)
  return lanes >= 16 ? "AVX-512" : lanes >= 8 ? "AVX2" : "SSE4";
#elif defined(__aarch64__)
  return lanes > 4 ? "SVE" : "NEON";
#else
  return lanes > 1 ? "SIMD" : "scalar";
#endif
}

int run(bool json, std::ostream& out) {
  const int threads = available_cpus();
  const int lanes = vector_lanes();
  const std::string set = instruction_set(lanes);
  if (!json) {
    out << fmt::format("cpu  {}, {}, {} f32 lanes, {} thread{}\n", processor_name(), set, lanes,
                       threads, threads == 1 ? "" : "s");
    return 0;
  }
  Json cpu;
  cpu["device"] = "cpu";
  cpu["name"] = processor_name();
  cpu["instruction_set"] = set;
  cpu["lanes"] = lanes;
  cpu["threads"] = threads;
  Json all;
  all["devices"] = Json::array({cpu});
  out << json_text(all) << "\n";
  return 0;
}

}  // namespace

Command add_devices(CLI::App& app, const Streams& streams) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("devices", "List the devices that can run a model");
  command->add_flag("--json", *json, "Print JSON and nothing else");
  std::ostream& out = streams.out;
  return {command, [json, &out] { return run(*json, out); }};
}

}  // namespace stowage::cli
