// SPDX-License-Identifier: Apache-2.0
#include "ops/ncnn/params.h"

#include <bit>
#include <cmath>

#include "base/text.h"

namespace stowage {

namespace {

const Attribute* find(const Attributes& attrs, int id) {
  const auto at = attrs.map().find(std::to_string(id));
  return at == attrs.map().end() ? nullptr : &at->second;
}

[[noreturn]] void refuse(int id, std::string_view wanted) {
  fail(ErrorCode::bad_input, "parameter ", id, " is no ", wanted);
}

std::int64_t as_integer(int id, float v) {
  if (!(std::fabs(v) <= 0x1p31f) || std::nearbyint(v) != v) {
    fail(ErrorCode::bad_input, "parameter ", id, " is ", v, ", not an integer");
  }
  return static_cast<std::int64_t>(v);
}

}  // namespace

/// Above 2^24 an integer is no exact float; converters write lists of reals as such bits.
float NcnnParams::as_real(int id, std::int64_t v) const {
  constexpr std::int64_t kExact = 1 << 24;
  const bool bits = bits_ || v > kExact || v < -kExact;
  const float out =
      bits ? std::bit_cast<float>(static_cast<std::int32_t>(v)) : static_cast<float>(v);
  if (std::isnan(out)) fail(ErrorCode::bad_input, "parameter ", id, " is not a number");
  return out;
}

std::int64_t NcnnParams::integer(int id, std::int64_t otherwise) const {
  const Attribute* a = find(*attrs_, id);
  if (a == nullptr) return otherwise;
  if (const auto* v = std::get_if<std::int64_t>(a)) return *v;
  if (const auto* v = std::get_if<float>(a)) return as_integer(id, *v);
  refuse(id, "integer");
}

float NcnnParams::real(int id, float otherwise) const {
  const Attribute* a = find(*attrs_, id);
  if (a == nullptr) return otherwise;
  if (const auto* v = std::get_if<std::int64_t>(a)) return as_real(id, *v);
  if (const auto* v = std::get_if<float>(a)) return *v;
  refuse(id, "number");
}

Ints NcnnParams::integers(int id) const {
  const Attribute* a = find(*attrs_, id);
  if (a == nullptr) return {};
  if (const auto* list = std::get_if<Ints>(a)) return *list;
  if (const auto* list = std::get_if<Floats>(a)) {
    Ints out;
    for (const float v : *list) out.push_back(as_integer(id, v));
    return out;
  }
  return {integer(id, 0)};
}

Floats NcnnParams::reals(int id) const {
  const Attribute* a = find(*attrs_, id);
  if (a == nullptr) return {};
  if (const auto* list = std::get_if<Floats>(a)) return *list;
  if (const auto* list = std::get_if<Ints>(a)) {
    Floats out;
    for (const std::int64_t v : *list) out.push_back(as_real(id, v));
    return out;
  }
  return {real(id, 0)};
}

std::string NcnnParams::words(int id) const {
  const Attribute* a = find(*attrs_, id);
  if (a == nullptr) return "";
  if (const auto* v = std::get_if<std::string>(a)) return *v;
  if (const auto* v = std::get_if<std::int64_t>(a)) return std::to_string(*v);
  refuse(id, "text");
}

std::int64_t NcnnParams::count(int id, std::int64_t otherwise, std::int64_t least) const {
  const std::int64_t v = integer(id, otherwise);
  if (v < least) {
    fail(ErrorCode::bad_input, "parameter ", id, " is ", v, "; at least ", least, " is needed");
  }
  return v;
}

}  // namespace stowage
