// SPDX-License-Identifier: Apache-2.0
// A folder of what is made once for a device: built programs, measured groups. Each file holds its
// whole key: what does not match to the byte, is damaged or of another version is as good as
// missing, and is written anew.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace stowage {

class ProgramCache {
 public:
  /// `folder` is made where it is missing; empty: nothing is kept. Throws Error(bad_input) when it
  /// cannot be made or is a file.
  explicit ProgramCache(std::string folder);

  bool used() const noexcept { return !folder_.empty(); }

  /// Empty where there is none.
  std::vector<std::byte> read(const std::string& key) const;
  /// Under a name of its own at first, then renamed: readers and other writers see whole files.
  /// What cannot be written is left out, for a cache only saves time.
  void write(const std::string& key, std::span<const std::byte> binary) const;
  /// Where it lies.
  std::string path(const std::string& key) const;

 private:
  std::string folder_;
};

}  // namespace stowage
