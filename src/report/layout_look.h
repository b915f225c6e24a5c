// SPDX-License-Identifier: Apache-2.0
// How layouts look in pictures of a plan, and what their names say.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stowage {

/// The colour depends on the layout's text alone, so that it is the same in all pictures; the
/// pattern tells layouts apart that share a colour in one of them.
struct LayoutLook {
  std::string_view colour;  ///< "#56b4e9"
  std::string_view ink;     ///< black or white, whichever is legible on the colour
  int pattern = 0;          ///< of kLayoutPatterns; 0 is none

  friend bool operator==(const LayoutLook&, const LayoutLook&) = default;
};

inline constexpr int kLayoutPatterns = 8;

/// The colours of Okabe and Ito, which people tell apart whatever colours they see, and grey.
std::span<const LayoutLook> layout_colours();

/// The looks of the layouts of one picture, which differ as long as no more than kLayoutPatterns
/// share a colour.
std::vector<LayoutLook> layout_looks(std::span<const std::string> layouts);

/// What the name of a layout says, as plans spell it: its axes from the outermost to the
/// innermost, as "batch, blocks of 16 channels, row, column, the 16 channels of a block". Empty for
/// what is no layout.
std::string layout_meaning(std::string_view layout);

}  // namespace stowage
