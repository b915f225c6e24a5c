// SPDX-License-Identifier: Apache-2.0
#include "cli/user_file.h"

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/trail.h"
#include "cli/io/file.h"

namespace stowage::cli {
namespace {

constexpr std::int64_t kMostBytes = 1 << 20;

}  // namespace

std::string user_path(const char* variable, std::string_view below_home, std::string_view name) {
  const char* folder = std::getenv(variable);
  if (folder != nullptr && *folder != '\0') return text(folder, "/stowage/", name);
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return text(home, "/", below_home, "/stowage/", name);
  return "";
}

bool is_there(const std::string& file) {
  std::error_code ignored;
  return !file.empty() && std::filesystem::exists(file, ignored);
}

Json read_user_file(const std::string& file, const char* member, const std::string& sentence) {
  const Trail trail("reading", file);
  const std::vector<std::byte> bytes = read_file(file, kMostBytes);
  const auto* begin = reinterpret_cast<const char*>(bytes.data());
  Json json = Json::parse(begin, begin + bytes.size(), nullptr, false);
  if (!json.is_object() || !json.contains(member) || !json[member].is_object()) {
    fail(ErrorCode::bad_input, sentence);
  }
  return json;
}

void write_user_file(const std::string& file, const Json& json) {
  const Trail trail("writing", file);
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder, ignored);
  OutputFile out(file);
  out.write(json_text(json) + "\n");
  out.commit();
}

std::string device_key(const DeviceFacts& facts) { return text(facts.name, ", ", facts.driver); }

const Json* device_entry(const Json& json, const DeviceFacts& facts) {
  const auto devices = json.find("devices");
  if (devices == json.end() || !devices->is_object()) return nullptr;
  const auto found = devices->find(device_key(facts));
  return found == devices->end() ? nullptr : &*found;
}

}  // namespace stowage::cli
