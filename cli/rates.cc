// SPDX-License-Identifier: Apache-2.0
#include "cli/rates.h"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"
#include "base/trail.h"
#include "cli/user_file.h"
#include "stowage/machine.h"

namespace stowage::cli {
namespace {

constexpr RateName kRateNames[] = {
    {"gflops_per_lane", &Rates::gflops_per_lane, "GFLOP/s", "a convolution, one lane"},
    {"kernel_gb_per_s", &Rates::kernel_gb_per_s, "GB/s", "an elementwise kernel"},
    {"memory_gb_per_s", &Rates::memory_gb_per_s, "GB/s", "weights that no cache holds"},
    {"cached_mb", &Rates::cached_mb, "MB", "weights that the next run finds in a cache"},
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
    {"winograd_compute", &DeviceRates::winograd_compute, "x gflops", "a Winograd convolution"},
};

/// Rates belong to a processor and the width of its vectors.
std::string machine_key() { return text(processor_name(), ", ", vector_lanes(), " lanes"); }

Json read_json(const std::string& file) {
  return read_user_file(file, "machines",
                        "this is no file of rates; 'stowage calibrate' writes one");
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
  if (file.empty() && !is_there(path)) return {};
  return read_json(path);
}

ConversionTuning read_conversions(const Json& kept) {
  const Json ahead = kept.is_object() ? kept.value("prefetch_for_write", Json()) : Json();
  const Json streams = kept.is_object() ? kept.value("streams", Json()) : Json();
  const Json past = kept.is_object() ? kept.value("non_temporal", Json(false)) : Json();
  if (!ahead.is_boolean() || !past.is_boolean() || !streams.is_number_integer() || streams < 0 ||
      streams > kMostStreams) {
    fail(ErrorCode::bad_input, "'conversions' takes prefetch_for_write and non_temporal, true or ",
         "false, and streams, from 0 to ", kMostStreams);
  }
  return {.prefetch_for_write = ahead.get<bool>(),
          .streams = streams.get<int>(),
          .non_temporal = past.get<bool>()};
}

/// Of a file that may not be there yet.
Json json_to_change(const std::string& file) {
  if (is_there(file)) return read_json(file);
  Json json;
  json["machines"] = Json::object();
  return json;
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

std::string rates_file() { return user_path("XDG_CONFIG_HOME", ".config", "rates.json"); }

MachineRates load_rates(const std::string& file) {
  MachineRates out;
  if (file == "default") return out;
  const std::optional<Json> json = find_json(file);
  if (!json.has_value()) return out;
  const std::string path = file.empty() ? rates_file() : file;
  const Trail trail("reading", path);
  const auto found = (*json)["machines"].find(machine_key());
  if (found != (*json)["machines"].end()) {
    read_rates(*found, kRateNames, out.rates);
    if (found->is_object() && found->contains("conversions"))
      out.conversions = read_conversions((*found)["conversions"]);
  } else if (!file.empty() && !json->contains("devices")) {
    fail(ErrorCode::bad_input, "there are no rates for this machine (", machine_key(),
         "); run 'stowage calibrate --rates ", file, "'");
  }
  return out;
}

Json json_of(const ConversionTuning& tuning) {
  return {{"prefetch_for_write", tuning.prefetch_for_write},
          {"streams", tuning.streams},
          {"non_temporal", tuning.non_temporal}};
}

void save_rates(const std::string& file, const MachineRates& rates) {
  Json json = json_to_change(file);
  Json& machine = json["machines"][machine_key()];
  for (const RateName& r : kRateNames) machine[r.name] = rates.rates.*r.member;
  machine["conversions"] = json_of(rates.conversions);
  write_user_file(file, json);
}

DeviceRates load_device_rates(const std::string& file, const DeviceFacts& facts) {
  DeviceRates rates = facts.rates;
  if (file == "default") return rates;
  const std::optional<Json> json = find_json(file);
  const Json* found = json.has_value() ? device_entry(*json, facts) : nullptr;
  if (found == nullptr) return rates;
  const std::string path = file.empty() ? rates_file() : file;
  const Trail trail("reading", path);
  read_rates(*found, kDeviceRateNames, rates);
  return rates;
}

void save_device_rates(const std::string& file, const DeviceFacts& facts,
                       const DeviceRates& rates) {
  Json json = json_to_change(file);
  if (!json["devices"].is_object()) json["devices"] = Json::object();
  Json& device = json["devices"][device_key(facts)];
  for (const DeviceRateName& r : kDeviceRateNames) device[r.name] = rates.*r.member;
  write_user_file(file, json);
}

}  // namespace stowage::cli
