// SPDX-License-Identifier: Apache-2.0
#include "graph/attributes.h"

#include "base/text.h"
#include "kernels/kernel.h"

namespace stowage {

namespace {

template <class T>
const T* find(const Attributes& attrs, std::string_view name, std::string_view wanted) {
  const auto it = attrs.map().find(name);
  if (it == attrs.map().end()) return nullptr;
  const T* value = std::get_if<T>(&it->second);
  if (value == nullptr) {
    fail(ErrorCode::bad_input, "attribute '", name, "' must be ", wanted);
  }
  return value;
}

}  // namespace

void Attributes::erase(std::string_view name) {
  const auto it = map_.find(name);
  if (it != map_.end()) map_.erase(it);
}

std::int64_t Attributes::integer(std::string_view name, std::int64_t otherwise) const {
  const auto* v = find<std::int64_t>(*this, name, "an integer");
  return v == nullptr ? otherwise : *v;
}

float Attributes::real(std::string_view name, float otherwise) const {
  const auto* v = find<float>(*this, name, "a number");
  return v == nullptr ? otherwise : *v;
}

std::string Attributes::string(std::string_view name, std::string_view otherwise) const {
  const auto* v = find<std::string>(*this, name, "a string");
  return v == nullptr ? std::string(otherwise) : *v;
}

Ints Attributes::integers(std::string_view name, const Ints& otherwise) const {
  const auto* v = find<Ints>(*this, name, "a list of integers");
  return v == nullptr ? otherwise : *v;
}

Floats Attributes::reals(std::string_view name, const Floats& otherwise) const {
  const auto* v = find<Floats>(*this, name, "a list of numbers");
  return v == nullptr ? otherwise : *v;
}

std::shared_ptr<const Tensor> Attributes::tensor(std::string_view name) const {
  const auto* v = find<std::shared_ptr<const Tensor>>(*this, name, "a tensor");
  return v == nullptr ? nullptr : *v;
}

namespace {

/// Makes `value` the alternative number `index`.
template <std::size_t I = 0>
void choose(Attribute& value, std::size_t index) {
  if constexpr (I < std::variant_size_v<Attribute>) {
    if (index != I) return choose<I + 1>(value, index);
    value.emplace<I>();
  } else {
    fail(ErrorCode::bad_input, "an attribute of the kind ", index);
  }
}

}  // namespace

void Attributes::fields(Archive& a) {
  std::vector<std::pair<std::string, Attribute>> list(map_.begin(), map_.end());
  list.resize(a.begin_list(list.size()));
  for (auto& [name, value] : list) {
    std::size_t kind = value.index();
    a("name", name)("kind", kind);
    if (a.reading()) choose(value, kind);
    std::visit([&](auto& v) { a("value", v); }, value);
    if (a.reading()) set(name, std::move(value));
  }
  a.end_list();
}

}  // namespace stowage
