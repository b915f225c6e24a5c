// SPDX-License-Identifier: Apache-2.0
// Layouts as values: printing, renaming, dropping axes.
#include "stowage/layout.h"

#include <algorithm>

#include "base/text.h"
#include "layout/layout_parse.h"

namespace stowage {

namespace {

using Item = Layout::Item;

bool contains(std::span<const Axis> axes, Axis axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

void append_item(std::string& out, const Item& item) {
  switch (item.kind) {
    case Item::Kind::open:
      out += '(';
      return;
    case Item::Kind::close:
      out += ')';
      break;
    case Item::Kind::factor:
      out += item.axis.name();
      if (item.q != 1) out += text('/', item.q);
      if (item.m != 0) out += text('%', item.m);
      break;
  }
  if (item.align != 1) out += text('~', item.align, item.bytes ? "B" : "");
}

// The letters, then the factors; whether it says the same, the caller checks by parsing it.
std::string word_of(std::span<const Item> items) {
  std::string letters, factors;
  std::vector<Axis> blocked;
  for (const Item& item : items) {
    if (item.kind == Item::Kind::factor && item.m != 0) blocked.push_back(item.axis);
  }
  bool one_block = false;
  for (const Item& item : items) {
    if (item.kind != Item::Kind::factor || item.axis.name().size() != 1) return {};
    const char lower = item.axis.name()[0];
    if (item.m != 0) {
      factors += text(item.m, lower);
    } else {
      const bool capital = blocked.empty() || contains(blocked, item.axis);
      letters += capital ? static_cast<char>(lower - 'a' + 'A') : lower;
      if (item.align != 1) one_block = true;
    }
  }
  if (one_block) letters += std::to_string(items.back().align);
  return letters + factors;
}

}  // namespace

std::string_view space_name(Space space) noexcept {
  constexpr std::array<std::string_view, 4> kNames = {"mem", "y", "x", "lane"};
  return kNames[static_cast<std::size_t>(space)];
}

Layout Layout::row_major(std::span<const Axis> axes) {
  if (axes.size() > kMaxRank) {
    fail(ErrorCode::limit, "a layout of ", axes.size(), " axes; at most ", kMaxRank,
         " are supported");
  }
  std::string names;
  for (const Axis& axis : axes) names.append(names.empty() ? "" : " ").append(axis.name());
  LayoutParser build(names);
  for (const Axis& axis : axes) build.add_factor(axis, 1, 0);
  return build.finish();
}

Layout Layout::blocked(const Shape& shape, int blocked_axis, int block) {
  if (blocked_axis < 0 || blocked_axis >= shape.rank()) {
    fail(ErrorCode::usage, "axis ", blocked_axis, " is out of range for rank ", shape.rank());
  }
  if (block < 1) fail(ErrorCode::usage, "a block of ", block, " elements is not possible");
  if (block == 1) return row_major(shape);
  LayoutParser build("a blocked layout");
  for (int i = 0; i < shape.rank(); ++i) {
    build.add_factor(shape.axis(i), i == blocked_axis ? block : 1, 0);
  }
  build.add_factor(shape.axis(blocked_axis), 1, block);
  return build.finish();
}

std::string Layout::text() const {
  std::string out;
  for (Space space : spaces()) {
    if (!out.empty()) out += ' ';
    if (space != Space::mem) out.append(space_name(space)).append(":");
    const std::size_t start = out.size();
    bool tight = true;  // nothing, or '(', precedes
    for (const Item& item : items()) {
      if (item.space != space) continue;
      if (!tight && item.kind != Item::Kind::close) out += ' ';
      append_item(out, item);
      tight = item.kind == Item::Kind::open;
    }
    if (out.size() == start) out += "()";
  }
  return out;
}

std::string Layout::spelling() const {
  if (!is_image() && count_ > 0) {
    const std::string word = word_of(items());
    if (!word.empty()) {
      try {
        if (parse(word) == *this) return word;
      } catch (const Error&) {
        // No word says it: the long form does.
      }
    }
  }
  return text();
}

std::vector<Axis> Layout::axes() const {
  std::vector<Axis> out;
  for (const Item& item : items()) {
    if (item.kind == Item::Kind::factor && !contains(out, item.axis)) out.push_back(item.axis);
  }
  return out;
}

bool Layout::is_image() const noexcept { return spaces_[0] != Space::mem; }

Layout Layout::renamed(std::span<const Axis> from, std::span<const Axis> to) const {
  if (from.size() != to.size()) {
    fail(ErrorCode::usage, "renaming ", from.size(), " axes to ", to.size(), " names");
  }
  const auto new_name = [&](Axis axis) {
    const auto it = std::find(from.begin(), from.end(), axis);
    return it == from.end() ? axis : to[static_cast<std::size_t>(it - from.begin())];
  };
  const std::vector<Axis> old = axes();
  for (std::size_t i = 0; i < old.size(); ++i) {
    if (new_name(old[i]) == Axis()) {
      fail(ErrorCode::usage, "axis '", old[i].name(), "' of '", text(), "' gets an empty name");
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (new_name(old[i]) == new_name(old[j])) {
        fail(ErrorCode::usage, "axes '", old[j].name(), "' and '", old[i].name(), "' of '", text(),
             "' would both be called '", new_name(old[i]).name(), "'");
      }
    }
  }
  Layout out = *this;
  for (std::size_t i = 0; i < count_; ++i) {
    if (items_[i].kind == Item::Kind::factor) out.items_[i].axis = new_name(items_[i].axis);
  }
  return out;
}

Layout Layout::without(std::span<const Axis> axes) const {
  LayoutParser build("a layout without some axes");
  for (Space space : spaces()) {
    build.add_space(space);
    for (const Item& item : items()) {
      if (item.space != space) continue;
      if (item.kind == Item::Kind::factor && contains(axes, item.axis)) continue;
      build.add(item);
      build.drop_empty_group();
    }
  }
  return build.finish();
}

}  // namespace stowage
