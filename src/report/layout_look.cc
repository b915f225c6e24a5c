// SPDX-License-Identifier: Apache-2.0
#include "report/layout_look.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>

namespace stowage {
namespace {

// M. Okabe, K. Ito: Color Universal Design, 2008.
constexpr std::array<LayoutLook, 8> kColours = {{
    {"#0072b2", "#ffffff"},
    {"#e69f00", "#000000"},
    {"#d55e00", "#000000"},
    {"#56b4e9", "#000000"},
    {"#c4c4c4", "#000000"},
    {"#cc79a7", "#000000"},
    {"#009e73", "#000000"},
    {"#f0e442", "#000000"},
}};

/// FNV-1a, mixed, because the last letters of a name change its low bits only. The seed is one with
/// which the layouts that models mostly meet have a colour each.
std::uint32_t hash(std::string_view text) {
  std::uint32_t h = 324;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 16777619u;
  h ^= h >> 16;
  h *= 0x85ebca6bu;
  return h ^ (h >> 13);
}

}  // namespace

std::span<const LayoutLook> layout_colours() { return kColours; }

std::vector<LayoutLook> layout_looks(std::span<const std::string> layouts) {
  // Short names come first, so that the plain look is theirs.
  std::vector<std::size_t> order(layouts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(layouts[a].size(), std::string_view(layouts[a])) <
           std::pair(layouts[b].size(), std::string_view(layouts[b]));
  });
  std::vector<LayoutLook> looks(layouts.size());
  std::array<int, kColours.size()> used{};
  std::map<std::string_view, std::size_t> seen;
  for (const std::size_t i : order) {
    const auto [at, fresh] = seen.emplace(layouts[i], i);
    if (!fresh) {
      looks[i] = looks[at->second];
      continue;
    }
    const std::size_t colour = hash(layouts[i]) % kColours.size();
    looks[i] = kColours[colour];
    looks[i].pattern = used[colour]++ % kLayoutPatterns;
  }
  return looks;
}

}  // namespace stowage
