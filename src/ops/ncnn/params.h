// SPDX-License-Identifier: Apache-2.0
// The numbered parameters of an ncnn layer. They are attributes called "0", "1", ...: integers,
// reals, lists of either, texts. A binary .param does not say which: there all are integers, and
// the attribute "bits" says that they are to be read as what the layer wants.
#pragma once

#include <cstdint>
#include <string>

#include "graph/attributes.h"

namespace stowage {

/// The getters return `otherwise`, or an empty list, for a parameter that is not there, and throw
/// Error(bad_input) for one that is something else. Integers stand for reals and whole reals for
/// integers; ncnn itself would read the bits of one as the other.
class NcnnParams {
 public:
  /// Parameters of every layer: the shapes of its outputs as a hint, and a mask of features.
  static constexpr int kShapeHints = 30, kFeatureMask = 31;
  /// In a list it means: not said.
  static constexpr std::int64_t kNone = -233;

  explicit NcnnParams(const Attributes& attrs) : attrs_(&attrs), bits_(attrs.has("bits")) {}

  bool has(int id) const { return attrs_->has(std::to_string(id)); }

  std::int64_t integer(int id, std::int64_t otherwise) const;
  float real(int id, float otherwise) const;

  bool flag(int id, bool otherwise = false) const { return integer(id, otherwise) != 0; }

  /// One number is a list, too.
  Ints integers(int id) const;
  Floats reals(int id) const;

  /// A text; a number as the file spells it where that can be told.
  std::string words(int id) const;

  /// An integer of at least `least`. Throws Error(bad_input).
  std::int64_t count(int id, std::int64_t otherwise, std::int64_t least = 0) const;

 private:
  float as_real(int id, std::int64_t v) const;

  const Attributes* attrs_;
  bool bits_;
};

}  // namespace stowage
