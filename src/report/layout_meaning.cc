// SPDX-License-Identifier: Apache-2.0
// A layout's expression in words.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "report/layout_look.h"
#include "stowage/error.h"
#include "stowage/layout.h"

namespace stowage {
namespace {

using Item = Layout::Item;

struct AxisWord {
  char letter;
  std::string_view one, many;
};

constexpr AxisWord kAxisWords[] = {
    {'n', "batch", "batch elements"},
    {'c', "channel", "channels"},
    {'d', "depth", "planes"},
    {'h', "row", "rows"},
    {'w', "column", "columns"},
    {'o', "output channel", "output channels"},
    {'i', "input channel", "input channels"},
    {'m', "multiplier", "channels of an input channel"},
};

const AxisWord* word_of(Axis axis) {
  const auto* at = std::find_if(std::begin(kAxisWords), std::end(kAxisWords), [&](const auto& w) {
    return axis.name() == std::string_view(&w.letter, 1);
  });
  return at == std::end(kAxisWords) ? nullptr : at;
}

/// Letters of axes that no operator named may happen to be c or d: where one axis has no word, the
/// others have none either, and c and d alone are no names.
bool has_words(const std::vector<Axis>& axes) {
  const auto named = [](Axis axis) { return word_of(axis) != nullptr; };
  const auto telling = [](Axis axis) { return axis.name() != "c" && axis.name() != "d"; };
  return std::all_of(axes.begin(), axes.end(), named) &&
         std::any_of(axes.begin(), axes.end(), telling);
}

std::string one(Axis axis, bool words) {
  return std::string(words ? word_of(axis)->one : axis.name());
}

std::string many(Axis axis, bool words) {
  return std::string(words ? word_of(axis)->many : axis.name());
}

std::string factor_words(const Item& item, bool words) {
  std::string out;
  if (item.q > 1 && item.m == 0) {
    out = text("blocks of ", item.q, " ", many(item.axis, words));
  } else if (item.q == 1 && item.m == 1) {
    return "";  // one element a block is no block
  } else if (item.q == 1 && item.m > 1) {
    out = text("the ", item.m, " ", many(item.axis, words), " of a block");
  } else if (item.m > 0) {
    out = text("groups of ", item.q, " ", many(item.axis, words), " in a block");
  } else {
    out = one(item.axis, words);
  }
  if (item.align > 1) out += text(" (rounded up to ", item.align, " with zeros)");
  return out;
}

/// Items from `begin` on, to the next space: from the outermost to the innermost.
std::string order_words(std::span<const Item> items, bool words) {
  std::string out;
  for (const Item& item : items) {
    if (item.kind == Item::Kind::open) continue;
    if (item.kind == Item::Kind::close) {
      if (item.align > 1) {
        out += text(" (these together padded to a multiple of ", item.align,
                    item.bytes ? " bytes)" : " elements)");
      }
      continue;
    }
    const std::string next = factor_words(item, words);
    if (!next.empty()) out += (out.empty() ? "" : ", ") + next;
  }
  return out;
}

std::string image_words(const Layout& layout, bool words) {
  std::string out;
  for (const Space space : layout.spaces()) {
    const auto items = layout.items();
    const auto of = [&](const Item& item) { return item.space == space; };
    const auto begin = std::find_if(items.begin(), items.end(), of);
    const auto end = std::find_if_not(begin, items.end(), of);
    const std::string inside =
        order_words(items.subspan(static_cast<std::size_t>(begin - items.begin()),
                                  static_cast<std::size_t>(end - begin)),
                    words);
    const std::string_view what = space == Space::y   ? "rows of the image: "
                                  : space == Space::x ? "across: "
                                                      : "in a texel: ";
    out += text(out.empty() ? "" : "; ", what, inside.empty() ? "one" : inside);
  }
  return out;
}

std::string meaning(const Layout& layout) {
  const bool words = has_words(layout.axes());
  if (layout.is_image()) return image_words(layout, words);
  if (layout.items().empty()) return "one element";
  const std::string order = order_words(layout.items(), words);
  if (words) return order;
  const bool single = layout.axes().size() == 1;
  return text(single ? "axis " : "axes ", order, "; no operator names ", single ? "it" : "them");
}

}  // namespace

std::string layout_meaning(std::string_view spelled) {
  // "nChw16c in a buffer, f16"
  std::string_view place, type;
  if (const std::size_t comma = spelled.find(", "); comma != std::string_view::npos) {
    type = spelled.substr(comma + 2);
    spelled = spelled.substr(0, comma);
  }
  for (const std::string_view where : {" in a buffer", " in an image"}) {
    if (!spelled.ends_with(where)) continue;
    place = where;
    spelled.remove_suffix(where.size());
  }
  Layout layout;
  try {
    layout = Layout::parse(spelled);
  } catch (const Error&) {
    return "";
  }
  std::string out = meaning(layout);
  if (!place.empty()) out += text("; ", place.substr(1), " of the device");
  if (!type.empty()) out += text("; stored as ", type);
  for (const NamedLayout& named : layout_catalog()) {
    if (named.name == spelled && !named.note.empty()) return text(out, " (", named.note, ")");
  }
  return out;
}

}  // namespace stowage
