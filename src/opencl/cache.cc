// SPDX-License-Identifier: Apache-2.0
#include "opencl/cache.h"

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/text.h"

namespace stowage {

namespace {

constexpr std::string_view kMagic = "stowage program 1\n";
/// A damaged length must not become an allocation of any size.
constexpr std::int64_t kMostBytes = std::int64_t{256} << 20;

/// FNV-1a of 64 bits (Fowler, Noll, Vo; draft-eastlake-fnv). It finds damage and names files; that
/// two keys are the same is decided by their bytes.
std::uint64_t fnv(std::string_view bytes, std::uint64_t hash = 0xcbf29ce484222325u) {
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

std::string hex(std::uint64_t v) {
  std::string out(16, '0');
  for (std::size_t i = 16; i-- > 0; v >>= 4) out[i] = "0123456789abcdef"[v & 15];
  return out;
}

void append_number(std::string& out, std::uint64_t v) {
  for (int i = 0; i < 8; ++i, v >>= 8) out += static_cast<char>(v & 255);
}

std::string_view chars(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Magic, size of the key, key, size of the binary; the binary and a checksum follow.
std::string head(const std::string& key, std::size_t binary_bytes) {
  std::string out(kMagic);
  append_number(out, key.size());
  out += key;
  append_number(out, binary_bytes);
  return out;
}

}  // namespace

ProgramCache::ProgramCache(std::string folder) : folder_(std::move(folder)) {
  if (folder_.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (!error && !std::filesystem::is_directory(folder_, error) && !error) {
    error = std::make_error_code(std::errc::not_a_directory);
  }
  if (error) {
    fail(ErrorCode::bad_input, "the folder '", folder_,
         "' for built programs cannot be made: ", error.message());
  }
}

std::string ProgramCache::path(const std::string& key) const {
  return text(folder_, '/', hex(fnv(key)), hex(fnv(key, fnv("stowage"))), ".clbin");
}

std::vector<std::byte> ProgramCache::read(const std::string& key) const {
  if (!used()) return {};
  try {
    const InputFile file(path(key));
    const auto head_bytes = static_cast<std::int64_t>(head(key, 0).size());
    const std::int64_t binary_bytes = file.size() - head_bytes - 8;
    if (binary_bytes <= 0 || binary_bytes > kMostBytes) return {};
    const std::string expected = head(key, static_cast<std::size_t>(binary_bytes));
    std::vector<std::byte> all(static_cast<std::size_t>(file.size()));
    file.read(0, all);
    const std::span<const std::byte> bytes(all);
    if (chars(bytes.first(expected.size())) != expected) return {};
    std::string checksum;
    append_number(checksum, fnv(chars(bytes.first(bytes.size() - 8))));
    if (chars(bytes.last(8)) != checksum) return {};
    const auto binary = bytes.subspan(expected.size(), static_cast<std::size_t>(binary_bytes));
    return {binary.begin(), binary.end()};
  } catch (const Error&) {
    return {};
  }
}

void ProgramCache::write(const std::string& key, std::span<const std::byte> binary) const {
  if (!used() || binary.empty()) return;
  std::string all = head(key, binary.size());
  all += chars(binary);
  append_number(all, fnv(all));
  // Unique among the threads of a process and the processes of a machine.
  static std::atomic<unsigned> counter{0};
  const std::string to = path(key);
  const std::string part = text(to, '.', getpid(), '.', counter++, ".part");
  std::ofstream file(part, std::ios::binary);
  file.write(all.data(), static_cast<std::streamsize>(all.size()));
  file.close();
  std::error_code error;
  if (file) std::filesystem::rename(part, to, error);
  if (!file || error) std::filesystem::remove(part, error);
}

}  // namespace stowage
