// SPDX-License-Identifier: Apache-2.0
#include "cli/rates.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"
#include "base/trail.h"
#include "cli/io/file.h"
#include "stowage/machine.h"

namespace stowage::cli {
namespace {

constexpr std::int64_t kMaxRatesFile = 1 << 20;

constexpr RateName kRateNames[] = {
    {"gflops_per_lane", &Rates::gflops_per_lane, "GFLOP/s", "a convolution, one lane"},
    {"kernel_gb_per_s", &Rates::kernel_gb_per_s, "GB/s", "an elementwise kernel"},
    {"copy_gb_per_s", &Rates::copy_gb_per_s, "GB/s", "a conversion that copies runs"},
    {"shuffle_gb_per_s", &Rates::shuffle_gb_per_s, "GB/s", "a conversion that transposes"},
    {"generic_gb_per_s", &Rates::generic_gb_per_s, "GB/s", "a conversion of single elements"},
    {"reference_elements_per_us", &Rates::reference_elements_per_us, "per us",
     "elements that a reference writes"},
    {"reference_gflops", &Rates::reference_gflops, "GFLOP/s", "a reference convolution"},
    {"call_us", &Rates::call_us, "us", "a step, whatever it does"},
};

constexpr DeviceRateName kDeviceRateNames[] = {
    {"gflops", &DeviceRates::gflops, "GFLOP/s", "a convolution"},
    {"gb_per_s", &DeviceRates::gb_per_s, "GB/s", "an elementwise kernel"},
    {"launch_us", &DeviceRates::launch_us, "us", "a kernel, whatever it does"},
    {"upload_gb_per_s", &DeviceRates::upload_gb_per_s, "GB/s", "from host memory"},
    {"download_gb_per_s", &DeviceRates::download_gb_per_s, "GB/s", "to host memory"},
    {"crossing_us", &DeviceRates::crossing_us, "us", "a transfer, whatever its size"},
    {"image_launch", &DeviceRates::image_launch, "x launch_us", "the same in images"},
    {"image_compute", &DeviceRates::image_compute, "x gflops", "a convolution of images"},
    {"image_bandwidth", &DeviceRates::image_bandwidth, "x gb_per_s",
     "an elementwise kernel of images"},
};

/// Rates belong to a processor and the width of its vectors.
std::string machine_key() { return text(processor_name(), ", ", vector_lanes(), " lanes"); }

Json read_json(const std::string& file) {
  const std::vector<std::byte> bytes = read_file(file, kMaxRatesFile);
  const auto* begin = reinterpret_cast<const char*>(bytes.data());
  Json json = Json::parse(begin, begin + bytes.size(), nullptr, false);
  if (!json.is_object() || !json.contains("machines") || !json["machines"].is_object()) {
    fail(ErrorCode::bad_input, "this is no file of rates; 'stowage calibrate' writes one");
  }
  return json;
}

/// What `json` has of them; the others stay.
template <class Rates, class Names>
void read_rates(const Json& json, const Names& names, Rates& rates) {
  for (const auto& r : names) {
    if (!json.is_object() || !json.contains(r.name)) continue;
    const Json& item = json[r.name];
    const double value = item.is_number() ? item.get<double>() : 0;
    if (!std::isfinite(value) || value < 1e-6 || value > 1e9) {
      fail(ErrorCode::bad_input, "the rate '", r.name, "' is no positive number");
    }
    rates.*r.member = value;
  }
}

/// The file that there is, and where it is not the user's own there may be none.
std::optional<Json> find_json(const std::string& file) {
  const std::string path = file.empty() ? rates_file() : file;
  std::error_code ignored;
  if (file.empty() && (path.empty() || !std::filesystem::exists(path, ignored))) return {};
  const Trail trail("reading", path);
  return read_json(path);
}

/// Of a file that may not be there yet.
Json json_to_change(const std::string& file) {
  std::error_code ignored;
  if (std::filesystem::exists(file, ignored)) return read_json(file);
  Json json;
  json["machines"] = Json::object();
  return json;
}

void write_json(const std::string& file, const Json& json) {
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, ignored);
  OutputFile out(file);
  out.write(json_text(json) + "\n");
  out.commit();
}

}  // namespace

std::span<const RateName> rate_names() { return kRateNames; }

std::span<const DeviceRateName> device_rate_names() { return kDeviceRateNames; }

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "CPU";
}

std::string user_path(const char* variable, std::string_view below_home, std::string_view name) {
  const char* folder = std::getenv(variable);
  if (folder != nullptr && *folder != '\0') return text(folder, "/stowage/", name);
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return text(home, "/", below_home, "/stowage/", name);
  return "";
}

std::string rates_file() { return user_path("XDG_CONFIG_HOME", ".config", "rates.json"); }

Rates load_rates(const std::string& file) {
  Rates rates;
  if (file == "default") return rates;
  const std::optional<Json> json = find_json(file);
  if (!json.has_value()) return rates;
  const std::string path = file.empty() ? rates_file() : file;
  const Trail trail("reading", path);
  const auto found = (*json)["machines"].find(machine_key());
  if (found != (*json)["machines"].end()) {
    read_rates(*found, kRateNames, rates);
  } else if (!file.empty() && !json->contains("devices")) {
    fail(ErrorCode::bad_input, "there are no rates for this machine (", machine_key(),
         "); run 'stowage calibrate --rates ", file, "'");
  }
  return rates;
}

void save_rates(const std::string& file, const Rates& rates) {
  const Trail trail("writing", file);
  Json json = json_to_change(file);
  Json& machine = json["machines"][machine_key()];
  for (const RateName& r : kRateNames) machine[r.name] = rates.*r.member;
  write_json(file, json);
}

std::string device_key(const DeviceFacts& facts) { return text(facts.name, ", ", facts.driver); }

DeviceRates load_device_rates(const std::string& file, const DeviceFacts& facts) {
  DeviceRates rates = facts.rates;
  if (file == "default") return rates;
  const std::optional<Json> json = find_json(file);
  if (!json.has_value() || !json->contains("devices")) return rates;
  const std::string path = file.empty() ? rates_file() : file;
  const Trail trail("reading", path);
  const Json& devices = (*json)["devices"];
  const auto found = devices.is_object() ? devices.find(device_key(facts)) : devices.end();
  if (found != devices.end()) read_rates(*found, kDeviceRateNames, rates);
  return rates;
}

void save_device_rates(const std::string& file, const DeviceFacts& facts,
                       const DeviceRates& rates) {
  const Trail trail("writing", file);
  Json json = json_to_change(file);
  if (!json["devices"].is_object()) json["devices"] = Json::object();
  Json& device = json["devices"][device_key(facts)];
  for (const DeviceRateName& r : kDeviceRateNames) device[r.name] = rates.*r.member;
  write_json(file, json);
}

}  // namespace stowage::cli
