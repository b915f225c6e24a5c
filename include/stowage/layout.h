// SPDX-License-Identifier: Apache-2.0
// The layout algebra: DType, Shape, Layout, Mapping. docs/layouts.md tells the story.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stowage {

/// Largest number of logical axes of a tensor.
inline constexpr int kMaxRank = 8;
/// Largest number of digits of a layout.
inline constexpr int kMaxDigits = 24;

/// Scalar types. `boolean` is one byte, 0 or 1, as in ONNX.
enum class DType : std::uint8_t {
  f32,
  f16,
  bf16,
  f64,
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  u64,
  i64,
  boolean
};

/// Bytes of one scalar: 1, 2, 4 or 8.
int dtype_bytes(DType dtype) noexcept;

/// "f32", "u8", "bool", ...
std::string_view dtype_name(DType dtype) noexcept;

/// The inverse of dtype_name. Throws Error(usage) that lists the names.
DType parse_dtype(std::string_view name);

/// The name of a logical axis: one to seven lower-case letters.
class Axis {
 public:
  constexpr Axis() = default;
  /// Throws Error(usage) unless `name` is one to seven lower-case letters.
  explicit Axis(std::string_view name);

  std::string_view name() const noexcept { return std::string_view(text_.data()); }

  friend auto operator<=>(const Axis&, const Axis&) = default;

 private:
  std::array<char, 8> text_{};
};

/// Logical extents in source order, each with an axis name; at most kMaxRank axes. Extents are
/// >= 0; a shape with an extent of 0 has no elements. Values of a model that have no meaningful
/// names use a, b, c, ...
class Shape {
 public:
  Shape() = default;
  /// One letter an axis: Shape("nchw", {1, 3, 4, 5}). Throws Error(usage) on unequal lengths,
  /// repeated names or a negative extent, Error(limit) on too many axes or 2^47 elements or more.
  Shape(std::string_view letters, std::span<const std::int64_t> extents);
  Shape(std::string_view letters, std::initializer_list<std::int64_t> extents);
  Shape(std::span<const Axis> axes, std::span<const std::int64_t> extents);

  /// Reads "n=1,c=3,h=4,w=5". Throws Error(usage) with a caret under the offending place.
  static Shape parse(std::string_view text);

  int rank() const noexcept { return rank_; }

  std::int64_t operator[](int i) const noexcept { return extents_[static_cast<std::size_t>(i)]; }

  Axis axis(int i) const noexcept { return axes_[static_cast<std::size_t>(i)]; }

  std::span<const std::int64_t> extents() const noexcept {
    return {extents_.data(), static_cast<std::size_t>(rank_)};
  }

  std::span<const Axis> axes() const noexcept {
    return {axes_.data(), static_cast<std::size_t>(rank_)};
  }

  /// Axes without a name of their own: a, b, c, ... in this order. Throws as the constructors do.
  static Shape unnamed(std::span<const std::int64_t> extents);
  /// Whether the axes are those of unnamed().
  bool is_unnamed() const noexcept;

  /// Position of the axis, or -1.
  int index_of(Axis axis) const noexcept;

  /// Product of the extents (1 for rank 0); below 2^47 by construction.
  std::int64_t elements() const noexcept;

  /// "n=1,c=3,h=4,w=5"
  std::string text() const;

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  int rank_ = 0;
  std::array<Axis, kMaxRank> axes_{};
  std::array<std::int64_t, kMaxRank> extents_{};
};

/// The coordinates of a physical cell. A layout uses either `mem` alone or some of y, x, lane
/// (OpenCL image2d: row, column of texels, one of four channels of a texel).
enum class Space : std::uint8_t { mem, y, x, lane };

/// "mem", "y", "x", "lane"
std::string_view space_name(Space space) noexcept;

/// A layout: an expression over axis names that says where each element lies.
///
///     layout := [label ':'] node { node }          label: y x lane; none = linear memory
///     node   := factor | '(' { node } ')' [ '~' INT ['B'] ]
///     factor := dim [ '/' q ] [ '%' m ] [ '~' k ]
///
/// `d/q%m` is the digit floor(x_d / q) mod m; nodes are row-major, leftmost most significant.
/// Known spellings (NCHW, nChw16c, NCHW4c, NC4HW4, OIhw4i16o4i, ...) are accepted.
/// A value type without heap memory.
class Layout {
 public:
  /// Linear memory of one cell: the layout of a scalar. Its text is "()".
  Layout() = default;

  /// Throws Error(usage): a sentence, and for syntax errors a caret under the place.
  static Layout parse(std::string_view text);

  /// Row-major in the order of the axes.
  static Layout row_major(std::span<const Axis> axes);

  static Layout row_major(const Shape& shape) { return row_major(shape.axes()); }

  /// `a b/k c d b%k`: row-major with axis `blocked` split into blocks of `block`, the lane last.
  static Layout blocked(const Shape& shape, int blocked_axis, int block);

  /// The long form; parse(text()) == *this.
  std::string text() const;

  /// The known spelling of the same layout ("NCHW", "nChw16c"), or the long form.
  std::string spelling() const;

  /// Axes in the order of first appearance, `%1` digits included.
  std::vector<Axis> axes() const;

  bool is_image() const noexcept;

  /// Every axis `from[i]` becomes `to[i]`; others stay. Throws Error(usage) if two would collide.
  Layout renamed(std::span<const Axis> from, std::span<const Axis> to) const;

  /// The same layout with all digits of the axes removed: where axes of extent 1 are dropped.
  Layout without(std::span<const Axis> axes) const;

