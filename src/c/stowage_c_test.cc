// SPDX-License-Identifier: Apache-2.0
// Layouts, conversions and errors through the C interface, compared with the C++ one.
#include "stowage/stowage_c.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "c/test_util.h"
#include "stowage/stowage.h"

namespace stowage {
namespace {

using test::map_of;
using test::MappingHandle;

TEST(CInterface, KnowsItselfAndItsTypes) {
  EXPECT_STREQ(stowage_version(), STOWAGE_VERSION);
  for (const stowage_part part : {STOWAGE_PART_ONNX, STOWAGE_PART_TFLITE, STOWAGE_PART_NCNN}) {
    EXPECT_EQ(stowage_has_part(part), 1);
  }
  EXPECT_EQ(stowage_has_part(static_cast<stowage_part>(99)), 0);
  for (int i = STOWAGE_F32; i <= STOWAGE_BOOL; ++i) {
    const auto dtype = static_cast<std::int32_t>(i);
    EXPECT_EQ(stowage_dtype_name(dtype), dtype_name(static_cast<DType>(i)));
    EXPECT_EQ(stowage_dtype_bytes(dtype),
              static_cast<std::size_t>(dtype_bytes(static_cast<DType>(i))));
  }
  EXPECT_EQ(stowage_dtype_name(13), nullptr);
  EXPECT_EQ(stowage_dtype_bytes(-1), 0u);
}

TEST(CInterface, DestroyingNothingIsAllowed) {
  stowage_model_destroy(nullptr);
  stowage_options_destroy(nullptr);
  stowage_plan_destroy(nullptr);
  stowage_session_destroy(nullptr);
  stowage_mapping_destroy(nullptr);
  stowage_conversion_destroy(nullptr);
  stowage_free_text(nullptr);
}

TEST(CInterface, TheLastErrorIsOfTheThread) {
  char* text = nullptr;
  EXPECT_EQ(stowage_layout_text("n c/", &text), STOWAGE_USAGE);
  const std::string here = stowage_last_error();
  EXPECT_NE(here.find("^"), std::string::npos) << here;
  std::thread([&] {
    EXPECT_EQ(stowage_last_status(), STOWAGE_OK);
    EXPECT_STREQ(stowage_last_error(), "");
    EXPECT_STREQ(stowage_last_trail(), "");
    stowage_mapping* mapping = nullptr;
    EXPECT_EQ(stowage_mapping_create("n", "n=0x", 4, 0, &mapping), STOWAGE_USAGE);
    EXPECT_NE(here, stowage_last_error());
  }).join();
  EXPECT_EQ(stowage_last_status(), STOWAGE_USAGE);
  EXPECT_EQ(here, stowage_last_error());
  // What succeeds leaves it.
  EXPECT_EQ(stowage_layout_text("n c", &text), STOWAGE_OK);
  stowage_free_text(text);
  EXPECT_EQ(here, stowage_last_error());
  EXPECT_EQ(stowage_last_sentence(), here);
}

TEST(CInterface, StructuresHaveTheSizesOfTheirVersions) {
  const MappingHandle mapping = map_of("NCHW", "n=1,c=2,h=3,w=4");

  // Longer by a field, as a later version is.
  struct Later {
    stowage_mapping_info info;
    std::int64_t more;
  } later = {STOWAGE_MAPPING_INFO_INIT, 7};

  later.info.size = sizeof later;
  ASSERT_EQ(stowage_mapping_get_info(mapping.get(), &later.info), STOWAGE_OK);
  EXPECT_EQ(later.info.cells, 24);
  EXPECT_EQ(later.info.size, sizeof later);
  EXPECT_EQ(later.more, 0);

  for (const std::size_t size :
       {std::size_t{0}, std::size_t{8}, sizeof(stowage_mapping_info) - 8, std::size_t{1} << 20}) {
    stowage_mapping_info info = STOWAGE_MAPPING_INFO_INIT;
    info.size = size;
    EXPECT_EQ(stowage_mapping_get_info(mapping.get(), &info), STOWAGE_USAGE) << size;
    EXPECT_NE(std::string(stowage_last_error()).find("INIT"), std::string::npos);
    EXPECT_EQ(info.cells, 0);
    stowage_view view = STOWAGE_VIEW_INIT;
    view.size = size;
    EXPECT_EQ(stowage_convert(&view, &view, nullptr), STOWAGE_USAGE) << size;
  }

  struct LaterView {
    stowage_view view;
    std::int64_t more;
  } from = {STOWAGE_VIEW_INIT, 0};

  const float source = 3;
  float result = 0;
  from.view.size = sizeof from;
  from.view.data = const_cast<float*>(&source);
  stowage_view into = STOWAGE_VIEW_INIT;
  into.data = &result;
  EXPECT_EQ(stowage_convert(&from.view, &into, nullptr), STOWAGE_OK) << stowage_last_error();
  EXPECT_EQ(result, 3);
  from.more = 1;
  EXPECT_EQ(stowage_convert(&from.view, &into, nullptr), STOWAGE_USAGE);
  EXPECT_STREQ(stowage_last_error(),
               "src has fields set that version " STOWAGE_VERSION " of the library does not know");
}

struct BadText {
  const char *layout, *shape;
  std::size_t element_bytes;
  std::int64_t row_pitch;
  stowage_status status;
  const char* part;
};

TEST(CInterface, BadTextsAreRefusedWithASentence) {
  const BadText cases[] = {
      {"n c/ h", "n=1", 4, 0, STOWAGE_USAGE, "^"},
      {"NCHW", "n=1,c=2,h=3", 4, 0, STOWAGE_USAGE, "has no dim 'w'"},
      {"NCHW", "n=1,c=x", 4, 0, STOWAGE_USAGE, "^"},
      {"NCHW", "n=1,c=-2,h=3,w=4", 4, 0, STOWAGE_USAGE, "^"},
      {"NCHW", "n=1,c=2,h=3,w=4", 0, 0, STOWAGE_USAGE, "0 bytes"},
      {"NCHW", "n=1,c=2,h=3,w=4", 17, 0, STOWAGE_USAGE, "17 bytes"},
      {"NCHW", "n=1,c=2,h=3,w=4", std::size_t(-1), 0, STOWAGE_USAGE, "not possible"},
      {"NCHW", "n=1,c=2,h=3,w=4", 4, -1, STOWAGE_USAGE, "row pitch"},
      {"n (c)~2000000000 h (w)~2000000000", "n=9,c=9,h=9999,w=9", 4, 0, STOWAGE_LIMIT, "2^50"},
  };
  for (const BadText& bad : cases) {
    stowage_mapping* mapping = nullptr;
    EXPECT_EQ(
        stowage_mapping_create(bad.layout, bad.shape, bad.element_bytes, bad.row_pitch, &mapping),
        bad.status)
        << bad.layout << " " << bad.shape;
    EXPECT_EQ(mapping, nullptr);
    EXPECT_NE(std::string(stowage_last_error()).find(bad.part), std::string::npos)
        << stowage_last_error();
  }
}

TEST(CInterface, LayoutsHaveALongFormAndASpelling) {
  for (const NamedLayout& named : layout_catalog()) {
    const Layout layout = Layout::parse(named.layout);
    const std::string given(named.layout);
    char *text = nullptr, *spelling = nullptr;
    ASSERT_EQ(stowage_layout_text(given.c_str(), &text), STOWAGE_OK) << stowage_last_error();
    ASSERT_EQ(stowage_layout_spelling(given.c_str(), &spelling), STOWAGE_OK);
    EXPECT_EQ(text, layout.text());
    EXPECT_EQ(spelling, layout.spelling());
    stowage_free_text(text);
    stowage_free_text(spelling);
  }
}

struct Bound {
  const char *layout, *shape;
  std::int64_t row_pitch;
};

TEST(CInterface, MappingsAreThoseOfTheLibrary) {
  const Bound cases[] = {
      {"NCHW", "n=2,c=3,h=2,w=5", 0},
      {"nChw8c", "n=1,c=11,h=3,w=2", 0},
      {"c/4 (h w)~16B c%4", "c=6,h=3,w=3", 0},
      {"y:(n h) x:(c/4 w) lane:c%4", "n=1,c=7,h=2,w=3", 4},
      {"()", "n=1", 0},
      {"NHWC", "n=1,c=3,h=0,w=2", 0},
  };
  for (const Bound& c : cases) {
    const Mapping want(Layout::parse(c.layout), Shape::parse(c.shape), 4,
                       std::max<std::int64_t>(c.row_pitch, 1));
    const MappingHandle mapping = map_of(c.layout, c.shape, 4, c.row_pitch);
    ASSERT_NE(mapping, nullptr) << stowage_last_error();
    stowage_mapping_info info = STOWAGE_MAPPING_INFO_INIT;
    ASSERT_EQ(stowage_mapping_get_info(mapping.get(), &info), STOWAGE_OK);
    const auto rank = static_cast<std::size_t>(info.rank);
    EXPECT_EQ(info.rank, want.shape().rank());
    EXPECT_EQ(info.image, want.layout().is_image() ? 1 : 0);
    EXPECT_EQ(info.cells, want.cells());
    EXPECT_EQ(info.bytes, want.bytes());
    EXPECT_EQ(info.y, want.extent(Space::y));
    EXPECT_EQ(info.x, want.extent(Space::x));
    EXPECT_EQ(info.lane, want.extent(Space::lane));
    EXPECT_EQ(info.data_cells + info.tail_cells + info.gap_cells, want.cells());
    std::int64_t counted[3] = {0, 0, 0};
    for (std::int64_t cell = 0; cell < info.cells; ++cell) {
      std::int64_t x[STOWAGE_MAX_RANK] = {}, y[STOWAGE_MAX_RANK] = {};
      stowage_cell kind = STOWAGE_CELL_GAP;
      ASSERT_EQ(stowage_mapping_get_cell(mapping.get(), cell, &kind, x, rank), STOWAGE_OK);
      EXPECT_EQ(static_cast<int>(kind), static_cast<int>(want.inverse(cell, y)));
      ++counted[kind];
      if (kind != STOWAGE_CELL_DATA) continue;
      stowage_place place = STOWAGE_PLACE_INIT;
      ASSERT_EQ(stowage_mapping_locate(mapping.get(), x, rank, &place), STOWAGE_OK);
      EXPECT_EQ(place.cell, cell);
      if (info.image == 1) {
        EXPECT_EQ(place.y, want.coordinate({x, rank}, Space::y));
        EXPECT_EQ(place.x, want.coordinate({x, rank}, Space::x));
        EXPECT_EQ(place.lane, want.coordinate({x, rank}, Space::lane));
      }
    }
    EXPECT_EQ(counted[STOWAGE_CELL_DATA], info.data_cells);
    EXPECT_EQ(counted[STOWAGE_CELL_TAIL], info.tail_cells);
    EXPECT_EQ(counted[STOWAGE_CELL_GAP], info.gap_cells);
    char *text = nullptr, *drawn = nullptr, *svg = nullptr;
    ASSERT_EQ(stowage_mapping_layout(mapping.get(), &text), STOWAGE_OK);
    ASSERT_EQ(stowage_mapping_draw(mapping.get(), &drawn), STOWAGE_OK);
    ASSERT_EQ(stowage_mapping_draw_svg(mapping.get(), &svg), STOWAGE_OK);
    EXPECT_EQ(text, want.layout().text());
    EXPECT_EQ(drawn, draw_text(want));
    EXPECT_EQ(svg, draw_svg(want));
    stowage_free_text(text);
    stowage_free_text(drawn);
    stowage_free_text(svg);
  }
}

TEST(CInterface, IndicesAreInsideAShape) {
  const MappingHandle mapping = map_of("NHWC", "n=1,c=2,h=3,w=4");
  stowage_place place = STOWAGE_PLACE_INIT;
  stowage_cell kind = STOWAGE_CELL_DATA;
  for (const std::vector<std::int64_t>& bad :
       {std::vector<std::int64_t>{0, 2, 0, 0}, {0, 0, -1, 0}, {0, 0, 0}, {0, 0, 0, 0, 0}}) {
    EXPECT_EQ(stowage_mapping_locate(mapping.get(), bad.data(), bad.size(), &place), STOWAGE_USAGE);
  }
  std::int64_t x[4] = {};
  EXPECT_EQ(stowage_mapping_locate(mapping.get(), nullptr, 4, &place), STOWAGE_USAGE);
  EXPECT_EQ(stowage_mapping_get_cell(mapping.get(), 24, &kind, x, 4), STOWAGE_USAGE);
  EXPECT_EQ(stowage_mapping_get_cell(mapping.get(), -1, &kind, x, 4), STOWAGE_USAGE);
  EXPECT_EQ(stowage_mapping_get_cell(mapping.get(), 0, &kind, x, 3), STOWAGE_USAGE);
  EXPECT_EQ(stowage_mapping_get_cell(mapping.get(), 0, nullptr, x, 4), STOWAGE_USAGE);
}

struct Strided {
  const char* shape;
  std::vector<std::int64_t> byte_strides;
  const char* refused;  ///< a part of the sentence, or null
};

TEST(CInterface, StridesAreLayouts) {
  const Strided cases[] = {
      {"n=2,c=3,h=4,w=5", {240, 80, 20, 4}, nullptr},  // row-major
      {"n=2,c=3,h=4,w=5", {240, 4, 60, 12}, nullptr},  // n h w c
      {"h=3,w=4,c=3", {64, 12, 4}, nullptr},           // rows are padded
      {"h=3,w=4,c=3", {64, 16, 4}, nullptr},           // three of four channels
      {"h=3,w=4", {64, 8}, nullptr},                   // every second
      {"h=3,w=4", {4, 40}, nullptr},                   // transposed, padded
      {"n=1,h=3,w=1", {-7, 12, 0}, nullptr},           // strides of 1 do not matter
      {"h=0,w=2", {-1, 3}, nullptr},                   // nothing is there
      {"n=1", {1}, nullptr},
      {"h=3,w=4", {-16, 4}, "negative"},
      {"h=3,w=4", {0, 4}, "repeats elements"},
      {"h=3,w=4", {18, 4}, "no multiple of the 4 bytes"},
      {"h=3,w=4", {8, 4}, "such strides have no layout"},
      {"h=2,w=3", {20, 8}, "such strides have no layout"},  // every second of five
      {"h=3,w=4", {std::int64_t{1} << 40, 4}, "2^31"},
  };
  for (const Strided& c : cases) {
    const Shape shape = Shape::parse(c.shape);
    stowage_mapping* made = nullptr;
    const stowage_status status =
        stowage_mapping_create_strided(c.shape, 4, c.byte_strides.data(), &made);
    const MappingHandle mapping(made);
    if (c.refused != nullptr) {
      EXPECT_EQ(status, STOWAGE_UNSUPPORTED) << c.shape;
      EXPECT_NE(std::string(stowage_last_error()).find(c.refused), std::string::npos)
          << stowage_last_error();
      continue;
    }
    ASSERT_EQ(status, STOWAGE_OK) << stowage_last_error();
    for (std::int64_t e = 0; e < shape.elements(); ++e) {
      std::vector<std::int64_t> x(static_cast<std::size_t>(shape.rank()));
      std::int64_t rest = e, want = 0;
      for (std::size_t i = x.size(); i-- > 0;) {
        x[i] = rest % shape[static_cast<int>(i)];
        rest /= shape[static_cast<int>(i)];
        want += x[i] * c.byte_strides[i];
      }
      stowage_place place = STOWAGE_PLACE_INIT;
      ASSERT_EQ(stowage_mapping_locate(mapping.get(), x.data(), x.size(), &place), STOWAGE_OK);
      EXPECT_EQ(place.cell * 4, want) << c.shape;
    }
  }
}

/// A picture whose rows are padded, in memory that ends with the last element: sanitizers see what
/// is touched behind it.
TEST(CInterface, ViewsWithStridesAreReadAndWrittenInPlace) {
  for (const std::int64_t columns : {1, 3, 17, 64}) {
    const std::int64_t rows = 5, pitch = columns * 3 + 7;
    const auto bytes = static_cast<std::size_t>((rows - 1) * pitch + columns * 3);
    const auto count = static_cast<std::size_t>(rows * columns * 3);
    const auto picture = std::make_unique<std::uint8_t[]>(bytes);
    for (std::size_t i = 0; i < bytes; ++i) picture[i] = static_cast<std::uint8_t>(i * 31 + 5);
    const std::int64_t strides[] = {pitch, 3, 1};
    stowage_view from = STOWAGE_VIEW_INIT, into = STOWAGE_VIEW_INIT;
    from.data = picture.get();
    from.dtype = STOWAGE_U8;
    from.rank = 3;
    from.extents[0] = rows;
    from.extents[1] = columns;
    from.extents[2] = 3;
    from.axes = "hwc";
    from.byte_strides = strides;
    const auto planes = std::make_unique<float[]>(count);
    into.data = planes.get();
    into.dtype = STOWAGE_F32;
    into.layout = "c h w";
    stowage_scalar_map map = STOWAGE_SCALAR_MAP_INIT;
    const float mean[] = {1, 2, 3}, norm[] = {0.5F, 0.25F, 2};
    map.mean = mean;
    map.mean_count = 3;
    map.norm = norm;
    map.norm_count = 3;
    ASSERT_EQ(stowage_convert(&from, &into, &map), STOWAGE_OK) << stowage_last_error();
    for (std::int64_t h = 0; h < rows; ++h) {
      for (std::int64_t w = 0; w < columns; ++w) {
        for (std::int64_t c = 0; c < 3; ++c) {
          EXPECT_EQ(planes[static_cast<std::size_t>((c * rows + h) * columns + w)],
                    (picture[static_cast<std::size_t>(h * pitch + w * 3 + c)] - mean[c]) * norm[c]);
        }
      }
    }
    // And back, between bytes that nobody may touch.
    const auto back = std::make_unique<std::uint8_t[]>(bytes);
    std::memset(back.get(), 0xaa, bytes);
    from.data = back.get();
    into.rank = 3;
    into.extents[0] = 3;
    into.extents[1] = rows;
    into.extents[2] = columns;
    into.axes = "chw";
    into.layout = nullptr;
    map = STOWAGE_SCALAR_MAP_INIT;
    const float undo[] = {2, 4, 0.5F};
    const float less[] = {-0.5F, -0.5F, -6};
    map.mean = less;
    map.mean_count = 3;
    map.norm = undo;
    map.norm_count = 3;
    ASSERT_EQ(stowage_convert(&into, &from, &map), STOWAGE_OK) << stowage_last_error();
    for (std::size_t i = 0; i < bytes; ++i) {
      const bool gap = static_cast<std::int64_t>(i) % pitch >= columns * 3;
      EXPECT_EQ(back[i], gap ? 0xaa : picture[i]) << i;
    }
  }
}

struct Move {
  const char *from, *to, *shape;
  DType src, dst;
  bool map;
};

TEST(CInterface, ConversionsAreThoseOfTheLibraryToTheBit) {
  const Move moves[] = {
      {"NCHW", "nChw8c", "n=1,c=30,h=7,w=9", DType::f32, DType::f32, false},
      {"NHWC", "NCHW", "n=2,c=3,h=65,w=67", DType::u8, DType::f32, true},
      {"NCHW", "y:(n h) x:(c/4 w) lane:c%4", "n=1,c=6,h=5,w=3", DType::f32, DType::f16, false},
      {"c/4 (h w)~16B c%4", "c h w", "c=6,h=3,w=3", DType::f32, DType::f64, false},
      {"NCHW", "NCHW", "n=1,c=2,h=3,w=4", DType::i64, DType::i64, false},
      {"NCHW", "NHWC", "n=1,c=2,h=0,w=4", DType::f32, DType::f32, false},
  };
  const float mean[] = {100, 110, 120}, norm[] = {0.1F, 0.2F, 0.3F};
  for (const Move& move : moves) {
    Tensor source(move.src, Shape::parse(move.shape), Layout::parse(move.from));
    for (std::size_t i = 0; i < source.bytes(); ++i) {
      source.data()[i] = static_cast<std::byte>(i * 7 % 61);
    }
    Tensor want(move.dst, source.shape(), Layout::parse(move.to)), got(want);
    ScalarMap map;
    stowage_scalar_map told = STOWAGE_SCALAR_MAP_INIT;
    if (move.map) {
      map = {mean, norm, Axis("c")};
      told.mean = mean;
      told.norm = norm;
      told.mean_count = told.norm_count = 3;
    }
    const Conversion conversion(move.src, source.mapping(), move.dst, want.mapping(), map);
    conversion.run(source.data(), want.data());

    const int src_bytes = dtype_bytes(move.src), dst_bytes = dtype_bytes(move.dst);
    const MappingHandle from = map_of(move.from, move.shape, static_cast<std::size_t>(src_bytes));
    const MappingHandle to = map_of(move.to, move.shape, static_cast<std::size_t>(dst_bytes));
    stowage_conversion* made = nullptr;
    ASSERT_EQ(stowage_conversion_create(static_cast<std::int32_t>(move.src), from.get(),
                                        static_cast<std::int32_t>(move.dst), to.get(),
                                        move.map ? &told : nullptr, &made),
              STOWAGE_OK)
        << stowage_last_error();
    const std::unique_ptr<stowage_conversion, decltype(&stowage_conversion_destroy)> held(
        made, stowage_conversion_destroy);
    EXPECT_EQ(stowage_conversion_bytes(made), conversion.bytes_moved());
    EXPECT_EQ(stowage_conversion_is_alias(made), conversion.is_alias() ? 1 : 0);
    char* text = nullptr;
    ASSERT_EQ(stowage_conversion_explain(made, &text), STOWAGE_OK);
    EXPECT_EQ(text, conversion.explain());
    stowage_free_text(text);
    for (const int threads : {1, 2, 3}) {
      std::memset(got.data(), 0x5a, got.bytes());
      ASSERT_EQ(stowage_conversion_run(made, source.data(), got.data(), threads), STOWAGE_OK);
      for (std::int64_t cell = 0; cell < got.mapping().cells(); ++cell) {
        std::int64_t x[STOWAGE_MAX_RANK] = {};
        if (got.mapping().inverse(cell, x) == Cell::gap) continue;
        const std::int64_t at = cell * dst_bytes;
        ASSERT_EQ(
            std::memcmp(got.data() + at, want.data() + at, static_cast<std::size_t>(dst_bytes)), 0)
            << move.from << " " << move.to << " cell " << cell;
      }
    }
    // One conversion, several threads.
    std::vector<Tensor> results(3, got);
    std::vector<std::thread> threads;
    for (Tensor& result : results) {
      threads.emplace_back([&] {
        for (int i = 0; i < 5; ++i) {
          EXPECT_EQ(stowage_conversion_run(made, source.data(), result.data(), 2), STOWAGE_OK);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Tensor& result : results) {
      EXPECT_EQ(std::memcmp(result.data(), got.data(), got.bytes()), 0);
    }
    for (const int threads_refused : {0, -1, 257}) {
      EXPECT_EQ(stowage_conversion_run(made, source.data(), got.data(), threads_refused),
                STOWAGE_USAGE);
    }
    if (conversion.bytes_moved() > 0) {
      EXPECT_EQ(stowage_conversion_run(made, nullptr, got.data(), 1), STOWAGE_USAGE);
      EXPECT_EQ(stowage_conversion_run(made, source.data(), nullptr, 1), STOWAGE_USAGE);
    }
  }
}

TEST(CInterface, ConversionsThatCannotBeAreRefused) {
  const MappingHandle four = map_of("NCHW", "n=1,c=2,h=3,w=4"),
                      bytes = map_of("NCHW", "n=1,c=2,h=3,w=4", 1),
                      other = map_of("NCHW", "n=1,c=2,h=3,w=5");
  stowage_conversion* made = nullptr;
  const auto create = [&](int src_type, const MappingHandle& src, int dst_type,
                          const MappingHandle& dst, const stowage_scalar_map* map = nullptr) {
    return stowage_conversion_create(src_type, src.get(), dst_type, dst.get(), map, &made);
  };
  EXPECT_EQ(create(STOWAGE_F32, four, STOWAGE_F32, other), STOWAGE_USAGE);
  EXPECT_EQ(create(STOWAGE_F32, four, STOWAGE_F32, bytes), STOWAGE_USAGE);
  EXPECT_EQ(create(STOWAGE_U8, four, STOWAGE_F32, four), STOWAGE_USAGE);
  EXPECT_EQ(create(99, four, STOWAGE_F32, four), STOWAGE_USAGE);
  stowage_scalar_map map = STOWAGE_SCALAR_MAP_INIT;
  map.mean_count = 2;
  EXPECT_EQ(create(STOWAGE_F32, four, STOWAGE_F32, four, &map), STOWAGE_USAGE);
  EXPECT_STREQ(stowage_last_error(), "map.mean is null");
  const float mean[] = {1, 2, 3};
  map.mean = mean;
  map.mean_count = 3;
  EXPECT_EQ(create(STOWAGE_F32, four, STOWAGE_F32, four, &map), STOWAGE_USAGE);
  map.axis = "no axis";
  EXPECT_EQ(create(STOWAGE_F32, four, STOWAGE_F32, four, &map), STOWAGE_USAGE);
  EXPECT_EQ(made, nullptr);
  EXPECT_EQ(stowage_conversion_bytes(nullptr), 0u);
  EXPECT_EQ(stowage_conversion_is_alias(nullptr), 0);
}

TEST(CInterface, ViewsThatCannotBeAreRefused) {
  float cells[24] = {};
  const std::int64_t strides[] = {16, 4};
  const auto refused = [&](auto change) {
    stowage_view view = STOWAGE_VIEW_INIT, into = STOWAGE_VIEW_INIT;
    float result[24];
    into.data = result;
    view.data = cells;
    view.rank = 2;
    view.extents[0] = 3;
    view.extents[1] = 4;
    change(view);
    const stowage_status status = stowage_convert(&view, &into, nullptr);
    return status == STOWAGE_OK ? std::string() : std::string(stowage_last_error());
  };
  EXPECT_EQ(refused([](stowage_view&) {}), "");
  EXPECT_EQ(refused([](stowage_view& v) { v.axes = "head,w"; }), "");
  EXPECT_EQ(refused([&](stowage_view& v) { v.byte_strides = strides; }), "");
  EXPECT_NE(refused([](stowage_view& v) { v.data = nullptr; }), "");
  EXPECT_NE(refused([](stowage_view& v) { v.rank = 9; }), "");
  EXPECT_NE(refused([](stowage_view& v) { v.rank = -1; }), "");
  EXPECT_NE(refused([](stowage_view& v) { v.dtype = 13; }), "");
  EXPECT_NE(refused([](stowage_view& v) { v.extents[0] = -1; }), "");
  EXPECT_NE(refused([](stowage_view& v) { v.extents[0] = INT64_MAX; }), "");
  EXPECT_NE(refused([](stowage_view& v) { v.axes = "h"; }), "");
  EXPECT_NE(refused([](stowage_view& v) { v.axes = "hh"; }), "");
  EXPECT_NE(refused([](stowage_view& v) { v.axes = "h,"; }), "");
  EXPECT_NE(refused([](stowage_view& v) { v.axes = "H W"; }), "");
  EXPECT_NE(refused([](stowage_view& v) { v.layout = "h w"; }), "");  // the axes are a and b
  EXPECT_NE(refused([&](stowage_view& v) { v.layout = "a b", v.byte_strides = strides; }), "");
}

}  // namespace
}  // namespace stowage
