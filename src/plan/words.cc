// SPDX-License-Identifier: Apache-2.0
#include "plan/words.h"

#include <cstdio>

#include "base/text.h"

namespace stowage::plan {

std::string fixed(double value, int digits) {
  char buffer[64];
  std::snprintf(buffer, sizeof(buffer), "%.*f", digits, value);
  return buffer;
}

std::string time_of(double us) {
  if (us >= 1000) return fixed(us / 1000, 2) + " ms";
  return fixed(us, us < 10 ? 2 : 1) + " us";
}

std::string size_of(double bytes) {
  if (bytes < 1024) return fixed(bytes, 0) + " B";
  if (bytes < 1024 * 1024) return fixed(bytes / 1024, 1) + " KiB";
  return fixed(bytes / (1024 * 1024), 1) + " MiB";
}

std::string printable(std::string_view name) {
  constexpr std::size_t kMost = 200;
  std::string out;
  for (const char c : name.substr(0, kMost)) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 32 || code == 127) {
      char buffer[8];
      std::snprintf(buffer, sizeof(buffer), "\\x%02x", code);
      out += buffer;
    } else {
      out += c;
    }
  }
  if (name.size() > kMost) out += "...";
  return out;
}

std::string placed_layout(const Layout& layout, const Place& place) {
  std::string out = layout.spelling();
  for (const NamedLayout& named : layout_catalog()) {
    if (layout.is_image() && named.layout == out) out = named.name;
  }
  if (place.memory == Place::Memory::buffer) out += " in a buffer";
  if (place.memory == Place::Memory::image) out += " in an image";
  return out;
}

std::string stored_as(const std::string& layout, DType dtype) {
  return text(layout, ", ", dtype_name(dtype));
}

std::string layouts_of(const NodeReport& node) {
  const auto first = [](const std::vector<NodeReport::Operand>& list) {
    return list.empty() ? std::string("none") : list[0].layout;
  };
  return first(node.inputs) + " -> " + first(node.outputs);
}

}  // namespace stowage::plan