  friend bool operator==(const Layout&, const Layout&) = default;

  /// One element of the flattened expression tree.
  struct Item {
    enum class Kind : std::uint8_t { factor, open, close } kind = Kind::factor;
    bool bytes = false;        ///< close: align counts bytes
    Space space = Space::mem;  ///< the coordinate this item belongs to
    Axis axis;                 ///< factor
    std::int64_t q = 1;        ///< factor: divisor
    std::int64_t m = 0;        ///< factor: modulus, 0 = none
    std::int64_t align = 1;    ///< factor: tail round-up; close: gap round-up

    friend bool operator==(const Item&, const Item&) = default;
  };

  std::span<const Item> items() const noexcept { return {items_.data(), count_}; }

  /// Spaces in textual order: {mem}, or labels such as {y, x, lane}.
  std::span<const Space> spaces() const noexcept { return {spaces_.data(), space_count_}; }

 private:
  friend class LayoutParser;
  static constexpr std::size_t kMaxItems = 40;
  std::array<Item, kMaxItems> items_{};
  std::size_t count_ = 0;
  std::array<Space, 3> spaces_{Space::mem, Space::mem, Space::mem};
  std::size_t space_count_ = 1;
};

/// A digit of a bound layout: axis `dim` contributes (x_dim / q mod e) * stride.
struct Digit {
  std::int8_t dim = 0;  ///< index into the shape's axes
  Space space = Space::mem;
  std::int64_t q = 1;       ///< divisor
  std::int64_t e = 1;       ///< extent of the digit
  std::int64_t stride = 1;  ///< in cells of its space

  friend auto operator<=>(const Digit&, const Digit&) = default;
};

/// What a physical cell holds.
enum class Cell : std::uint8_t {
  data,  ///< an element
  tail,  ///< digit overflow: holds zero unless the value is marked dirty
  gap,   ///< alignment: nobody reads it
};

/// A Layout bound to a Shape and a scalar size, as std::mdspan uses the word.
/// Addresses are in cells (scalars). Images are also seen as linear memory in which rows (y)
/// of texels (x) of lanes follow each other without pitch. No heap memory.
class Mapping {
 public:
  /// One cell of one byte.
  Mapping() = default;
  /// Throws Error(usage) when an axis of the layout is not in the shape, or one of the shape
  /// with an extent other than 1 is not in the layout; Error(limit) when the extents overflow.
  /// `row_pitch`: each image row of the linear view takes a multiple of this many texels.
  Mapping(const Layout& layout, const Shape& shape, int element_bytes, std::int64_t row_pitch = 1);

  const Layout& layout() const noexcept { return layout_; }

  const Shape& shape() const noexcept { return shape_; }

  int element_bytes() const noexcept { return element_bytes_; }

  std::int64_t row_pitch() const noexcept { return row_pitch_; }

  /// Physical extent of a space in cells; 1 for a space that the layout does not use.
  std::int64_t extent(Space space) const noexcept;

  /// Cells of the linear view, padding and gaps included.
  std::int64_t cells() const noexcept { return cells_; }

  std::size_t bytes() const noexcept;

  /// Digits with strides in their own space.
  std::span<const Digit> digits() const noexcept { return {digits_.data(), digit_count_}; }

  /// Digits with strides in the linear view; space is always mem.
  std::span<const Digit> linear_digits() const noexcept { return {linear_.data(), digit_count_}; }

  /// The padded extent of an axis: max q*e over its digits.
  std::int64_t padded(int dim) const noexcept { return padded_[static_cast<std::size_t>(dim)]; }

  /// Cell of element `x` (one coordinate an axis of the shape) in the linear view.
  std::int64_t offset(std::span<const std::int64_t> x) const noexcept;

  /// Coordinate of element `x` in one space.
  std::int64_t coordinate(std::span<const std::int64_t> x, Space space) const noexcept;

  /// What a cell of the linear view holds; `x` receives its coordinates unless it is a gap.
  Cell inverse(std::int64_t cell, std::span<std::int64_t> x) const noexcept;

  struct CellCounts {
    std::int64_t data = 0, tail = 0, gap = 0;
  };

  /// Counted from the digits, not by walking cells.
  CellCounts count() const noexcept;

  /// Each cell holds an element: no tail and no gap.
  bool bijective() const noexcept;

  /// The elements lie at the same cells of the linear view and the buffers are of equal size:
  /// a conversion between the two is an alias. Axes are matched by name.
  bool same_bytes(const Mapping& other) const noexcept;

  /// Digits of the linear view in normal form: extents of 1 dropped, digits of an axis that are
  /// adjacent in radix and stride fused, sorted by stride. Returns how many were written.
  std::size_t normal_form(std::span<Digit, kMaxDigits> out) const noexcept;

 private:
  Layout layout_;
  Shape shape_;
  int element_bytes_ = 1;
  std::int64_t row_pitch_ = 1;
  std::array<std::int64_t, 4> extents_{1, 1, 1, 1};
  std::int64_t cells_ = 1;
  std::array<Digit, kMaxDigits> digits_{}, linear_{};
  std::size_t digit_count_ = 0;
  std::array<std::int64_t, kMaxRank> padded_{};
};

/// A line of the catalogue of named layouts.
struct NamedLayout {
  std::string_view name, layout, note;
};

/// Every named layout: the tests, `docs/layouts.md` and the known spellings come from it.
std::span<const NamedLayout> layout_catalog() noexcept;

}  // namespace stowage
