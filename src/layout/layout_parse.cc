// SPDX-License-Identifier: Apache-2.0
// Reading a layout. Every number is bounded, every count is checked, nothing recurses.
#include "layout/layout_parse.h"

#include <algorithm>
#include <vector>

#include "base/checked.h"
#include "base/nearest.h"
#include "base/text.h"
#include "layout/caret.h"

namespace stowage {

namespace {

using Item = Layout::Item;

constexpr std::size_t kLongestText = 1000;
constexpr std::int64_t kLargestNumber = std::int64_t{1} << 31;

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_word(std::string_view s) {
  return std::any_of(s.begin(), s.end(), is_upper) && std::all_of(s.begin(), s.end(), [](char c) {
           return is_lower(c) || is_upper(c) || is_digit(c);
         });
}

std::string factor_text(const Item& f) {
  std::string out(f.axis.name());
  if (f.q != 1) out += text('/', f.q);
  if (f.m != 0) out += text('%', f.m);
  if (f.align != 1) out += text('~', f.align);
  return out;
}

std::string_view trimmed(std::string_view s) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = s.find_first_not_of(kBlanks);
  if (first == s.npos) return {};
  return s.substr(first, s.find_last_not_of(kBlanks) - first + 1);
}

/// A word that may have been meant as a name of the catalogue, and is no expression.
bool may_be_name(std::string_view s) {
  return s.size() > 1 && std::all_of(s.begin(), s.end(), [](char c) {
           return is_lower(c) || is_upper(c) || is_digit(c) || c == '-' || c == '_';
         });
}

}  // namespace

std::string layout_hint(std::string_view word) {
  std::vector<std::string_view> names;
  for (const NamedLayout& line : layout_catalog()) names.push_back(line.name);
  const std::string meant = did_you_mean(word, names);
  // "; did you mean NHWC?" without what joins it.
  return text(meant.empty() ? "" : meant.substr(2) + " ", "docs/layouts.md lists the names");
}

Layout Layout::parse(std::string_view source) {
  if (source.size() > kLongestText) {
    fail(ErrorCode::limit, "a layout of ", source.size(), " characters is too long; at most ",
         kLongestText, " are read");
  }
  const std::string_view name = trimmed(source);
  for (const NamedLayout& line : layout_catalog()) {
    if (line.name == name) return LayoutParser(line.layout).long_form();
  }
  try {
    return is_word(name) ? LayoutParser(name).word() : LayoutParser(source).long_form();
  } catch (const Error& error) {
    if (!may_be_name(name)) throw;
    fail(error.code(), error.sentence(), "\n", layout_hint(name));
  }
}

void LayoutParser::add_space(Space space) {
  if (space != Space::mem) {
    layout_.spaces_[labelled_ ? layout_.space_count_++ : 0] = space;
    labelled_ = true;
  }
  space_ = space;
  empty_space_ = true;
}

void LayoutParser::add(const Item& item) {
  if (layout_.count_ == Layout::kMaxItems) {
    fail(ErrorCode::limit, "the layout '", source_.substr(0, 60),
         "...' is too long: factors and parentheses are limited to ", Layout::kMaxItems);
  }
  layout_.items_[layout_.count_] = item;
  layout_.items_[layout_.count_++].space = space_;
  empty_space_ = false;
}

void LayoutParser::add_factor(Axis axis, std::int64_t q, std::int64_t m, std::int64_t align) {
  Item item;
  item.axis = axis;
  item.q = q;
  item.m = m;
  item.align = align;
  add(item);
}

void LayoutParser::drop_empty_group() {
  if (layout_.count_ < 2) return;
  Item& close = layout_.items_[layout_.count_ - 1];
  Item& open = layout_.items_[layout_.count_ - 2];
  if (close.kind != Item::Kind::close || open.kind != Item::Kind::open || close.align != 1) return;
  open = close = Item();
  layout_.count_ -= 2;
}

