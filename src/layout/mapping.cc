// SPDX-License-Identifier: Apache-2.0
// A layout bound to a shape: strided digits, and what follows from them.
#include <algorithm>

#include "base/checked.h"
#include "base/text.h"
#include "layout/layout_parse.h"
#include "stowage/layout.h"

namespace stowage {

namespace {

using Item = Layout::Item;

constexpr std::int64_t kCellLimit = std::int64_t{1} << 50;

std::size_t at(Space space) { return static_cast<std::size_t>(space); }

[[noreturn]] void too_large(const Layout& layout, const Shape& shape) {
  fail(ErrorCode::limit, layout.text(), ": a tensor of shape ", shape.text(),
       " takes 2^50 cells or more");
}

std::int64_t times(std::int64_t a, std::int64_t b, const Layout& layout, const Shape& shape) {
  std::int64_t out;
  if (__builtin_mul_overflow(a, b, &out) || out >= kCellLimit) too_large(layout, shape);
  return out;
}

// a <= kCellLimit, b <= 2^31: no overflow.
std::int64_t aligned(std::int64_t a, std::int64_t b, const Layout& layout, const Shape& shape) {
  const std::int64_t out = round_up(a, b);
  if (out >= kCellLimit) too_large(layout, shape);
  return out;
}

/// One axis that the shape lacks was perhaps to be the name of a layout: nhwc. Else empty.
std::string hint(const Layout& layout, const Shape& shape) {
  const std::vector<Axis> axes = layout.axes();
  const bool name = axes.size() == 1 && axes[0].name().size() > 1 && shape.index_of(axes[0]) < 0;
  return name ? "; " + layout_hint(axes[0].name()) : "";
}

void check_axes(const Layout& layout, const Shape& shape) {
  for (int dim = 0; dim < shape.rank(); ++dim) {
    if (shape[dim] == 1) continue;
    const auto places = [&](const Item& item) {
      return item.kind == Item::Kind::factor && item.m != 1 && item.axis == shape.axis(dim);
    };
    if (std::none_of(layout.items().begin(), layout.items().end(), places)) {
      fail(ErrorCode::usage, layout.text(), ": no place for dim '", shape.axis(dim).name(),
           "'=", shape[dim], " of ", shape.text(), " (must be 1)", hint(layout, shape));
    }
  }
  for (const Item& item : layout.items()) {
    if (item.kind != Item::Kind::factor || shape.index_of(item.axis) >= 0) continue;
    const std::string name(item.axis.name()), meant = hint(layout, shape);
    fail(ErrorCode::usage, layout.text(), ": the shape ", shape.text(), " has no dim '", name, "'",
         meant.empty() ? text("; add ", name, "=1") : meant);
  }
}

}  // namespace

Mapping::Mapping(const Layout& layout, const Shape& shape, int element_bytes,
                 std::int64_t row_pitch)
    : layout_(layout), shape_(shape), element_bytes_(element_bytes), row_pitch_(row_pitch) {
  if (element_bytes < 1 || element_bytes > 16) {
    fail(ErrorCode::usage, "a scalar of ", element_bytes, " bytes is not possible");
  }
  if (row_pitch < 1 || row_pitch > (std::int64_t{1} << 31)) {
    fail(ErrorCode::usage, "a row pitch of ", row_pitch, " texels is not possible");
  }
  check_axes(layout, shape);
  const auto mul = [&](std::int64_t a, std::int64_t b) { return times(a, b, layout_, shape_); };
  const auto align = [&](std::int64_t a, std::int64_t b) { return aligned(a, b, layout_, shape_); };
  for (int dim = 0; dim < shape.rank(); ++dim) padded_[static_cast<std::size_t>(dim)] = 1;

  // From the least significant item of the last coordinate to the most significant of the first,
  // so digits come out with growing strides.
  std::array<std::int64_t, 24> outer{};  // strides at which the open groups began
  std::array<const Item*, 24> closing{};
  std::int64_t linear_unit = 1;  // cells of the linear view for a step in this coordinate
  bool empty = false;            // an extent is 0
  for (Space space : {Space::lane, Space::x, Space::y, Space::mem}) {
    std::int64_t stride = 1;
    std::size_t depth = 0;
    bool none = false;
    for (std::size_t i = layout_.items().size(); i-- > 0;) {
      const Item& item = layout_.items()[i];
      if (item.space != space) continue;
      if (item.kind == Item::Kind::close) {
        closing[depth] = &item;
        outer[depth++] = stride;
      } else if (item.kind == Item::Kind::open) {
        const Item& close = *closing[--depth];
        std::int64_t extent = stride / outer[depth];
        if (close.bytes) {
          const std::int64_t unit = mul(outer[depth], element_bytes);
          extent = align(mul(extent, unit), close.align) / unit;
        } else {
          extent = align(extent, close.align);
        }
        stride = mul(outer[depth], extent);
      } else if (item.m != 1) {
        const int dim = shape.index_of(item.axis);
        // A top digit of an extent of 0 is 0, but strides above it stay positive.
        const std::int64_t e =
            item.m != 0 ? item.m : align(ceil_div(shape[dim], item.q), item.align);
        none |= e == 0;
        digits_[digit_count_] = {static_cast<std::int8_t>(dim), space, item.q, e, stride};
        linear_[digit_count_] = {static_cast<std::int8_t>(dim), Space::mem, item.q, e,
                                 mul(stride, linear_unit)};
        ++digit_count_;
        stride = mul(stride, std::max<std::int64_t>(e, 1));
        std::int64_t& padded = padded_[static_cast<std::size_t>(dim)];
        padded = std::max(padded, mul(item.q, e));
      }
    }
    empty |= none;
    extents_[at(space)] = none ? 0 : stride;
    linear_unit = mul(linear_unit,
                      space == Space::x && layout_.is_image() ? align(stride, row_pitch) : stride);
  }
  cells_ = empty ? 0 : linear_unit;
  mul(cells_, element_bytes);
  for (int dim = 0; dim < shape.rank(); ++dim) {
    if (shape[dim] == 0) padded_[static_cast<std::size_t>(dim)] = 0;
  }
  std::reverse(digits_.begin(), digits_.begin() + digit_count_);
  std::reverse(linear_.begin(), linear_.begin() + digit_count_);
}

std::int64_t Mapping::extent(Space space) const noexcept { return extents_[at(space)]; }

std::size_t Mapping::bytes() const noexcept {
  return static_cast<std::size_t>(cells_) * static_cast<std::size_t>(element_bytes_);
}

std::int64_t Mapping::offset(std::span<const std::int64_t> x) const noexcept {
  std::int64_t sum = 0;
  for (const Digit& d : linear_digits()) {
    sum += x[static_cast<std::size_t>(d.dim)] / d.q % d.e * d.stride;
  }
  return sum;
}

std::int64_t Mapping::coordinate(std::span<const std::int64_t> x, Space space) const noexcept {
  std::int64_t sum = 0;
  for (const Digit& d : digits()) {
    if (d.space == space) sum += x[static_cast<std::size_t>(d.dim)] / d.q % d.e * d.stride;
  }
  return sum;
}

Cell Mapping::inverse(std::int64_t cell, std::span<std::int64_t> x) const noexcept {
  std::fill(x.begin(), x.end(), 0);
  if (cell < 0 || cell >= cells_) return Cell::gap;
  for (const Digit& d : linear_digits()) {  // strides fall
    if (d.e == 1) continue;
    const std::int64_t v = cell / d.stride;
    if (v >= d.e) return Cell::gap;
    cell -= v * d.stride;
    x[static_cast<std::size_t>(d.dim)] += v * d.q;
  }
  if (cell != 0) return Cell::gap;
  for (int dim = 0; dim < shape_.rank(); ++dim) {
    if (x[static_cast<std::size_t>(dim)] >= shape_[dim]) return Cell::tail;
  }
  return Cell::data;
}

Mapping::CellCounts Mapping::count() const noexcept {
  if (cells_ == 0) return {};
  std::int64_t hit = 1;  // the digits of an axis are a complete chain: every combination is a cell
  for (const Digit& d : digits()) hit *= d.e;
  const std::int64_t data = shape_.elements();
  return {data, hit - data, cells_ - hit};
}

bool Mapping::bijective() const noexcept {
  const CellCounts counts = count();
  return counts.tail == 0 && counts.gap == 0;
}

bool Mapping::same_bytes(const Mapping& other) const noexcept {
  if (element_bytes_ != other.element_bytes_ || cells_ != other.cells_) return false;
  std::array<int, kMaxRank> here{};  // dim of `other` -> ours; -1: an axis of extent 1
  for (int dim = 0; dim < other.shape_.rank(); ++dim) {
    const int ours = shape_.index_of(other.shape_.axis(dim));
    if ((ours < 0 ? 1 : shape_[ours]) != other.shape_[dim]) return false;
    here[static_cast<std::size_t>(dim)] = ours;
  }
  for (int dim = 0; dim < shape_.rank(); ++dim) {
    if (shape_[dim] != 1 && other.shape_.index_of(shape_.axis(dim)) < 0) return false;
  }
  std::array<Digit, kMaxDigits> a, b;
  const std::size_t count = normal_form(a);
  if (other.normal_form(b) != count) return false;
  for (std::size_t i = 0; i < count; ++i) {
    b[i].dim = static_cast<std::int8_t>(here[static_cast<std::size_t>(b[i].dim)]);
    if (a[i] != b[i]) return false;
  }
  return true;
}

std::size_t Mapping::normal_form(std::span<Digit, kMaxDigits> out) const noexcept {
  if (cells_ == 0) return 0;
  std::size_t count = 0;
  for (std::size_t i = digit_count_; i-- > 0;) {  // strides grow
    const Digit& d = linear_[i];
    if (d.e == 1) continue;
    if (count > 0) {
      Digit& low = out[count - 1];
      if (low.dim == d.dim && d.q == low.q * low.e && d.stride == low.stride * low.e) {
        low.e *= d.e;
        continue;
      }
    }
    out[count++] = d;
  }
  return count;
}

}  // namespace stowage
