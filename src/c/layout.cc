// SPDX-License-Identifier: Apache-2.0
// Layouts, mappings and conversions.
#include "stowage/layout.h"

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>

#include "base/text.h"
#include "c/guard.h"
#include "c/view.h"
#include "mat/threads.h"
#include "stowage/convert.h"
#include "stowage/draw.h"
#include "stowage/version.h"

using stowage::Cell;
using stowage::Conversion;
using stowage::DType;
using stowage::ErrorCode;
using stowage::Layout;
using stowage::Mapping;
using stowage::Shape;
using stowage::Space;
using stowage::text;
using stowage::c::copy_text;
using stowage::c::dtype_of;
using stowage::c::given;
using stowage::c::guarded;
using stowage::c::read_map;
using stowage::c::read_view;
using stowage::c::View;

struct stowage_mapping {
  Mapping mapping;
};

struct stowage_conversion {
  Conversion conversion;
};

namespace {

static_assert(STOWAGE_MAX_RANK == stowage::kMaxRank);
static_assert(STOWAGE_BOOL == static_cast<int>(DType::boolean));
static_assert(STOWAGE_U8 == static_cast<int>(DType::u8));
static_assert(STOWAGE_I64 == static_cast<int>(DType::i64));
static_assert(STOWAGE_CELL_GAP == static_cast<int>(Cell::gap));
static_assert(STOWAGE_INTERNAL == static_cast<int>(ErrorCode::internal));

bool is_dtype(std::int32_t dtype) { return dtype >= STOWAGE_F32 && dtype <= STOWAGE_BOOL; }

int checked_element_bytes(std::size_t bytes) {
  // Mapping refuses what is out of range.
  return static_cast<int>(std::min<std::size_t>(bytes, std::numeric_limits<int>::max()));
}

/// A coordinate an axis, as many as the caller says.
std::span<const std::int64_t> coordinates(const Mapping& mapping, const std::int64_t* index,
                                          std::size_t rank) {
  const auto axes = static_cast<std::size_t>(mapping.shape().rank());
  if (rank != axes) {
    stowage::fail(ErrorCode::usage, "index has ", rank, " coordinates, the shape ",
                  mapping.shape().text(), " has ", axes);
  }
  if (rank > 0) given(index, "index");
  return {index, rank};
}

}  // namespace

