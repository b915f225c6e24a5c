// SPDX-License-Identifier: Apache-2.0
#include "cli/rates.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

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

Rates rates_of(const Json& json) {
  Rates rates;
  for (const RateName& r : kRateNames) {
    if (!json.is_object() || !json.contains(r.name)) continue;
    const Json& item = json[r.name];
    const double value = item.is_number() ? item.get<double>() : 0;
    if (!std::isfinite(value) || value < 1e-6 || value > 1e9) {
      fail(ErrorCode::bad_input, "the rate '", r.name, "' is no positive number");
    }
    rates.*r.member = value;
  }
  return rates;
}

}  // namespace

std::span<const RateName> rate_names() { return kRateNames; }

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "CPU";
}

std::string rates_file() {
  const char* config = std::getenv("XDG_CONFIG_HOME");
  if (config != nullptr && *config != '\0') return text(config, "/stowage/rates.json");
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return text(home, "/.config/stowage/rates.json");
  return "";
}

Rates load_rates(const std::string& file) {
  if (file == "default") return {};
  const std::string path = file.empty() ? rates_file() : file;
  std::error_code ignored;
  if (file.empty() && (path.empty() || !std::filesystem::exists(path, ignored))) return {};
  const Trail trail("reading", path);
  const Json json = read_json(path);
  const auto found = json["machines"].find(machine_key());
  if (found != json["machines"].end()) return rates_of(*found);
  if (file.empty()) return {};
  fail(ErrorCode::bad_input, "there are no rates for this machine (", machine_key(),
       "); run 'stowage calibrate --rates ", file, "'");
}

void save_rates(const std::string& file, const Rates& rates) {
  const Trail trail("writing", file);
  Json json;
  std::error_code ignored;
  if (std::filesystem::exists(file, ignored)) json = read_json(file);
  Json& machine = json["machines"][machine_key()];
  for (const RateName& r : kRateNames) machine[r.name] = rates.*r.member;
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, ignored);
  OutputFile out(file);
  out.write(json_text(json) + "\n");
  out.commit();
}

}  // namespace stowage::cli
