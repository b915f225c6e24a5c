// SPDX-License-Identifier: Apache-2.0
// The layout under which a reshaped tensor has the bytes that it had before.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "ops/shapes.h"

namespace stowage {

namespace relabel_detail {

/// Weight of an axis in the row-major index of the whole tensor.
inline Ints weights_of(const Shape& shape) { return row_major_strides(shape.extents()); }

/// A digit of the row-major index: (index / weight) mod e.
struct Piece {
  std::int64_t weight = 1, e = 1;
};

/// Cuts a digit where an axis of `shape` ends inside of it, most significant piece first. False
/// when a cut does not divide.
inline bool cut(Piece digit, const Shape& shape, const Ints& weights, std::vector<Piece>& out) {
  for (int b = 0; b < shape.rank() && digit.e > 1; ++b) {
    const std::int64_t t = weights[at(b)];
    if (shape[b] == 1 || t <= digit.weight || t >= digit.weight * digit.e) continue;
    if (t % digit.weight != 0 || digit.weight * digit.e % t != 0) return false;
    out.push_back({t, digit.weight * digit.e / t});
    digit.e = t / digit.weight;
  }
  if (digit.e > 1) out.push_back(digit);
  return true;
}

/// A digit of the result.
struct Factor {
  int axis = 0;
  std::int64_t q = 1, e = 1;
  bool top = true;    ///< nothing above it: no modulus
  bool tail = false;  ///< of an axis with a tail
};

/// The axis of `y` that is axis `i` of `x`, or -1.
inline int same_axis(const Shape& x, int i, const Ints& from, const Shape& y, const Ints& to) {
  for (int b = 0; b < y.rank(); ++b) {
    if (y[b] == x[i] && y[b] != 1 && to[at(b)] == from[at(i)]) return b;
  }
  return -1;
}

}  // namespace relabel_detail

/// `layout` of a tensor of shape `x`, seen under shape `y` of as many elements in the same
/// row-major order: no byte moves. Nothing when there is none: tails stay with their axis, which
/// must be an axis of `y`, and an axis is only cut or joined where its digits are.
inline std::optional<Layout> relabelled(const Layout& layout, const Shape& x, const Shape& y) {
  using namespace relabel_detail;
  if (layout.is_image() || x.elements() == 0) return std::nullopt;
  for (const Layout::Item& item : layout.items()) {
    if (item.align != 1 || item.bytes) return std::nullopt;
  }
  const Mapping mapping(layout, x, 1);
  const auto has_tail = [&](int axis) { return mapping.padded(axis) != x[axis]; };
  std::vector<Digit> digits(mapping.linear_digits().begin(), mapping.linear_digits().end());
  std::erase_if(digits, [&](const Digit& d) { return d.e == 1 && !has_tail(d.dim); });
  std::ranges::stable_sort(digits,
                           [](const Digit& a, const Digit& b) { return a.stride > b.stride; });
  const Ints from = weights_of(x), to = weights_of(y);
  std::vector<Factor> factors;
  for (const Digit& d : digits) {
    if (has_tail(d.dim)) {
      const int axis = same_axis(x, d.dim, from, y, to);
      if (axis < 0) return std::nullopt;
      std::int64_t top = 0;
      for (const Digit& other : digits) {
        if (other.dim == d.dim) top = std::max(top, other.q);
      }
      factors.push_back({axis, d.q, d.e, d.q == top, true});
      continue;
    }
    std::vector<Piece> pieces;
    if (!cut({from[at(d.dim)] * d.q, d.e}, y, to, pieces)) return std::nullopt;
    for (const Piece& p : pieces) {
      int axis = -1;
      for (int b = 0; b < y.rank(); ++b) {
        const std::int64_t t = to[at(b)];
        if (y[b] > 1 && t <= p.weight && p.weight * p.e <= t * y[b]) axis = b;
      }
      if (axis < 0 || p.weight % to[at(axis)] != 0) return std::nullopt;
      const std::int64_t q = p.weight / to[at(axis)];
      Factor f{axis, q, p.e, q * p.e == y[axis], false};
      Factor* last = factors.empty() ? nullptr : &factors.back();
      if (last != nullptr && !last->tail && last->axis == axis && last->q == q * p.e) {
        f.e *= last->e;
        f.top = last->top;
        *last = f;
      } else {
        factors.push_back(f);
      }
    }
  }
  if (factors.size() > static_cast<std::size_t>(kMaxDigits) / 2) return std::nullopt;
  std::string text_of;
  for (const Factor& f : factors) {
    text_of += text(text_of.empty() ? "" : " ", y.axis(f.axis).name());
    if (f.q > 1) text_of += text("/", f.q);
    if (!f.top) text_of += text("%", f.e);
  }
  const Layout found = text_of.empty() ? Layout() : Layout::parse(text_of);
  if (Mapping(found, y, 1).cells() != mapping.cells()) return std::nullopt;
  return found;
}

}  // namespace stowage
