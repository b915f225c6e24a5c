// SPDX-License-Identifier: Apache-2.0
// Files in, checked before they are believed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace stowage {

/// What an errno means, in words.
std::string reason_of(int error);

/// A regular file, open for reading. Throws Error(bad_input) when it is missing, a directory,
/// unreadable or no regular file.
class InputFile {
 public:
  explicit InputFile(const std::string& path);
  /// The file that `other` calls `location`: a relative path to a file in the folder of `other` or
  /// beneath it. One that leads elsewhere is refused; symbolic links count as elsewhere.
  InputFile(const InputFile& other, const std::string& location);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;

  const std::string& path() const noexcept { return path_; }

  std::int64_t size() const noexcept { return size_; }

  /// Fills `into` from `offset`. Throws Error(bad_input) when the file ends before.
  void read(std::int64_t offset, std::span<std::byte> into) const;

 private:
  /// Takes over `fd`, or the errno that came instead; throws unless it is a regular file.
  void adopt(int fd);

  std::string path_;
  int fd_ = -1;
  std::int64_t size_ = 0;
};

}  // namespace stowage
