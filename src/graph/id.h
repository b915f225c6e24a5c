// SPDX-License-Identifier: Apache-2.0
// Numbers that name things. One goes where an int is wanted, for they index arrays; an int, or the
// number of another kind of thing, does not go where one is wanted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/archive.h"

namespace stowage {

template <class Tag>
class Id {
 public:
  constexpr Id() = default;  ///< of nothing: -1

  constexpr explicit Id(int number) : number_(number) {}

  constexpr operator int() const { return number_; }  // NOLINT: an index

  constexpr Id& operator++() {
    ++number_;
    return *this;
  }

 private:
  int number_ = -1;
};

template <class Tag>
void archive(Archive& a, Id<Tag>& id) {
  std::int64_t number = id;
  a.integer(number);
  if (a.reading()) id = Id<Tag>(static_cast<int>(number));
}

}  // namespace stowage

template <class Tag>
struct std::hash<stowage::Id<Tag>> {
  std::size_t operator()(stowage::Id<Tag> id) const noexcept { return std::hash<int>()(id); }
};
