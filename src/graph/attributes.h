// SPDX-License-Identifier: Apache-2.0
// Attributes of a node: names and typed values, with getters that check the type.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/numbers.h"
#include "stowage/tensor.h"

namespace stowage {

class Archive;

using Attribute = std::variant<std::int64_t, float, std::string, Ints, Floats,
                               std::vector<std::string>, std::shared_ptr<const Tensor>>;

/// The getters throw Error(bad_input) when the attribute exists with another type, and return
/// `otherwise` when it does not exist.
class Attributes {
 public:
  bool has(std::string_view name) const { return map_.find(name) != map_.end(); }

  void set(std::string_view name, Attribute value) {
    map_.insert_or_assign(std::string(name), std::move(value));
  }

  void erase(std::string_view name);

  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  float real(std::string_view name, float otherwise) const;
  std::string string(std::string_view name, std::string_view otherwise) const;
  Ints integers(std::string_view name, const Ints& otherwise = {}) const;
  Floats reals(std::string_view name, const Floats& otherwise = {}) const;
  /// Null when it does not exist.
  std::shared_ptr<const Tensor> tensor(std::string_view name) const;

  const std::map<std::string, Attribute, std::less<>>& map() const { return map_; }

  void fields(Archive& a);

 private:
  std::map<std::string, Attribute, std::less<>> map_;
};

}  // namespace stowage
