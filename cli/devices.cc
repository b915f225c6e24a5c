// SPDX-License-Identifier: Apache-2.0
// stowage devices: where a model can run.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "base/cpus.h"
#include "cli/cli.h"
#include "cli/opencl.h"
#include "cli/rates.h"
#include "stowage/error.h"
#include "stowage/machine.h"

namespace stowage::cli {
namespace {

/// The instruction set whose kernels run, by the lanes that dispatch chose.
std::string instruction_set([[maybe_unused]] int lanes) {
#if defined(__x86_64__) || defined(__i386__)
  return lanes >= 16 ? "AVX-512" : lanes >= 8 ? "AVX2" : "SSE4";
#elif defined(__aarch64__)
  return "NEON";
#else
  return lanes > 1 ? "SIMD" : "scalar";
#endif
}

struct OpenCl {
  std::vector<DeviceFacts> devices;
  std::vector<std::string> skipped;  ///< platforms and devices, and why
  std::string none;                  ///< why there are none
};

OpenCl find_opencl() {
  OpenCl opencl;
  try {
    opencl.devices = list_opencl({}, &opencl.skipped);
  } catch (const Error& e) {
    opencl.skipped.clear();  // the sentence has them
    opencl.none = e.sentence();
  }
  return opencl;
}

std::string text_of(std::size_t number, const DeviceFacts& facts) {
  constexpr int kMegabyte = 20, kKilobyte = 10;  // powers of 2
  const std::string images =
      facts.images ? fmt::format("images up to {}x{}", facts.image_width, facts.image_height)
                   : "no images";
  return fmt::format("opencl:{}  {}, {}, {}, {} MB{}, {} KB local\n", number, facts.name,
                     facts.driver, images, facts.memory_bytes >> kMegabyte,
                     facts.unified ? " shared with the CPU" : "", facts.local_bytes >> kKilobyte);
}

Json json_of(std::size_t number, const DeviceFacts& facts) {
  Json out;
  out["device"] = fmt::format("opencl:{}", number);
  out["name"] = facts.name;
  out["driver"] = facts.driver;
  out["images"] = facts.images;
  out["image_width"] = facts.image_width;
  out["image_height"] = facts.image_height;
  out["allocation_bytes"] = facts.allocation_bytes;
  out["memory_bytes"] = facts.memory_bytes;
  out["alignment"] = facts.alignment;
  out["group_items"] = facts.group_items;
  out["local_bytes"] = facts.local_bytes;
  out["unified"] = facts.unified;
  const DeviceRates measured = load_device_rates("", facts);
  Json& rates = out["rates"];
  for (const DeviceRateName& r : device_rate_names()) rates[r.name] = measured.*r.member;
  return out;
}

int run(bool json, std::ostream& out) {
  const int threads = available_cpus();
  const int lanes = vector_lanes();
  const std::string set = instruction_set(lanes);
  const OpenCl opencl = find_opencl();
  if (!json) {
    out << fmt::format("cpu  {}, {}, {} f32 lanes, {} thread{}\n", processor_name(), set, lanes,
                       threads, threads == 1 ? "" : "s");
    for (std::size_t i = 0; i < opencl.devices.size(); ++i) out << text_of(i, opencl.devices[i]);
    for (const std::string& why : opencl.skipped) out << "opencl  " << one_line(why) << "\n";
    if (!opencl.none.empty()) out << "opencl  none: " << one_line(opencl.none) << "\n";
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
  for (std::size_t i = 0; i < opencl.devices.size(); ++i) {
    all["devices"].push_back(json_of(i, opencl.devices[i]));
  }
  if (!opencl.skipped.empty()) all["opencl_skipped"] = opencl.skipped;
  if (!opencl.none.empty()) all["opencl_none"] = opencl.none;
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
