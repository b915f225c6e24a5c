// SPDX-License-Identifier: Apache-2.0
#include "base/nearest.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace stowage {

namespace {

constexpr std::size_t kLongest = 64, kShortestBeginning = 3;

/// Prices of a slip: two neighbours swapped; a letter missing, too many or wrong.
constexpr int kSwap = 1, kLetter = 2;

char folded(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  return c == '_' ? '-' : c;
}

std::string folded(std::string_view word) {
  std::string out(word);
  for (char& c : out) c = folded(c);
  return out;
}

/// The cheapest way from `a` to `b`, neither longer than kLongest.
int distance(std::string_view a, std::string_view b) {
  using Row = std::array<int, kLongest + 1>;
  Row before_last{}, last{}, row{};
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j) * kLetter;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last = last;
    last = row;
    row[0] = last[0] + kLetter;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + kLetter, row[j - 1] + kLetter,
                         last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : kLetter)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + kSwap);
      }
    }
  }
  return row[b.size()];
}

/// What may be wrong with a word of this length: one letter in six, and one in any case.
int most(std::size_t length) { return kLetter * (1 + static_cast<int>(length / 6)); }

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> names) {
  if (word.size() < 2 || word.size() > kLongest) return "";
  const std::string have = folded(word);
  std::string_view best;
  int least = most(word.size()) + 1;
  for (const std::string_view name : names) {
    if (name.empty() || name.size() > kLongest) continue;
    const std::string want = folded(name);
    int price = distance(have, want);
    const bool more = want.size() > kShortestBeginning && have.starts_with(want);
    if (more || (have.size() >= kShortestBeginning && want.starts_with(have))) {
      price = std::min(price, most(word.size()));
    }
    // A word of two letters is near to too many.
    if (word.size() == 2 && price > kSwap) continue;
    if (price < least || (price == least && more && name.size() > best.size())) {
      least = price;
      best = name;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> names,
                         std::string_view before) {
  const std::string_view name = nearest(word, names);
  return name.empty() ? "" : text("; did you mean ", before, name, "?");
}

}  // namespace stowage
