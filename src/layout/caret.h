// SPDX-License-Identifier: Apache-2.0
// A syntax error: the text, and below it a caret under the offending place.
#pragma once

#include <string>
#include <string_view>

#include "base/text.h"

namespace stowage {

[[noreturn]] inline void fail_at(std::string_view source, std::size_t pos, std::string_view why) {
  // One character a column, or the caret would point elsewhere.
  std::string line(source);
  for (char& c : line) {
    if (c < ' ' || c > '~') c = c == '\t' || c == '\n' || c == '\r' ? ' ' : '?';
  }
  fail(ErrorCode::usage, line, "\n", std::string(pos, ' '), "^ ", why);
}

}  // namespace stowage