Layout LayoutParser::finish() {
  std::array<const Item*, Layout::kMaxItems> factors{};
  std::size_t count = 0, digits = 0;
  for (const Item& item : layout_.items()) {
    if (item.kind != Item::Kind::factor) continue;
    ++digits;
    if (item.m != 1) factors[count++] = &item;  // %1 is the empty digit
  }
  if (digits > kMaxDigits) {
    fail(ErrorCode::limit, source_, ": ", digits, " digits; at most ", kMaxDigits,
         " are supported");
  }
  for (std::size_t first = 0; first < count; ++first) {
    const Axis axis = factors[first]->axis;
    const auto same = [axis](const Item* f) { return f->axis == axis; };
    if (std::any_of(factors.begin(), factors.begin() + first, same)) continue;
    std::array<const Item*, Layout::kMaxItems> chain{};
    const auto end =
        std::copy_if(factors.begin() + first, factors.begin() + count, chain.begin(), same);
    std::stable_sort(chain.begin(), end, [](auto a, auto b) { return a->q < b->q; });
    std::int64_t q = 1;
    for (auto it = chain.begin(); it != end; ++it) {
      const Item& f = **it;
      const auto say = [&](const auto&... why) {
        fail(ErrorCode::usage, source_, ": dim '", axis.name(), "': ", why...);
      };
      if (f.q != q) {
        say("digit ", factor_text(f), " starts at stride ", f.q, ", expected ", q,
            f.q < q ? " (digits overlap)" : " (a digit is missing)");
      }
      if (it + 1 != end) {
        if (f.m == 0) {
          say(factor_text(f), " needs %m, because ", factor_text(**(it + 1)), " is above it");
        }
        if (f.align != 1) say("only the top digit may carry ~");
        q = checked_mul(q, f.m);
      } else if (f.m != 0) {
        say("top digit ", factor_text(f), " is bounded by %", f.m, "; the quotient ", axis.name(),
            "/", checked_mul(f.q, f.m), " is missing");
      }
    }
  }
  return layout_;
}

void LayoutParser::skip_blanks() {
  while (!at_end() && std::string_view(" \t\r\n").find(source_[pos_]) != std::string_view::npos) {
    ++pos_;
  }
}

bool LayoutParser::accept(char c) {
  if (at_end() || source_[pos_] != c) return false;
  ++pos_;
  return true;
}

std::int64_t LayoutParser::number(std::string_view after) {
  const std::size_t start = pos_;
  std::int64_t value = 0;
  for (; !at_end() && is_digit(source_[pos_]); ++pos_) {
    value = value * 10 + (source_[pos_] - '0');
    if (value > kLargestNumber) fail_at(source_, start, "this number exceeds 2^31");
  }
  if (pos_ == start) fail_at(source_, start, text("expected a number after ", after));
  if (value == 0) fail_at(source_, start, "this number must be at least 1");
  return value;
}

Layout LayoutParser::long_form() {
  skip_blanks();
  if (at_end()) fail_at(source_, pos_, "expected label, factor or group");
  while (!at_end()) {
    if (accept('(')) {
      Item open;
      open.kind = Item::Kind::open;
      add(open);
      ++depth_;
    } else if (source_[pos_] == ')') {
      close_group();
    } else if (is_lower(source_[pos_])) {
      label_or_factor();
    } else {
      fail_at(source_, pos_, "expected label, factor or group");
    }
    skip_blanks();
  }
  if (depth_ > 0) fail_at(source_, pos_, "missing )");
  if (empty_space_) fail_at(source_, pos_, "expected factor or group after the label");
  return finish();
}

void LayoutParser::label_or_factor() {
  const std::size_t start = pos_;
  while (!at_end() && is_lower(source_[pos_])) ++pos_;
  const std::string_view name = source_.substr(start, pos_ - start);
  if (accept(':')) {
    Space space = Space::mem;
    for (Space s : {Space::y, Space::x, Space::lane}) {
      if (name == space_name(s)) space = s;
    }
    if (space == Space::mem) fail_at(source_, start, "a label is y, x or lane");
    if (depth_ > 0) fail_at(source_, start, "label inside a group");
    if (labelled_ && empty_space_) fail_at(source_, start, "expected factor or group");
    if (!labelled_ && !empty_space_) {
      fail_at(source_, start, "what precedes the first label has no label");
    }
    for (Space s : layout_.spaces()) {
      if (s == space) fail_at(source_, start, "this label occurs twice");
    }
    add_space(space);
    return;
  }
  if (name.size() > 7) fail_at(source_, start, "the name of an axis has at most seven letters");
  const std::int64_t q = accept('/') ? number("'/'") : 1;
  const std::int64_t m = accept('%') ? number("'%'") : 0;
  const std::int64_t align = accept('~') ? number("'~'") : 1;
  if (!at_end() && source_[pos_] == 'B') {
    fail_at(source_, pos_, "only a group can be aligned to bytes, as in (h w)~16B");
  }
  if (m == 1 && align != 1) fail_at(source_, start, "the empty digit %1 cannot carry ~");
  add_factor(Axis(name), q, m, align);
}

void LayoutParser::close_group() {
  if (depth_ == 0) fail_at(source_, pos_, "unmatched )");
  --depth_;
  ++pos_;
  Item close;
  close.kind = Item::Kind::close;
  if (accept('~')) {
    close.align = number("'~'");
    close.bytes = accept('B') && close.align != 1;
  }
  add(close);
  drop_empty_group();
}