extern "C" {

const char* stowage_version(void) { return STOWAGE_VERSION; }

size_t stowage_dtype_bytes(int32_t dtype) {
  return is_dtype(dtype) ? static_cast<std::size_t>(dtype_bytes(static_cast<DType>(dtype))) : 0;
}

const char* stowage_dtype_name(int32_t dtype) {
  // The names are literals, with a zero behind them.
  return is_dtype(dtype) ? dtype_name(static_cast<DType>(dtype)).data() : nullptr;
}

stowage_status stowage_layout_text(const char* layout, char** out) {
  return guarded([&] {
    char*& to = given(out, "text");
    to = copy_text(Layout::parse(&given(layout, "layout")).text());
  });
}

stowage_status stowage_layout_spelling(const char* layout, char** out) {
  return guarded([&] {
    char*& to = given(out, "text");
    to = copy_text(Layout::parse(&given(layout, "layout")).spelling());
  });
}

stowage_status stowage_mapping_create(const char* layout, const char* shape, size_t element_bytes,
                                      int64_t row_pitch, stowage_mapping** out) {
  return guarded([&] {
    stowage_mapping*& to = given(out, "out");
    const Layout parsed = Layout::parse(&given(layout, "layout"));
    const Shape bound = Shape::parse(&given(shape, "shape"));
    to = new stowage_mapping{Mapping(parsed, bound, checked_element_bytes(element_bytes),
                                     row_pitch == 0 ? 1 : row_pitch)};
  });
}

stowage_status stowage_mapping_create_strided(const char* shape, size_t element_bytes,
                                              const int64_t* byte_strides, stowage_mapping** out) {
  return guarded([&] {
    stowage_mapping*& to = given(out, "out");
    const Shape bound = Shape::parse(&given(shape, "shape"));
    const int bytes = checked_element_bytes(element_bytes);
    if (bytes < 1) stowage::fail(ErrorCode::usage, "element_bytes is 0");
    if (bound.rank() > 0) given(byte_strides, "byte_strides");
    const Layout layout =
        stowage::c::strided_layout(bound, {byte_strides, bound.extents().size()}, bytes);
    to = new stowage_mapping{Mapping(layout, bound, bytes)};
  });
}

void stowage_mapping_destroy(stowage_mapping* mapping) { delete mapping; }

stowage_status stowage_mapping_get_info(const stowage_mapping* mapping, stowage_mapping_info* out) {
  return guarded([&] {
    const Mapping& m = given(mapping, "mapping").mapping;
    const Mapping::CellCounts counts = m.count();
    stowage_mapping_info info = STOWAGE_MAPPING_INFO_INIT;
    info.rank = m.shape().rank();
    info.image = m.layout().is_image() ? 1 : 0;
    info.cells = m.cells();
    info.bytes = m.bytes();
    info.y = m.extent(Space::y);
    info.x = m.extent(Space::x);
    info.lane = m.extent(Space::lane);
    info.data_cells = counts.data;
    info.tail_cells = counts.tail;
    info.gap_cells = counts.gap;
    stowage::c::write(out, info, "out");
  });
}

stowage_status stowage_mapping_locate(const stowage_mapping* mapping, const int64_t* index,
                                      size_t rank, stowage_place* out) {
  return guarded([&] {
    const Mapping& m = given(mapping, "mapping").mapping;
    const auto x = coordinates(m, index, rank);
    for (int i = 0; i < m.shape().rank(); ++i) {
      const std::int64_t at = x[static_cast<std::size_t>(i)];
      if (at >= 0 && at < m.shape()[i]) continue;
      stowage::fail(ErrorCode::usage, "axis '", m.shape().axis(i).name(), "' has no index ", at,
                    "; its extent is ", m.shape()[i]);
    }
    stowage_place place = STOWAGE_PLACE_INIT;
    place.cell = m.offset(x);
    if (m.layout().is_image()) {
      place.y = m.coordinate(x, Space::y);
      place.x = m.coordinate(x, Space::x);
      place.lane = m.coordinate(x, Space::lane);
    }
    stowage::c::write(out, place, "out");
  });
}

stowage_status stowage_mapping_get_cell(const stowage_mapping* mapping, int64_t cell,
                                        stowage_cell* kind, int64_t* index, size_t rank) {
  return guarded([&] {
    const Mapping& m = given(mapping, "mapping").mapping;
    stowage_cell& to = given(kind, "kind");
    coordinates(m, index, rank);
    if (cell < 0 || cell >= m.cells()) {
      stowage::fail(ErrorCode::usage, "there is no cell ", cell, "; there are ", m.cells());
    }
    std::array<std::int64_t, STOWAGE_MAX_RANK> x{};
    const Cell found = m.inverse(cell, x);
    to = static_cast<stowage_cell>(found);
    if (found != Cell::gap) std::copy_n(x.begin(), rank, index);
  });
}

stowage_status stowage_mapping_layout(const stowage_mapping* mapping, char** out) {
  return guarded([&] {
    char*& to = given(out, "text");
    to = copy_text(given(mapping, "mapping").mapping.layout().text());
  });
}

stowage_status stowage_mapping_draw(const stowage_mapping* mapping, char** out) {
  return guarded([&] {
    char*& to = given(out, "text");
    to = copy_text(stowage::draw_text(given(mapping, "mapping").mapping));
  });
}

stowage_status stowage_mapping_draw_svg(const stowage_mapping* mapping, char** out) {
  return guarded([&] {
    char*& to = given(out, "text");
    to = copy_text(stowage::draw_svg(given(mapping, "mapping").mapping));
  });
}

stowage_status stowage_conversion_create(int32_t src_dtype, const stowage_mapping* src,
                                         int32_t dst_dtype, const stowage_mapping* dst,
                                         const stowage_scalar_map* map, stowage_conversion** out) {
  return guarded([&] {
    stowage_conversion*& to = given(out, "out");
    // The views check that types and elements have the same size.
    const stowage::TensorView from(dtype_of(src_dtype), given(src, "src").mapping, nullptr);
    const stowage::TensorView into(dtype_of(dst_dtype), given(dst, "dst").mapping, nullptr);
    to = new stowage_conversion{
        Conversion(from.dtype, from.mapping, into.dtype, into.mapping, read_map(map))};
  });
}

void stowage_conversion_destroy(stowage_conversion* conversion) { delete conversion; }

stowage_status stowage_conversion_run(const stowage_conversion* conversion, const void* src,
                                      void* dst, int threads) {
  return guarded([&] {
    const Conversion& c = given(conversion, "conversion").conversion;
    if (c.bytes_moved() > 0 && src == nullptr) stowage::c::fail_null("src");
    if (c.bytes_moved() > 0 && dst == nullptr) stowage::c::fail_null("dst");
    c.run(src, dst, stowage::pool_of(threads));
  });
}

size_t stowage_conversion_bytes(const stowage_conversion* conversion) {
  return conversion == nullptr ? 0 : conversion->conversion.bytes_moved();
}

int stowage_conversion_is_alias(const stowage_conversion* conversion) {
  return conversion != nullptr && conversion->conversion.is_alias() ? 1 : 0;
}

stowage_status stowage_conversion_explain(const stowage_conversion* conversion, char** out) {
  return guarded([&] {
    char*& to = given(out, "text");
    to = copy_text(given(conversion, "conversion").conversion.explain());
  });
}

stowage_status stowage_convert(const stowage_view* src, const stowage_view* dst,
                               const stowage_scalar_map* map) {
  return guarded([&] {
    const View from = read_view(src, "src");
    const View into = read_view(dst, "dst", &from.mapping.shape());
    const Conversion conversion(from.dtype, from.mapping, into.dtype, into.mapping, read_map(map));
    if (conversion.bytes_moved() > 0 && from.data == nullptr) stowage::c::fail_null("src.data");
    if (conversion.bytes_moved() > 0 && into.data == nullptr) stowage::c::fail_null("dst.data");
    conversion.run(from.data, into.data);
  });
}

}  // extern "C"
