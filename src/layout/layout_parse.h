// SPDX-License-Identifier: Apache-2.0
// Reading a layout: the long form, the known spellings, the names of the catalogue.
#pragma once

#include <string>
#include <string_view>

#include "stowage/layout.h"

namespace stowage {

/// What to say of a word that is no layout: "did you mean NHWC? docs/layouts.md lists the names".
std::string layout_hint(std::string_view word);

/// Builds a Layout item by item; finish() checks that the digits of each axis are complete.
class LayoutParser {
 public:
  /// `source` is what error sentences quote.
  explicit LayoutParser(std::string_view source) : source_(source) {}

  /// `y:(n h) x:(c/4 w) lane:c%4`
  Layout long_form();

  /// `NCHW`, `nChw16c`, `NCHW4c`, `NC4HW4`, `NHWC4`, `OIhw4i16o4i`
  Layout word();

  void add_space(Space space);
  void add(const Layout::Item& item);
  void add_factor(Axis axis, std::int64_t q, std::int64_t m, std::int64_t align = 1);

  /// Removes the `open` before and the `close` at the end when nothing lies between and the
  /// group does not align: `()` is one cell, whatever surrounds it.
  void drop_empty_group();

  /// Throws Error(usage) when the digits of an axis overlap or leave one out.
  Layout finish();

 private:
  struct Letter {
    Axis axis;
    bool capital = false;
    std::int64_t block = 0;  ///< the number that follows it: C4 in NC4HW4
  };

  void skip_blanks();

  bool at_end() const { return pos_ == source_.size(); }

  bool accept(char c);
  std::int64_t number(std::string_view after);
  void label_or_factor();
  void close_group();
  void word_with_blocks(const std::array<Letter, kMaxRank>& letters, std::size_t rank,
                        std::int64_t trailing);
  void word_with_factors(const std::array<Letter, kMaxRank>& letters, std::size_t rank,
                         std::int64_t first_factor);

  std::string_view source_;
  std::size_t pos_ = 0;
  std::size_t depth_ = 0;
  bool labelled_ = false;
  bool empty_space_ = true;  ///< nothing was written for the current coordinate yet
  Space space_ = Space::mem;
  Layout layout_;
};

}  // namespace stowage