Layout LayoutParser::word() {
  std::array<Letter, kMaxRank> letters{};
  std::size_t rank = 0;
  std::int64_t factor = 0;  // a number after the letters that is no block: of 16c, or of HW4
  bool lower = false, upper_block = false;
  while (!at_end() && !is_digit(source_[pos_])) {
    if (rank == kMaxRank) fail_at(source_, pos_, text("more than ", kMaxRank, " axes"));
    const char c = source_[pos_];
    Letter& letter = letters[rank];
    letter.capital = is_upper(c);
    const char name = letter.capital ? static_cast<char>(c - 'A' + 'a') : c;
    letter.axis = Axis(std::string_view(&name, 1));
    for (std::size_t i = 0; i < rank; ++i) {
      if (letters[i].axis == letter.axis) fail_at(source_, pos_, "this axis occurs twice");
    }
    lower |= !letter.capital;
    ++rank;
    ++pos_;
    if (at_end() || !is_digit(source_[pos_])) continue;
    const std::int64_t block = number("the letter");
    if (!at_end() && is_lower(source_[pos_])) {
      factor = block;
      break;
    }
    if (at_end() && upper_block) {
      factor = block;
      break;
    }
    letter.block = block;
    upper_block = true;
  }
  if (rank == 0) fail_at(source_, pos_, "a layout does not begin with a number");
  if (upper_block) {
    if (lower || !at_end()) {
      fail_at(source_, pos_, "expected capital letters as in NC4HW4 or NHWC4");
    }
    word_with_blocks(letters, rank, factor);
  } else {
    word_with_factors(letters, rank, factor);
  }
  return finish();
}

// NC4HW4: block in place, lane at the end. NHWC4: the last axis rounded up.
void LayoutParser::word_with_blocks(const std::array<Letter, kMaxRank>& letters, std::size_t rank,
                                    std::int64_t trailing) {
  const Letter* blocked = nullptr;
  for (std::size_t i = 0; i < rank; ++i) {
    if (letters[i].block == 0) continue;
    if (blocked != nullptr) fail_at(source_, source_.size(), "one axis at most has a block");
    blocked = &letters[i];
  }
  const bool last = blocked == &letters[rank - 1];
  if (last ? trailing != 0 : trailing != blocked->block) {
    fail_at(source_, source_.size(),
            last ? "a block number too many"
                 : text("expected the block ", blocked->block, " again, at the end"));
  }
  for (std::size_t i = 0; i < rank; ++i) {
    const Letter& letter = letters[i];
    if (letter.block == 0) {
      add_factor(letter.axis, 1, 0);
    } else if (last) {
      add_factor(letter.axis, 1, 0, letter.block);
    } else {
      add_factor(letter.axis, letter.block, 0);
    }
  }
  if (!last) add_factor(blocked->axis, 1, blocked->block);
}

// nChw16c and OIhw4i16o4i: capitals are the blocked axes. NCHW4c: all are capitals.
void LayoutParser::word_with_factors(const std::array<Letter, kMaxRank>& letters, std::size_t rank,
                                     std::int64_t first_factor) {
  struct Factor {
    std::size_t axis;
    std::int64_t m, q;
  };

  std::array<Factor, kMaxDigits> factors{};
  std::array<std::int64_t, kMaxRank> block;
  block.fill(1);
  std::size_t count = 0;
  while (!at_end()) {
    const std::int64_t m = count == 0 ? first_factor : number("the factors");
    const auto axis = std::find_if(letters.begin(), letters.begin() + rank, [&](const Letter& l) {
      return !at_end() && l.axis.name()[0] == source_[pos_];
    });
    if (axis == letters.begin() + rank) fail_at(source_, pos_, "expected an axis, in lower case");
    if (count == kMaxDigits) fail_at(source_, pos_, "too many factors");
    factors[count++] = {static_cast<std::size_t>(axis - letters.begin()), m, 1};
    ++pos_;
  }
  // The rightmost factor of an axis is its lowest digit.
  for (std::size_t i = count; i-- > 0;) {
    std::int64_t& b = block[factors[i].axis];
    factors[i].q = b;
    b = checked_mul(b, factors[i].m);
    if (b > kLargestNumber) fail_at(source_, source_.size(), "this block exceeds 2^31");
  }
  const bool all_capital = std::all_of(letters.begin(), letters.begin() + rank,
                                       [](const Letter& l) { return l.capital; });
  for (std::size_t i = 0; i < rank; ++i) {
    const bool blocked = std::any_of(factors.begin(), factors.begin() + count,
                                     [i](const Factor& f) { return f.axis == i; });
    if (blocked != letters[i].capital && !(all_capital && !blocked)) {
      fail_at(source_, i,
              blocked ? "this axis is blocked: write it as a capital"
                      : "this capital promises a block, as in nChw16c");
    }
    add_factor(letters[i].axis, block[i], 0);
  }
  for (std::size_t i = 0; i < count; ++i) {
    add_factor(letters[factors[i].axis].axis, factors[i].q, factors[i].m);
  }
}

}  // namespace stowage
