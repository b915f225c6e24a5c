// SPDX-License-Identifier: Apache-2.0
// Axis names and logical extents.
#include <charconv>

#include "base/text.h"
#include "layout/caret.h"
#include "stowage/layout.h"

namespace stowage {

namespace {

constexpr std::int64_t kElementLimit = std::int64_t{1} << 47;
constexpr std::size_t kLongestText = 1000;
constexpr std::string_view kUnnamedAxes = "abcdefgh";
static_assert(kUnnamedAxes.size() == kMaxRank);

bool is_axis_name(std::string_view name) {
  if (name.empty() || name.size() > 7) return false;
  for (char c : name) {
    if (c < 'a' || c > 'z') return false;
  }
  return true;
}

std::vector<Axis> axes_of(std::string_view letters) {
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < letters.size(); ++i) axes.emplace_back(letters.substr(i, 1));
  return axes;
}

}  // namespace

Axis::Axis(std::string_view name) {
  if (!is_axis_name(name)) {
    fail(ErrorCode::usage, "'", name.substr(0, 40),
         "' is not the name of an axis: one to seven lower-case letters");
  }
  name.copy(text_.data(), name.size());
}

Shape::Shape(std::span<const Axis> axes, std::span<const std::int64_t> extents) {
  if (axes.size() != extents.size()) {
    fail(ErrorCode::usage, "a shape has ", axes.size(), " axes but ", extents.size(), " extents");
  }
  if (axes.size() > kMaxRank) {
    fail(ErrorCode::limit, "a shape has ", axes.size(), " axes; at most ", kMaxRank,
         " are supported");
  }
  // Extents of 0 count as 1, so that no partial product overflows later on.
  std::int64_t product = 1;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t extent = extents[i];
    if (axes[i] == Axis()) fail(ErrorCode::usage, "axis ", i, " of a shape has no name");
    if (index_of(axes[i]) >= 0) {
      fail(ErrorCode::usage, "axis '", axes[i].name(), "' occurs twice in a shape");
    }
    if (extent < 0) {
      fail(ErrorCode::usage, "axis '", axes[i].name(), "' has the negative extent ", extent);
    }
    if (__builtin_mul_overflow(product, extent > 1 ? extent : 1, &product) ||
        product >= kElementLimit) {
      fail(ErrorCode::limit, "a shape of extents ", extents, " has 2^47 elements or more");
    }
    axes_[i] = axes[i];
    extents_[i] = extent;
    ++rank_;
  }
}

Shape::Shape(std::string_view letters, std::span<const std::int64_t> extents)
    : Shape(axes_of(letters.substr(0, kLongestText)), extents) {}

Shape::Shape(std::string_view letters, std::initializer_list<std::int64_t> extents)
    : Shape(letters, std::span<const std::int64_t>(extents.begin(), extents.size())) {}

Shape Shape::parse(std::string_view source) {
  if (source.size() > kLongestText) {
    fail(ErrorCode::usage, "a shape of ", source.size(), " characters is too long");
  }
  std::vector<Axis> axes;
  std::vector<std::int64_t> extents;
  std::size_t pos = 0;
  while (!source.empty()) {
    const std::size_t name_at = pos;
    while (pos < source.size() && source[pos] >= 'a' && source[pos] <= 'z') ++pos;
    const std::string_view name = source.substr(name_at, pos - name_at);
    if (!is_axis_name(name)) {
      fail_at(source, name_at, "expected an axis in lower-case letters, as in n=1,c=3,h=4,w=5");
    }
    if (pos == source.size() || source[pos] != '=') fail_at(source, pos, "expected '='");
    ++pos;
    std::int64_t extent = 0;
    const auto [end, failure] =
        std::from_chars(source.data() + pos, source.data() + source.size(), extent);
    if (failure == std::errc::result_out_of_range) {
      fail_at(source, pos, "this extent exceeds 64 bits");
    }
    if (failure != std::errc() || extent < 0) fail_at(source, pos, "expected an extent >= 0");
    for (const Axis& axis : axes) {
      if (axis.name() == name) fail_at(source, name_at, "this axis occurs twice");
    }
    axes.emplace_back(name);
    extents.push_back(extent);
    pos = static_cast<std::size_t>(end - source.data());
    if (pos == source.size()) break;
    if (source[pos] != ',') fail_at(source, pos, "expected ','");
    ++pos;
  }
  return Shape(axes, extents);
}

Shape Shape::unnamed(std::span<const std::int64_t> extents) {
  if (extents.size() > kUnnamedAxes.size()) {
    fail(ErrorCode::limit, "a shape has ", extents.size(), " axes; at most ", kMaxRank,
         " are supported");
  }
  return Shape(kUnnamedAxes.substr(0, extents.size()), extents);
}

bool Shape::is_unnamed() const noexcept {
  for (int i = 0; i < rank_; ++i) {
    if (axis(i).name() != kUnnamedAxes.substr(static_cast<std::size_t>(i), 1)) return false;
  }
  return true;
}

int Shape::index_of(Axis axis) const noexcept {
  for (int i = 0; i < rank_; ++i) {
    if (axes_[static_cast<std::size_t>(i)] == axis) return i;
  }
  return -1;
}

std::int64_t Shape::elements() const noexcept {
  std::int64_t product = 1;
  for (std::int64_t extent : extents()) product *= extent;
  return product;
}

std::string Shape::text() const {
  std::string out;
  for (int i = 0; i < rank_; ++i) {
    if (i > 0) out += ',';
    out += stowage::text(axis(i).name(), '=', (*this)[i]);
  }
  return out;
}

}  // namespace stowage
