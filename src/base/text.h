// SPDX-License-Identifier: Apache-2.0
// text(a, b, c): the parts joined, for error sentences. (The core library has no fmt.)
#pragma once

#include <concepts>
#include <span>
#include <string>
#include <string_view>

#include "stowage/error.h"

namespace stowage {

inline void append_text(std::string& out, std::string_view s) { out += s; }

inline void append_text(std::string& out, char c) { out += c; }

template <std::integral T>
void append_text(std::string& out, T v) {
  out += std::to_string(v);
}

template <std::floating_point T>
void append_text(std::string& out, T v) {
  out += std::to_string(v);
}

/// "[1, 3, 224, 224]"
template <std::integral T, std::size_t N>
void append_text(std::string& out, std::span<T, N> list) {
  out += '[';
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0) out += ", ";
    append_text(out, list[i]);
  }
  out += ']';
}

template <class... Parts>
std::string text(const Parts&... parts) {
  std::string out;
  (append_text(out, parts), ...);
  return out;
}

/// Throws Error(code) with the joined parts.
template <class... Parts>
[[noreturn]] void fail(ErrorCode code, const Parts&... parts) {
  throw Error(code, text(parts...));
}

}  // namespace stowage
