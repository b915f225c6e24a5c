// SPDX-License-Identifier: Apache-2.0
// Where each element lies: laws over the whole catalogue, formulas of the sources, golden
// positions, and equality by normal form.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "base/checked.h"
#include "stowage/error.h"
#include "stowage/layout.h"
#include "test_paths.h"

namespace stowage {

namespace {

using Coordinates = std::vector<std::int64_t>;

/// Calls visit(x) for every element, last axis fastest.
void for_each(const Shape& shape, const std::function<void(const Coordinates&)>& visit) {
  Coordinates x(static_cast<std::size_t>(shape.rank()), 0);
  if (shape.elements() == 0) return;
  for (;;) {
    visit(x);
    int dim = shape.rank() - 1;
    for (; dim >= 0 && ++x[static_cast<std::size_t>(dim)] == shape[dim]; --dim) {
      x[static_cast<std::size_t>(dim)] = 0;
    }
    if (dim < 0) return;
  }
}

Shape random_shape(const Layout& layout, std::mt19937& random) {
  const std::vector<Axis> axes = layout.axes();
  const bool large_blocks = layout.text().find("48") != std::string::npos ||
                            layout.text().find("32") != std::string::npos ||
                            layout.text().find("16") != std::string::npos;
  std::vector<std::int64_t> extents;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    constexpr std::array<std::int64_t, 7> kSmall = {1, 2, 3, 4, 5, 7, 9};
    constexpr std::array<std::int64_t, 4> kLarge = {1, 15, 31, 33};
    const bool channels = axes[i].name() == "c" || axes[i].name() == "o";
    extents.push_back(large_blocks && channels ? kLarge[random() % 4] : kSmall[random() % 7]);
  }
  return Shape(axes, extents);
}

void check_laws(const Mapping& map, const std::string& what) {
  SCOPED_TRACE(what);
  const Shape& shape = map.shape();
  std::vector<bool> taken(static_cast<std::size_t>(map.cells()), false);
  Coordinates back(static_cast<std::size_t>(shape.rank()));
  const std::int64_t pitch_x =
      map.extent(Space::y) == 0 ? 0 : map.cells() / map.extent(Space::y) / map.extent(Space::lane);
  std::int64_t wrong = 0;
  for_each(shape, [&](const Coordinates& x) {
    const std::int64_t cell = map.offset(x);
    if (cell < 0 || cell >= map.cells() || taken[static_cast<std::size_t>(cell)]) {
      ++wrong;
      return;
    }
    taken[static_cast<std::size_t>(cell)] = true;
    if (map.inverse(cell, back) != Cell::data || back != x) ++wrong;
    if (map.layout().is_image()) {
      const std::int64_t y = map.coordinate(x, Space::y), texel = map.coordinate(x, Space::x),
                         lane = map.coordinate(x, Space::lane);
      if (y >= map.extent(Space::y) || texel >= map.extent(Space::x) ||
          lane >= map.extent(Space::lane) ||
          cell != (y * pitch_x + texel) * map.extent(Space::lane) + lane) {
        ++wrong;
      }
    } else if (map.coordinate(x, Space::mem) != cell) {
      ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0) << "elements that share a cell, lie outside, or do not come back";

  Mapping::CellCounts walked;
  for (std::int64_t cell = 0; cell < map.cells(); ++cell) {
    const Cell kind = map.inverse(cell, back);
    (kind == Cell::data ? walked.data : kind == Cell::tail ? walked.tail : walked.gap) += 1;
    EXPECT_EQ(kind == Cell::data, taken[static_cast<std::size_t>(cell)]) << "cell " << cell;
    if (kind == Cell::gap) continue;
    EXPECT_EQ(map.offset(back), cell);
    for (int dim = 0; dim < shape.rank(); ++dim) {
      EXPECT_LT(back[static_cast<std::size_t>(dim)], map.padded(dim));
    }
  }
  const Mapping::CellCounts counted = map.count();
  EXPECT_EQ(counted.data, walked.data);
  EXPECT_EQ(counted.tail, walked.tail);
  EXPECT_EQ(counted.gap, walked.gap);
  EXPECT_EQ(counted.data, shape.elements());
  EXPECT_EQ(map.bijective(), walked.tail == 0 && walked.gap == 0);
  EXPECT_TRUE(map.same_bytes(map));
}

TEST(MappingTest, LawsHoldOverTheCatalogue) {
  std::mt19937 random(1);
  for (const NamedLayout& line : layout_catalog()) {
    const Layout layout = Layout::parse(line.layout);
    for (int i = 0; i < 6; ++i) {
      const Shape shape = random_shape(layout, random);
      const int element_bytes = 1 << random() % 4;
      const Mapping map(layout, shape, element_bytes);
      if (map.cells() > 100000) continue;
      check_laws(map, std::string(line.name) + " " + shape.text());
      if (layout.is_image()) check_laws(Mapping(layout, shape, element_bytes, 5), "pitch of 5");
    }
  }
}

std::string random_layout(std::mt19937& random) {
  std::vector<std::string> nodes;
  for (const char axis : {'a', 'b', 'c'}) {
    int q = 1;
    for (std::size_t n = random() % 3; n-- > 0;) {
      constexpr std::array<int, 5> kRadix = {2, 3, 4, 6, 8};
      const int m = kRadix[random() % 5];
      nodes.push_back(axis + ("/" + std::to_string(q)) + "%" + std::to_string(m));
      q *= m;
    }
    constexpr std::array<const char*, 5> kTail = {"", "", "", "~4", "~3"};
    nodes.push_back(axis + ("/" + std::to_string(q)) + kTail[random() % 5]);
  }
  std::shuffle(nodes.begin(), nodes.end(), random);
  std::size_t open = random() % nodes.size(), close = random() % nodes.size();
  if (open > close) std::swap(open, close);
  constexpr std::array<const char*, 4> kAlign = {")", ")~5", ")~16B", ")~24B"};
  nodes[open] = "(" + nodes[open];
  nodes[close] += kAlign[random() % 4];
  std::string out;
  for (const std::string& node : nodes) out += node + " ";
  return out;
}

TEST(MappingTest, LawsHoldOnRandomLayouts) {
  std::mt19937 random(2);
  for (int i = 0; i < 300; ++i) {
    const Layout layout = Layout::parse(random_layout(random));
    std::vector<std::int64_t> extents;
    for (int dim = 0; dim < 3; ++dim) {
      constexpr std::array<std::int64_t, 8> kExtents = {1, 2, 3, 5, 7, 11, 13, 25};
      extents.push_back(kExtents[random() % 8]);
    }
    const Mapping map(layout, Shape("abc", extents), 1 << random() % 4);
    if (map.cells() < 60000) check_laws(map, layout.text() + " " + map.shape().text());
  }
}

/// The row-major product of digits by its definition: walk the tree, most significant first.
std::int64_t oracle_offset(const Layout& layout, Space space, const Shape& shape,
                           const Coordinates& x, int element_bytes) {
  std::vector<Layout::Item> items;
  for (const Layout::Item& item : layout.items()) {
    if (item.space == space) items.push_back(item);
  }

  struct Extent {
    std::int64_t value, extent;
  };

  // Right to left; `inner` is the extent of everything to the right.
  std::size_t i = items.size();
  const std::function<Extent(std::int64_t)> group = [&](std::int64_t inner) {
    Extent out{0, 1};
    while (i > 0 && items[i - 1].kind != Layout::Item::Kind::open) {
      const Layout::Item item = items[--i];
      Extent part{0, 1};
      if (item.kind == Layout::Item::Kind::close) {
        part = group(inner * out.extent);
        --i;
        const std::int64_t unit = item.bytes ? inner * out.extent * element_bytes : 1;
        part.extent = (part.extent * unit + item.align - 1) / item.align * item.align / unit;
      } else {
        const auto dim = static_cast<std::size_t>(shape.index_of(item.axis));
        part.extent = item.m != 0
                          ? item.m
                          : round_up(ceil_div(shape[static_cast<int>(dim)], item.q), item.align);
        part.value = x[dim] / item.q % part.extent;
      }
      out.value += part.value * out.extent;
      out.extent *= part.extent;
    }
    return out;
  };
  return group(1).value;
}

TEST(MappingTest, OffsetsAgreeWithTheOracle) {
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    const Layout layout = Layout::parse(random_layout(random));
    const Shape shape("abc", {5, 7, 13});
    const int element_bytes = 1 << random() % 3;
    const Mapping map(layout, shape, element_bytes);
    std::int64_t wrong = 0;
    for_each(shape, [&](const Coordinates& x) {
      wrong += oracle_offset(layout, Space::mem, shape, x, element_bytes) != map.offset(x);
    });
    EXPECT_EQ(wrong, 0) << layout.text();
  }
}

// The formulas of MACE and ncnn, in their own words.

struct Texel {
  std::int64_t x, y, lane;
};

void check_image(std::string_view name, const Shape& shape, std::int64_t width, std::int64_t height,
                 const std::function<Coordinates(Texel)>& relation) {
  const Mapping map(Layout::parse(name), shape, 4);
  SCOPED_TRACE(std::string(name) + " " + shape.text());
  ASSERT_EQ(map.extent(Space::x), width);
  ASSERT_EQ(map.extent(Space::y), height);
  ASSERT_EQ(map.extent(Space::lane), 4);
  Coordinates x(static_cast<std::size_t>(shape.rank()));
  for (std::int64_t j = 0; j < height; ++j) {
    for (std::int64_t i = 0; i < width; ++i) {
      for (std::int64_t k = 0; k < 4; ++k) {
        const Cell kind = map.inverse((j * width + i) * 4 + k, x);
        const Coordinates want = relation({i, j, k});
        bool inside = true;
        for (std::size_t d = 0; d < want.size(); ++d) {
          inside &= want[d] < shape[static_cast<int>(d)];
        }
        EXPECT_EQ(kind, inside ? Cell::data : Cell::tail) << i << ' ' << j << ' ' << k;
        if (inside) {
          EXPECT_EQ(x, want) << i << ' ' << j << ' ' << k;
        }
      }
    }
  }
}

TEST(MappingTest, ImagesFollowMace) {
  const std::int64_t shapes[][4] = {{1, 1, 1, 1}, {2, 3, 5, 7},  {3, 13, 3, 2},
                                    {1, 4, 4, 4}, {2, 9, 6, 11}, {2, 17, 2, 1}};
  for (const auto& [n, c, h, w] : shapes) {
    const Shape shape("nchw", {n, c, h, w});
    const std::int64_t h4 = ceil_div(h, 4), w4 = ceil_div(w, 4);
    check_image("image-channel", shape, w * ceil_div(c, 4), n * h,
                [h = h, w = w](Texel t) -> Coordinates {
                  return {t.y / h, t.x / w * 4 + t.lane, t.y % h, t.x % w};
                });
    check_image("image-height", shape, w * c, n * h4, [h4, w = w](Texel t) -> Coordinates {
      return {t.y / h4, t.x / w, t.y % h4 * 4 + t.lane, t.x % w};
    });
    check_image("image-width", shape, w4 * c, n * h, [h = h, w4](Texel t) -> Coordinates {
      return {t.y / h, t.x / w4, t.y % h, t.x % w4 * 4 + t.lane};
    });
  }
}

TEST(MappingTest, FilterImagesFollowMace) {
  const std::int64_t shapes[][4] = {{1, 1, 1, 1}, {6, 3, 3, 3}, {13, 5, 2, 5}, {4, 8, 1, 7}};
  for (const auto& [o, i, h, w] : shapes) {
    const Shape shape("oihw", {o, i, h, w});
    const std::int64_t o4 = ceil_div(o, 4), hw = h * w;
    const auto relation = [hw, w = w](Texel t) -> Coordinates {
      return {t.y / hw * 4 + t.lane, t.x, t.y % hw / w, t.y % hw % w};
    };
    check_image("image-filter", shape, i, o4 * hw, relation);
    check_image("image-filter-wide", shape, round_up(i, 4), o4 * hw, relation);
    check_image("image-filter-height", shape, hw * i, o4, [i = i, w = w](Texel t) -> Coordinates {
      return {t.y * 4 + t.lane, t.x % i, t.x / i / w, t.x / i % w};
    });
    const std::int64_t i4 = ceil_div(i, 4);
    check_image("image-filter-width", shape, i4 * hw, o, [i4, w = w](Texel t) -> Coordinates {
      return {t.y, t.x % i4 * 4 + t.lane, t.x / i4 / w, t.x / i4 % w};
    });
    const Shape depthwise("mihw", {1, o, h, w});
    check_image("image-depthwise", depthwise, hw, o4, [w = w](Texel t) -> Coordinates {
      return {0, t.y * 4 + t.lane, t.x / w, t.x % w};
    });
  }
  for (const std::int64_t w : {1, 3, 4, 5, 40, 41}) {
    check_image("image-argument", Shape("w", {w}), ceil_div(w, 4), 1,
                [](Texel t) -> Coordinates { return {t.x * 4 + t.lane}; });
  }
}

TEST(MappingTest, PrintedRelationsAreNotLayouts) {
  // Height-major and width-major as printed: docs/layouts.md quotes these numbers.
  const Shape shape("nchw", {2, 3, 9, 7});
  const std::int64_t n = 2, c = 3, h = 9, w = 7;
  const auto defects = [&](std::int64_t width, std::int64_t height, const auto& relation) {
    std::map<Coordinates, int> hits;
    for (std::int64_t j = 0; j < height; ++j) {
      for (std::int64_t i = 0; i < width; ++i) {
        for (std::int64_t k = 0; k < 4; ++k) {
          const Coordinates x = relation(i, j, k);
          if (x[0] < n && x[1] < c && x[2] < h && x[3] < w) ++hits[x];
        }
      }
    }
    std::int64_t twice = 0;
    for (const auto& hit : hits) twice += hit.second > 1;
    return std::pair(shape.elements() - static_cast<std::int64_t>(hits.size()), twice);
  };
  EXPECT_EQ(defects(w * c, n * ceil_div(h, 4),
                    [&](std::int64_t i, std::int64_t j, std::int64_t k) -> Coordinates {
                      return {j % n, i / w, j / h * 4 + k, i % w};
                    }),
            std::pair(std::int64_t{210}, std::int64_t{168}));
  EXPECT_EQ(defects(ceil_div(w, 4) * c, n * h,
                    [&](std::int64_t i, std::int64_t j, std::int64_t k) -> Coordinates {
                      return {j / h, i / w, j % h, i % w * 4 + k};
                    }),
            std::pair(std::int64_t{252}, std::int64_t{0}));
}

// checklist 8.6
TEST(MappingTest, WherePrintedHeightMajorIsALayoutAllTheSame) {
  for (std::int64_t n = 1; n <= 8; ++n) {
    for (std::int64_t h = 1; h <= 12; ++h) {
      const Mapping map(Layout::parse("image-height"), Shape("nchw", {n, 1, h, 1}), 4);
      std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> cells;
      bool agrees = true, unique = true;
      for (std::int64_t j = 0; j < n * ceil_div(h, 4); ++j) {
        for (std::int64_t k = 0; k < 4; ++k) {
          const std::int64_t at = j % n, row = j / h * 4 + k;
          if (row >= h) continue;
          unique &= cells.emplace(std::pair(at, row), j * 4 + k).second;
          agrees &= map.offset(Coordinates{at, 0, row, 0}) == j * 4 + k;
        }
      }
      const bool layout = unique && static_cast<std::int64_t>(cells.size()) == n * h;
      EXPECT_EQ(layout && agrees, n <= h && h <= 4) << n << " " << h;
      EXPECT_EQ(layout && !agrees, n == h && h >= 5) << n << " " << h;
    }
  }
}

// checklist 7.13, 8.7: rounded in ncnn whatever the number of dims; positions are the same.
TEST(MappingTest, MatsOfOneAndTwoDimsEndInAGapToo) {
  const struct {
    const char *named, *whole, *axes;
    std::vector<std::int64_t> extents;
    std::size_t named_bytes, whole_bytes;
  } cases[] = {
      {"ncnn-1d-pack1", "(w)~16B", "w", {3}, 12, 16},
      {"ncnn-2d-pack1", "(h w)~16B", "hw", {6, 5}, 120, 128},
  };

  for (const auto& c : cases) {
    const Mapping named(Layout::parse(c.named), Shape(c.axes, c.extents), 4);
    const Mapping whole(Layout::parse(c.whole), Shape(c.axes, c.extents), 4);
    EXPECT_EQ(named.bytes(), c.named_bytes);
    EXPECT_EQ(whole.bytes(), c.whole_bytes);
    for_each(named.shape(),
             [&](const Coordinates& x) { EXPECT_EQ(named.offset(x), whole.offset(x)); });
  }
}

TEST(MappingTest, MatsFollowNcnn) {
  for (const std::int64_t p : {1, 2, 3, 4, 8, 16}) {
    const std::string pack = "pack" + std::to_string(p);
    const Layout planes = Layout::parse("ncnn-3d-" + pack);
    const Layout volumes = Layout::parse("ncnn-4d-" + pack);
    const Layout matrix = Layout::parse("ncnn-2d-" + pack);
    for (const int element_bytes : {1, 2, 4, 8}) {
      const std::int64_t elemsize = element_bytes * p;
      const std::int64_t shapes[][3] = {{5, 3, 2}, {4, 5, 7}, {16, 1, 1}, {9, 3, 3}};
      for (const auto& [c, h, w] : shapes) {
        const Mapping map(planes, Shape("chw", {c, h, w}), element_bytes);
        const std::int64_t cstep = round_up(w * h * elemsize, 16) / elemsize;
        for_each(map.shape(), [&, w = w](const Coordinates& x) {
          EXPECT_EQ(map.offset(x) * element_bytes, x[0] / p * cstep * elemsize +
                                                       (x[1] * w + x[2]) * elemsize +
                                                       x[0] % p * element_bytes);
        });
        EXPECT_EQ(map.cells() * element_bytes, ceil_div(c, p) * cstep * elemsize);
        const Mapping flat(matrix, Shape("hw", {c, w}), element_bytes);
        for_each(flat.shape(), [&, w = w](const Coordinates& x) {
          EXPECT_EQ(flat.offset(x), (x[0] / p * w + x[1]) * p + x[0] % p);
        });
      }
      const Mapping map(volumes, Shape("cdhw", {5, 2, 3, 5}), element_bytes);
      const std::int64_t cstep = round_up(30 * elemsize, 16) / elemsize;
      for_each(map.shape(), [&](const Coordinates& x) {
        EXPECT_EQ(map.offset(x) * element_bytes, x[0] / p * cstep * elemsize +
                                                     ((x[1] * 3 + x[2]) * 5 + x[3]) * elemsize +
                                                     x[0] % p * element_bytes);
      });
    }
  }
  // Interleaved RGB bytes: (h w)~16B floors to whole pixels, 31 * 3 = 93 bytes take 96.
  EXPECT_EQ(Mapping(Layout::parse("c/3 (h w)~16B c%3"), Shape("chw", {3, 1, 31}), 1).cells(), 96);
  EXPECT_EQ(Mapping(Layout::parse("c/3 (h w)~16B c%3"), Shape("chw", {3, 1, 3}), 1).cells(), 15);
}

// checklist 1.1, 1.3, 1.4, 1.6, 1.7
TEST(MappingTest, GoldenPositions) {
  if (std::string_view(STOWAGE_TEST_DATA).empty()) GTEST_SKIP() << "skipped: no test data";
  std::ifstream file(STOWAGE_TEST_DATA "/spec/golden_layouts.json");
  if (!file) GTEST_SKIP() << "skipped: no test data";
  const nlohmann::json cases = nlohmann::json::parse(file);
  ASSERT_GT(cases.size(), 0u);
  for (const auto& c : cases) {
    const Shape shape(c["dims"].get<std::string>(), c["shape"].get<std::vector<std::int64_t>>());
    const Mapping map(Layout::parse(c["layout"].get<std::string>()), shape, c["element_bytes"]);
    SCOPED_TRACE(c["name"].get<std::string>() + " " + shape.text());
    for (const auto& [space, extent] : c["extents"].items()) {
      for (const Space s : {Space::mem, Space::y, Space::x, Space::lane}) {
        if (space_name(s) == space) {
          EXPECT_EQ(map.extent(s), extent);
        }
      }
    }
    EXPECT_EQ(map.count().data, c["cells"]["data"]);
    EXPECT_EQ(map.count().tail, c["cells"]["tail"]);
    EXPECT_EQ(map.count().gap, c["cells"]["gap"]);
    const auto& positions = c["positions"];
    ASSERT_EQ(positions.size(), static_cast<std::size_t>(shape.elements()));
    std::size_t next = 0;
    std::int64_t wrong = 0;
    for_each(shape, [&](const Coordinates& x) {
      const auto& want = positions[next++];
      if (want.is_array()) {
        wrong += map.coordinate(x, Space::y) != want[0] || map.coordinate(x, Space::x) != want[1] ||
                 map.coordinate(x, Space::lane) != want[2];
      } else {
        wrong += map.offset(x) != want.get<std::int64_t>();
      }
    });
    EXPECT_EQ(wrong, 0);
  }
}

// Equality.

bool same(std::string_view a, std::string_view b, const Shape& shape) {
  const Mapping left(Layout::parse(a), shape, 4), right(Layout::parse(b), shape, 4);
  EXPECT_EQ(left.same_bytes(right), right.same_bytes(left));
  return left.same_bytes(right);
}

TEST(MappingTest, NormalFormDecidesEquality) {
  EXPECT_TRUE(same("w/4 w%4", "w~4", Shape("w", {5})));
  EXPECT_TRUE(same("NCHW", "NHWC", Shape("nchw", {2, 1, 3, 4})));
  EXPECT_TRUE(same("nChw4c", "NHWC4", Shape("nchw", {2, 3, 3, 4})));
  EXPECT_TRUE(same("NCHW", "c n h w", Shape("nchw", {1, 3, 3, 4})));
  EXPECT_TRUE(same("nChw4c", "image-channel", Shape("nchw", {1, 3, 3, 4})));
  EXPECT_TRUE(same("image-channel", "texture-nhwc", Shape("nchw", {2, 4, 3, 4})));
  EXPECT_TRUE(same("c (h w)~16B", "c h w", Shape("chw", {5, 2, 6})));
  EXPECT_FALSE(same("NCHW", "NHWC", Shape("nchw", {2, 3, 3, 4})));
  EXPECT_FALSE(same("nChw4c", "NHWC4", Shape("nchw", {2, 5, 3, 4})));
  EXPECT_FALSE(same("c (h w)~16B", "c h w", Shape("chw", {5, 3, 3})));
  EXPECT_FALSE(same("w~4", "w", Shape("w", {5})));
  EXPECT_TRUE(same("w~4", "w", Shape("w", {8})));
  // The same digits in another order, with a hole between them, in a larger buffer.
  EXPECT_FALSE(same("c%2 c/2%2 c/4", "c/2%2 c%2 c/4", Shape("c", {8})));
  EXPECT_FALSE(same("c/2 (c%2)~4", "(c)~12", Shape("c", {6})));
  EXPECT_FALSE(same("w", "(w)~16", Shape("w", {5})));
}

TEST(MappingTest, AxesOfExtentOneMayBeMissing) {
  const Mapping four(Layout::parse("NCHW"), Shape("nchw", {1, 3, 4, 5}), 4);
  const Mapping three(Layout::parse("c h w"), Shape("chw", {3, 4, 5}), 4);
  EXPECT_TRUE(four.same_bytes(three));
  EXPECT_TRUE(three.same_bytes(four));
  const Mapping two(Layout::parse("NCHW"), Shape("nchw", {2, 3, 4, 5}), 4);
  EXPECT_FALSE(two.same_bytes(three));
  EXPECT_FALSE(three.same_bytes(two));
  EXPECT_FALSE(four.same_bytes(Mapping(Layout::parse("c h w"), Shape("chw", {3, 4, 5}), 2)));
  EXPECT_FALSE(four.same_bytes(Mapping(Layout::parse("h w c"), Shape("hwc", {4, 5, 3}), 4)));
  EXPECT_TRUE(four.same_bytes(Mapping(Layout::parse("c h w"), Shape("hwc", {4, 5, 3}), 4)));
  EXPECT_FALSE(Mapping(Layout::parse("a b"), Shape("ab", {3, 4}), 4)
                   .same_bytes(Mapping(Layout::parse("b a"), Shape("ab", {3, 4}), 4)));
}

TEST(MappingTest, EqualBytesMeansEqualOffsets) {
  std::mt19937 random(4);
  int equal = 0;
  std::vector<Layout> layouts;
  for (const NamedLayout& line : layout_catalog()) {
    const Layout layout = Layout::parse(line.layout);
    std::vector<Axis> axes = layout.axes();
    std::sort(axes.begin(), axes.end());
    if (axes == std::vector{Axis("c"), Axis("h"), Axis("n"), Axis("w")}) layouts.push_back(layout);
  }
  for (int i = 0; i < 30; ++i) {
    constexpr std::array<std::int64_t, 5> kExtents = {1, 1, 3, 4, 8};
    const Shape shape("nchw", {kExtents[random() % 3], kExtents[random() % 5],
                               kExtents[random() % 3], kExtents[random() % 5]});
    for (const Layout& a : layouts) {
      for (const Layout& b : layouts) {
        const Mapping left(a, shape, 4), right(b, shape, 4);
        if (!left.same_bytes(right)) continue;
        ++equal;
        for_each(shape, [&](const Coordinates& x) { EXPECT_EQ(left.offset(x), right.offset(x)); });
      }
    }
  }
  EXPECT_GT(equal, 300);
}

// The edges.

TEST(MappingTest, EmptyTensorsTakeNoCells) {
  for (const char* layout : {"NCHW", "nChw4c", "image-channel", "n (c/4 (h w)~16B c%4)~4096B"}) {
    for (int zero = 0; zero < 4; ++zero) {
      std::vector<std::int64_t> extents = {2, 5, 3, 4};
      extents[static_cast<std::size_t>(zero)] = 0;
      const Mapping map(Layout::parse(layout), Shape("nchw", extents), 4);
      check_laws(map, layout);
      EXPECT_EQ(map.bytes(), 0u);
      EXPECT_EQ(map.padded(zero), 0);
      EXPECT_TRUE(map.bijective());
    }
  }
}

TEST(MappingTest, ScalarsTakeOneCell) {
  const Mapping map(Layout(), Shape(), 8);
  EXPECT_EQ(map.cells(), 1);
  EXPECT_EQ(map.bytes(), 8u);
  EXPECT_EQ(map.offset({}), 0);
  check_laws(map, "()");
}

TEST(MappingTest, GapsMayBeInnermost) {
  const Mapping map(Layout::parse("w (c)~4"), Shape("wc", {5, 1}), 4);
  check_laws(map, "w (c)~4");
  EXPECT_EQ(map.count().gap, 15);
}

TEST(MappingTest, RowPitchIsGap) {
  const Mapping map(Layout::parse("y:h x:w lane:c"), Shape("hwc", {3, 5, 4}), 1, 8);
  EXPECT_EQ(map.cells(), 3 * 8 * 4);
  EXPECT_EQ(map.extent(Space::x), 5);
  EXPECT_EQ(map.count().gap, 3 * 3 * 4);
  // Whatever order the coordinates are written in, rows follow rows.
  const Mapping turned(Layout::parse("lane:c x:w y:h"), Shape("hwc", {3, 5, 4}), 1, 8);
  EXPECT_TRUE(map.same_bytes(turned));
}

TEST(MappingTest, WrongShapesAreExplained) {
  struct Case {
    const char *layout, *shape, *sentence;
    ErrorCode code = ErrorCode::usage;
  };

  for (const Case& c : {
           Case{"h w", "c=3,h=4,w=5", "h w: no place for dim 'c'=3 of c=3,h=4,w=5 (must be 1)"},
           Case{"h w c%1", "c=3,h=4,w=5",
                "h w c%1: no place for dim 'c'=3 of c=3,h=4,w=5 (must be 1)"},
           Case{"NCHW", "h=4,w=5", "n c h w: the shape h=4,w=5 has no dim 'n'; add n=1"},
           Case{"w~2147483648 h~2147483648", "h=1,w=1",
                "w~2147483648 h~2147483648: a tensor of shape h=1,w=1 takes 2^50 cells or more",
                ErrorCode::limit},
           Case{
               "(w h)~2147483648B", "h=70368744177,w=1000",
               "(w h)~2147483648B: a tensor of shape h=70368744177,w=1000 takes 2^50 cells or more",
               ErrorCode::limit},
       }) {
    try {
      const Mapping map(Layout::parse(c.layout), Shape::parse(c.shape), 16);
      ADD_FAILURE() << c.layout << " with " << c.shape << " takes " << map.cells() << " cells";
    } catch (const Error& error) {
      EXPECT_EQ(error.sentence(), c.sentence);
      EXPECT_EQ(error.code(), c.code);
    }
  }
  EXPECT_THROW(Mapping(Layout(), Shape(), 0), Error);
  EXPECT_THROW(Mapping(Layout(), Shape(), 4, 0), Error);
  // Padding far beyond the shape, for any scalar and pitch: refused or counted, never wrapped.
  for (const char* layout : {"a~2147483648", "(a)~2147483648B", "y:a x:b~2147483648 lane:c",
                             "a/2147483648 a%2147483648"}) {
    for (const std::int64_t extent : {std::int64_t{1}, std::int64_t{1} << 46}) {
      for (const std::int64_t pitch : {std::int64_t{1}, std::int64_t{1} << 31}) {
        std::vector<std::int64_t> extents(Layout::parse(layout).axes().size(), 1);
        extents[0] = extent;
        try {
          const Mapping map(Layout::parse(layout), Shape(Layout::parse(layout).axes(), extents), 8,
                            pitch);
          EXPECT_GE(map.cells(), extent);
          EXPECT_EQ(map.count().data, extent);
          EXPECT_GE(map.count().tail, 0);
          EXPECT_GE(map.count().gap, 0);
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::limit);
        }
      }
    }
  }
}

}  // namespace

}  // namespace stowage
