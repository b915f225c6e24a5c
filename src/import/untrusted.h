// SPDX-License-Identifier: Apache-2.0
// What every reader asks of a file before it believes it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "stowage/model.h"

namespace stowage {

/// Throws Error(bad_input) when it cannot be opened, is no regular file or is empty, Error(limit)
/// when it is larger than `max_bytes` or than protobuf allows (2 GiB).
InputFile open_input(const std::string& path, std::int64_t max_bytes);
void check_size(const InputFile& file, std::int64_t max_bytes);

/// What a file may still ask for. Everything is counted before memory is taken for it.
class ImportBudget {
 public:
  explicit ImportBudget(const Limits& limits) : limits_(limits) {}

  const Limits& limits() const noexcept { return limits_; }

  /// A value of `bytes` bytes. Throws Error(limit).
  void take_value(const std::string& name, std::int64_t bytes);
  /// Lists and texts of attributes. Throws Error(limit).
  void take_bytes(std::int64_t bytes);
  void take_node();
  /// A name, an attribute or another small thing of which a file could hold millions.
  void take_entry();

 private:
  Limits limits_;
  std::int64_t bytes_ = 0, nodes_ = 0, entries_ = 0;
};

/// A name of a file: not over the limit, valid UTF-8, no control characters.
/// Throws Error(bad_input).
void check_name(const std::string& name);

}  // namespace stowage
