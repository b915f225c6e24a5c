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

/// A regular file, open for reading, or bytes in memory. Throws Error(bad_input) when it is
/// missing, a directory, unreadable or no regular file.
class InputFile {
 public:
  explicit InputFile(const std::string& path);
  /// Reads where the bytes lie; they must outlive it.
  InputFile(std::string name, std::span<const std::byte> bytes);
  /// The file that `other` calls `location`: a relative path to a file in the folder of `other` or
  /// beneath it. One that leads elsewhere is refused; symbolic links count as elsewhere. Bytes in
  /// memory have no folder: Error(unsupported).
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
  int fd_ = -1;  // negative: in memory
  const std::byte* bytes_ = nullptr;
  std::int64_t size_ = 0;
};

}  // namespace stowage
