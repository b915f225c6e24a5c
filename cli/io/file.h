// SPDX-License-Identifier: Apache-2.0
// Whole files in; files out, whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace stowage::cli {

/// The whole file. Throws Error(limit) above `limit` bytes.
std::vector<std::byte> read_file(const std::string& path, std::int64_t limit);

/// A file being written beside its final place. The constructor fails early when the place cannot
/// be written, `commit` renames; without a commit nothing is left behind. A path that exists and
/// is no regular file (a pipe, /dev/null) is written in place. Throws Error(bad_input).
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;

  const std::string& path() const { return path_; }

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  void commit();

 private:
  std::string path_, target_, temporary_;
  int fd_ = -1;
};

/// A file name made of a tensor name: letters, digits, '-', '_' and '.' stay, the rest becomes
/// '_', a leading dot too. Never empty, never a path.
std::string safe_file_name(std::string_view name);

/// safe_file_name of each, with "_2", "_3", ... where two would be the same, upper and lower case
/// taken as equal.
std::vector<std::string> safe_file_names(std::span<const std::string> names);

/// "png" of "a/b.PNG"; empty without an extension.
std::string extension_of(std::string_view path);

}  // namespace stowage::cli
