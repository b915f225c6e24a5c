// SPDX-License-Identifier: Apache-2.0
#include "c/view.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "base/text.h"
#include "c/guard.h"

namespace stowage::c {
namespace {

/// "nchw" or "n,head,w".
std::vector<Axis> axes_of(std::string_view names) {
  std::vector<Axis> out;
  if (names.find(',') == std::string_view::npos) {
    for (const char& letter : names) out.emplace_back(std::string_view(&letter, 1));
    return out;
  }
  while (true) {
    const std::size_t comma = names.find(',');
    out.emplace_back(names.substr(0, comma));
    if (comma == std::string_view::npos) return out;
    names.remove_prefix(comma + 1);
  }
}

Shape shape_of(const stowage_view& view, std::string_view what, const Shape* whole) {
  if (view.rank < 0 || view.rank > STOWAGE_MAX_RANK) {
    fail(ErrorCode::usage, what, ": a rank of ", view.rank, " is not possible (0 to ",
         STOWAGE_MAX_RANK, ")");
  }
  std::span<const std::int64_t> extents(view.extents, static_cast<std::size_t>(view.rank));
  if (view.rank == 0 && whole != nullptr) extents = whole->extents();
  if (view.axes != nullptr) return Shape(axes_of(view.axes), extents);
  if (whole != nullptr && whole->extents().size() == extents.size()) {
    return Shape(whole->axes(), extents);
  }
  return Shape::unnamed(extents);
}

struct Stride {
  Axis axis;
  std::int64_t extent, cells;
};

}  // namespace

DType dtype_of(std::int32_t dtype) {
  if (dtype < STOWAGE_F32 || dtype > STOWAGE_BOOL) {
    fail(ErrorCode::usage, "there is no type ", dtype);
  }
  return static_cast<DType>(dtype);
}

Layout strided_layout(const Shape& shape, std::span<const std::int64_t> byte_strides,
                      int element_bytes) {
  if (shape.elements() == 0) return Layout::row_major(shape);
  std::vector<Stride> strides;
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == 1) continue;
    const std::int64_t bytes = byte_strides[static_cast<std::size_t>(i)];
    const auto refuse = [&](std::string_view why) {
      fail(ErrorCode::unsupported, "axis '", shape.axis(i).name(), "' has a stride of ", bytes,
           " bytes, ", why);
    };
    if (bytes < 0) refuse("which is negative: copy the elements in rising order first");
    if (bytes == 0) refuse("which repeats elements: copy them out first");
    if (bytes % element_bytes != 0) {
      refuse(text("which is no multiple of the ", element_bytes, " bytes of an element"));
    }
    if (bytes / element_bytes > std::numeric_limits<std::int32_t>::max()) {
      refuse("which is 2^31 elements or more");
    }
    strides.push_back({shape.axis(i), shape[i], bytes / element_bytes});
  }
  std::stable_sort(strides.begin(), strides.end(),
                   [](const Stride& a, const Stride& b) { return a.cells < b.cells; });
  // From the innermost axis on: a group of what is inside, rounded up to the stride.
  std::string inside;
  std::int64_t cells = 1;
  for (const Stride& s : strides) {
    if (s.cells < cells) {
      fail(ErrorCode::unsupported, "axis '", s.axis.name(), "' has a stride of ",
           s.cells * element_bytes, " bytes, and the axes with smaller ones take ",
           cells * element_bytes, ": such strides have no layout");
    }
    const std::string group =
        s.cells == cells ? inside : text("(", std::string_view(inside), ")~", s.cells);
    inside = text(s.axis.name(), " ", std::string_view(group));
    if (__builtin_mul_overflow(s.cells, s.extent, &cells)) {
      fail(ErrorCode::limit, "the strides span 2^63 elements or more");
    }
  }
  return inside.empty() ? Layout() : Layout::parse(inside);
}

View read_view(const stowage_view* pointer, std::string_view what, const Shape* whole) {
  const stowage_view view = read(pointer, what);
  View out;
  out.dtype = dtype_of(view.dtype);
  out.data = view.data;
  const Shape shape = shape_of(view, what, whole);
  const int element_bytes = dtype_bytes(out.dtype);
  if (view.layout != nullptr && view.byte_strides != nullptr) {
    fail(ErrorCode::usage, what, " has a layout and byte_strides; give one of them");
  }
  Layout layout = Layout::row_major(shape);
  if (view.layout != nullptr) layout = Layout::parse(view.layout);
  if (view.byte_strides != nullptr) {
    layout = strided_layout(shape, {view.byte_strides, shape.extents().size()}, element_bytes);
  }
  out.mapping = Mapping(layout, shape, element_bytes, view.row_pitch == 0 ? 1 : view.row_pitch);
  return out;
}

ScalarMap read_map(const stowage_scalar_map* pointer) {
  if (pointer == nullptr) return {};
  const stowage_scalar_map map = read(pointer, "map");
  if (map.mean_count > 0) given(map.mean, "map.mean");
  if (map.norm_count > 0) given(map.norm, "map.norm");
  return {{map.mean, map.mean_count},
          {map.norm, map.norm_count},
          Axis(map.axis == nullptr ? "c" : map.axis)};
}

}  // namespace stowage::c
