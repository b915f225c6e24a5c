// SPDX-License-Identifier: Apache-2.0
#include "import/untrusted.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "base/checked.h"
#include "base/text.h"

namespace stowage {

namespace {

/// Protobuf counts the bytes of a file in an int.
constexpr std::int64_t kProtobufMaxBytes = std::numeric_limits<int>::max();

}  // namespace

void check_size(const InputFile& file, std::int64_t max_bytes) {
  const std::int64_t limit = std::min(max_bytes, kProtobufMaxBytes);
  if (file.size() == 0) fail(ErrorCode::bad_input, "the file '", file.path(), "' is empty");
  if (file.size() > limit) {
    fail(ErrorCode::limit, "the file '", file.path(), "' has ", file.size(),
         " bytes, over the limit of ", limit);
  }
}

InputFile open_input(const std::string& path, std::int64_t max_bytes) {
  InputFile file(path);
  check_size(file, max_bytes);
  return file;
}

void ImportBudget::take_value(const std::string& name, std::int64_t bytes) {
  if (bytes > limits_.tensor_bytes) {
    fail(ErrorCode::limit, "the value '", name, "' has ", bytes, " bytes, over the limit of ",
         limits_.tensor_bytes);
  }
  take_bytes(bytes);
}

void ImportBudget::take_bytes(std::int64_t bytes) {
  bytes_ = checked_add(bytes_, bytes);
  if (bytes_ > limits_.total_bytes) {
    fail(ErrorCode::limit, "the values of the model have more than ", limits_.total_bytes,
         " bytes, the limit");
  }
}

void ImportBudget::take_node() {
  if (++nodes_ > limits_.nodes) {
    fail(ErrorCode::limit, "the model has more than ", limits_.nodes, " nodes, the limit");
  }
}

void ImportBudget::take_entry() {
  const std::int64_t most = std::int64_t{32} * limits_.nodes + 256;
  if (++entries_ > most) {
    fail(ErrorCode::limit, "the model has more than ", most, " names and attributes, the limit");
  }
}

void check_name(const std::string& name) {
  const auto bad = [] {
    fail(ErrorCode::bad_input, "a name has control characters or is not UTF-8");
  };
  for (std::size_t i = 0; i < name.size();) {
    const auto c = static_cast<unsigned char>(name[i]);
    if (c < 0x20 || c == 0x7f) bad();
    const int more = c < 0x80 ? 0 : c >= 0xc2 && c < 0xe0 ? 1 : (c & 0xf0) == 0xe0 ? 2 : 3;
    if (c >= 0x80 && (c < 0xc2 || c > 0xf4)) bad();
    std::uint32_t point = more == 0 ? c : c & (0x3fu >> more);
    for (int k = 1; k <= more; ++k) {
      if (i + static_cast<std::size_t>(k) >= name.size()) bad();
      const auto next = static_cast<unsigned char>(name[i + static_cast<std::size_t>(k)]);
      if ((next & 0xc0) != 0x80) bad();
      point = point << 6 | (next & 0x3f);
    }
    const bool overlong = (more == 2 && point < 0x800) || (more == 3 && point < 0x10000);
    if (overlong || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) bad();
    i += static_cast<std::size_t>(more) + 1;
  }
}

}  // namespace stowage
