// SPDX-License-Identifier: Apache-2.0
// YAML as a tree with line numbers, within bounds that untrusted files cannot exceed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stowage::cli {

inline constexpr std::int64_t kMaxYamlBytes = 1 << 20;
inline constexpr int kMaxYamlDepth = 16;
inline constexpr int kMaxYamlNodes = 1 << 14;

struct YamlNode {
  enum class Kind { null, scalar, list, map };
  Kind kind = Kind::null;
  int line = 1;                 ///< of the key where there is one
  std::string text;             ///< of a scalar
  std::string key;              ///< of a member of a map
  std::vector<YamlNode> items;  ///< of a list or a map, in the order of the file
};

/// One document; empty files are null. There are no anchors and aliases, no key twice, nothing but
/// plain keys. Throws Error(bad_input) that says "FILE:LINE: why", Error(limit).
YamlNode read_yaml(const std::string& file);

}  // namespace stowage::cli
