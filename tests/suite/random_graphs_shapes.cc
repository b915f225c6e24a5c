// SPDX-License-Identifier: Apache-2.0
// What moves elements and changes none: concat, slice, pad, transpose, reshape, resize, gather, ...
#include <algorithm>
#include <string>
#include <utility>

#include "base/index.h"
#include "tests/suite/random_graphs_builder.h"

namespace stowage::random_graphs {

namespace {

using std::pair;

Ints cut(Builder& b, std::int64_t extent, std::int64_t parts) {
  Ints out;
  for (; parts > 1; --parts) {
    out.push_back(b.between(1, extent - parts + 1));
    extent -= out.back();
  }
  out.push_back(extent);
  return out;
}

/// Channels more often than other axes.
std::int64_t draw_axis(Builder& b, int rank) {
  return rank > 1 && b.chance(60) ? 1 : b.below(rank);
}

void concat(Builder& b) {
  const ValueId x = b.pick_any(1, 5);
  const Ints s = b.extents(x);
  const std::int64_t axis = draw_axis(b, b.rank(x));
  std::vector<ValueId> in = {x};
  const std::int64_t more = b.between(1, 3);
  for (std::int64_t i = 0; i < more; ++i) {
    const ValueId y = b.pick_other(x, [&](const Builder::Known& k) {
      Ints other = k.extents;
      if (other.size() != s.size()) return false;
      other[idx(axis)] = s[idx(axis)];
      return other == s;
    });
    if (y != kNoValue && b.chance(80)) {
      in.push_back(y);
    } else if (b.chance(30) || !b.is_float(x)) {
      in.push_back(x);
    } else if (b.chance(40)) {
      in.push_back(b.add("neg", {x}));
    } else {
      Ints extents = s;
      extents[idx(axis)] = b.between(1, 5);
      in.push_back(b.constant(extents, -1.0f, 1.0f));
    }
  }
  if (b.chance(40)) std::swap(in.front(), in.back());
  const std::int64_t spelled = b.spell(axis, b.rank(x));
  b.add_exact("concat", in, attributes(pair("axis", spelled)));
}

void split(Builder& b) {
  const ValueId x = b.pick_any(1, 5);
  const std::int64_t axis = draw_axis(b, b.rank(x));
  const std::int64_t extent = b.extents(x)[idx(axis)];
  if (extent < 2) throw Reject();
  const std::int64_t parts = b.between(2, std::min<std::int64_t>(extent, 4));
  const std::int64_t spelled = b.spell(axis, b.rank(x));
  Attributes attrs = attributes(pair("axis", spelled));
  std::vector<ValueId> in = {x};
  if (extent % parts != 0 || b.chance(60)) in.push_back(b.ints(cut(b, extent, parts)));
  b.add_many_exact("split", in, static_cast<int>(parts), attrs);
}

/// Halves go through different functions and meet again, as in shuffling and gated networks.
void split_and_join(Builder& b) {
  const ValueId x = b.pick(2, 4);
  const std::int64_t extent = b.extents(x)[1];
  if (extent < 2) throw Reject();
  const std::int64_t first = b.chance(50) ? extent / 2 : b.between(1, extent - 1);
  const auto parts = b.add_many_exact("split", {x, b.ints({first, extent - first})}, 2,
                                      attributes(pair("axis", std::int64_t{1})));
  if (2 * first == extent && b.chance(40)) {
    b.add("mul", {parts[0], b.add("sigmoid", {parts[1]})});
    return;
  }
  ValueId y = parts[0], z = parts[1];
  if (b.chance(60)) y = activated(b, y);
  if (b.chance(40)) z = activated(b, z);
  b.add_exact("concat", b.chance(50) ? std::vector{y, z} : std::vector{z, y},
              attributes(pair("axis", std::int64_t{1})));
}

void slice(Builder& b) {
  const ValueId x = b.pick_any(1, 5);
  const Ints axes = b.axes(b.rank(x), 2);
  Ints starts, ends, steps;
  for (const std::int64_t a : axes) {
    const std::int64_t extent = b.extents(x)[idx(a)];
    static constexpr std::int64_t kSteps[] = {1, 1, 1, 2, 3, -1, -2};
    const std::int64_t step = b.one_of(kSteps);
    std::int64_t lo = b.below(extent), hi = b.between(lo + 1, extent);
    if (step < 0) {
      starts.push_back(hi - 1);
      ends.push_back(lo == 0 ? -extent - 1 : lo - 1);
    } else {
      starts.push_back(b.chance(20) ? lo - extent : lo);
      ends.push_back(hi == extent && b.chance(50) ? std::int64_t{1} << 40 : hi);
    }
    steps.push_back(step);
  }
  b.add_exact("slice", {x, b.ints(starts), b.ints(ends), b.ints(axes), b.ints(steps)});
}

void pad(Builder& b) {
  static constexpr const char* kModes[] = {"constant", "constant", "reflect", "edge", "wrap"};
  const ValueId x = b.pick_any(1, 5);
  const auto rank = idx(b.rank(x));
  Ints pads(2 * rank, 0);
  for (const std::int64_t a : b.axes(b.rank(x), 2)) {
    const std::int64_t least = b.chance(10) && b.extents(x)[idx(a)] > 2 ? -1 : 0;
    pads[idx(a)] = b.between(least, 3);
    pads[idx(a) + rank] = b.between(least, 3);
  }
  const std::string mode = b.one_of(kModes);
  std::vector<ValueId> in = {x, b.ints(pads)};
  if (mode == "constant" && b.is_float(x) && b.chance(50)) {
    Tensor value(DType::f32, Shape());
    value.as<float>()[0] = b.real(-1.0f, 1.0f);
    in.push_back(b.constant(std::move(value)));
  }
  b.add_exact("pad", in, attributes(pair("mode", mode)));
}

void transpose(Builder& b) {
  const ValueId x = b.pick_any(2, 5);
  static const Ints kOften[] = {{0, 2, 3, 1}, {0, 3, 1, 2}};
  Ints perm = b.permutation(b.rank(x));
  if (b.rank(x) == 4 && b.chance(50)) perm = kOften[b.below(2)];
  b.add_exact("transpose", {x}, attributes(pair("perm", perm)));
}

void reshape(Builder& b) {
  const ValueId x = b.pick_any(0, 5);
  const Ints s = b.extents(x);
  const int rank = b.rank(x);
  switch (b.below(6)) {
    case 0:
      b.add_exact("flatten", {x}, attributes(pair("axis", b.below(rank + 1))));
      break;
    case 1: {  // neighbours become one
      if (rank < 2) throw Reject();
      const std::int64_t a = b.below(rank - 1);
      Ints to = s;
      to[idx(a)] *= to[idx(a + 1)];
      to.erase(to.begin() + a + 1);
      if (b.chance(30)) to[idx(b.below(std::ssize(to)))] = -1;
      b.add_exact("reshape", {x, b.ints(to)});
      break;
    }
    case 2: {  // one becomes two
      if (rank < 1) throw Reject();
      const std::int64_t a = b.below(rank), d = b.divisor(s[idx(a)]);
      Ints to = s;
      to[idx(a)] /= d;
      to.insert(to.begin() + a, d);
      b.add_exact("reshape", {x, b.ints(to)});
      break;
    }
    case 3: {  // anything
      std::int64_t left = b.known(x).elements();
      Ints to;
      const std::int64_t axes = b.between(1, 5);
      for (std::int64_t i = 1; i < axes; ++i) {
        to.push_back(b.divisor(left));
        left /= to.back();
      }
      to.push_back(left);
      b.add_exact("reshape", {x, b.ints(to)});
      break;
    }
    case 4: {
      Ints axes;
      for (int i = 0; i < rank; ++i) {
        if (s[idx(i)] == 1 && b.chance(70)) axes.push_back(b.spell(i, rank));
      }
      if (axes.empty()) throw Reject();
      b.add_exact("squeeze", {x, b.ints(axes)});
      break;
    }
    default: {
      if (rank > 4) throw Reject();
      const Ints axes = b.axes(rank + 1, 1);
      b.add_exact("unsqueeze", {x, b.ints(axes)});
    }
  }
}

void channel_shuffle(Builder& b) {
  const ValueId x = b.pick_any(3, 4);
  Ints s = b.extents(x), wide = s, perm;
  const std::int64_t groups = b.divisor(s[1]);
  wide[1] /= groups;
  wide.insert(wide.begin() + 1, groups);
  for (std::int64_t i = 0; i < std::ssize(wide); ++i) perm.push_back(i);
  std::swap(perm[1], perm[2]);
  ValueId y = b.add_exact("reshape", {x, b.ints(wide)});
  y = b.add_exact("transpose", {y}, attributes(pair("perm", perm)));
  b.add_exact("reshape", {y, b.ints(s)});
}

void resize(Builder& b) {
  static constexpr const char* kModes[] = {"nearest", "linear", "cubic"};
  static constexpr const char* kCoordinates[] = {"half_pixel", "asymmetric", "align_corners",
                                                 "pytorch_half_pixel", "half_pixel_symmetric"};
  static constexpr const char* kNearest[] = {"round_prefer_floor", "floor", "ceil",
                                             "round_prefer_ceil"};
  const ValueId x = b.pick_any(3, 5);
  const Ints s = b.extents(x);
  Attributes attrs;
  const std::string mode = kModes[!b.is_float(x) ? 0 : b.chance(10) ? 2 : b.below(2)];
  attrs.set("mode", mode);
  attrs.set("coordinate_transformation_mode", std::string(b.one_of(kCoordinates)));
  if (mode == "nearest") attrs.set("nearest_mode", std::string(b.one_of(kNearest)));
  if (mode == "cubic" && b.chance(50)) attrs.set("exclude_outside", std::int64_t{1});
  std::vector<ValueId> in = {x, kNoValue, kNoValue};
  const std::int64_t factor = b.between(1, 3);
  if (b.chance(60)) {
    Tensor scales(DType::f32, Shape("a", {std::ssize(s)}));
    for (std::size_t i = 0; i < s.size(); ++i) {
      scales.as<float>()[i] = i < 2 ? 1.0f : static_cast<float>(factor);
    }
    // Downwards, or by a fraction that a float holds exactly.
    if (b.chance(30)) scales.as<float>()[s.size() - 1] = b.chance(50) ? 0.5f : 1.5f;
    in[2] = b.constant(std::move(scales));
  } else {
    Ints sizes = s;
    for (std::size_t i = 2; i < s.size(); ++i) sizes[i] = b.between(1, 2 * s[i]);
    in.push_back(b.ints(sizes));
  }
  if (mode == "nearest") {
    b.add_exact("resize", in, attrs);
  } else {
    b.add("resize", in, attrs);
  }
}

void depth_to_space(Builder& b) {
  const ValueId x = b.pick_image();
  const std::int64_t block = b.between(2, 3);
  Attributes attrs = attributes(pair("blocksize", block));
  const Ints s = b.extents(x);
  if (s[2] % block == 0 && s[3] % block == 0 && b.chance(60)) {
    b.add_exact("space_to_depth", {x}, attrs);
    return;
  }
  if (b.chance(50)) attrs.set("mode", std::string("CRD"));
  ValueId y = x;
  if (s[1] % (block * block) != 0) {  // a convolution makes the channels, as in super-resolution
    const std::int64_t out = block * block * b.between(1, 3);
    y = b.add("conv", {x, b.weights({out, s[1], 1, 1}, s[1])});
  }
  b.add_exact("depth_to_space", {y}, attrs);
}

void gather(Builder& b) {
  const ValueId x = b.pick_any(1, 4);
  const int rank = b.rank(x);
  const std::int64_t axis = draw_axis(b, rank), extent = b.extents(x)[idx(axis)];
  const std::int64_t spelled = b.spell(axis, rank);
  const auto draw = [&](Tensor t) {
    for (std::int64_t& i : t.as<std::int64_t>()) i = b.between(-extent, extent - 1);
    return b.constant(std::move(t));
  };
  if (b.chance(20)) {
    Ints s = b.extents(x);
    s[idx(axis)] = b.between(1, 4);
    const ValueId k = draw(Tensor(DType::i64, Shape::unnamed(s)));
    b.add_exact("gather_elements", {x, k}, attributes(pair("axis", spelled)));
    return;
  }
  Tensor indices(DType::i64, Shape());
  switch (b.below(4)) {
    case 0:
      break;
    case 1:
      indices = Tensor(DType::i64, Shape("ab", {2, 2}));
      break;
    default:
      indices = Tensor(DType::i64, Shape("a", {b.between(1, 9)}));
  }
  const ValueId k = draw(std::move(indices));
  b.add_exact("gather", {x, k}, attributes(pair("axis", spelled)));
}

void expand(Builder& b) {
  const ValueId x = b.pick_any(0, 4);
  Ints s = b.extents(x);
  if (b.chance(50)) {
    for (std::int64_t& e : s) {
      if (e == 1) e = b.between(1, 5);
    }
    if (b.chance(30)) s.insert(s.begin(), b.between(1, 3));
    if (s.empty()) throw Reject();
    b.add_exact("expand", {x, b.ints(s)});
  } else {
    if (s.empty()) throw Reject();
    Ints repeats(s.size(), 1);
    for (const std::int64_t a : b.axes(b.rank(x), 2)) repeats[idx(a)] = b.between(1, 3);
    b.add_exact("tile", {x, b.ints(repeats)});
  }
}

void identity(Builder& b) {
  const ValueId x = b.pick_any(0, 5);
  b.add_exact(b.chance(50) ? "identity" : "dropout", {x});
}

constexpr Move kMoves[] = {
    {"concat", 9, concat},
    {"split", 5, split},
    {"split_and_join", 4, split_and_join},
    {"slice", 6, slice},
    {"pad", 5, pad},
    {"transpose", 6, transpose},
    {"reshape", 7, reshape},
    {"channel_shuffle", 3, channel_shuffle},
    {"resize", 5, resize},
    {"depth_to_space", 4, depth_to_space},
    {"gather", 4, gather},
    {"expand", 3, expand},
    {"identity", 1, identity},
};

}  // namespace

std::span<const Move> shape_moves() { return kMoves; }

}  // namespace stowage::random_graphs
