// SPDX-License-Identifier: Apache-2.0
#include "stowage/error.h"

#include "base/trail.h"

namespace stowage {

Error::Error(ErrorCode code, std::string sentence)
    : code_(code), sentence_(std::move(sentence)), trail_(Trail::text()) {
  what_ = sentence_;
  if (!trail_.empty()) what_ += " [" + trail_ + "]";
}

namespace {
thread_local const Trail* innermost = nullptr;
}  // namespace

Trail::Trail(std::string_view what, std::string_view name, std::string_view detail) noexcept
    : what_(what), name_(name), detail_(detail), outer_(innermost) {
  innermost = this;
}

Trail::~Trail() { innermost = outer_; }

std::string Trail::text() {
  std::string out;
  for (const Trail* t = innermost; t != nullptr; t = t->outer_) {
    if (!out.empty()) out += " < ";
    out += t->what_;
    if (!t->name_.empty()) out.append(" '").append(t->name_.substr(0, 200)).append("'");
    if (!t->detail_.empty()) out.append(" (").append(t->detail_.substr(0, 200)).append(")");
  }
  return out;
}

}  // namespace stowage
