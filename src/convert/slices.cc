// SPDX-License-Identifier: Apache-2.0
#include "convert/slices.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/checked.h"

namespace stowage::conversion {
namespace {

/// Elements of a range that is worth a call.
constexpr std::int64_t kLeastRange = 64;

/// The digit of an axis that counts its longest steps, within one of which the others repeat; null
/// where the axis has a tail.
Digit* top_of(Side& side, int dim) noexcept {
  if (dim < 0 || side.padded(dim) != side.shape[dim]) return nullptr;
  Digit* top = nullptr;
  for (int i = 0; i < side.count; ++i) {
    Digit& digit = side.digits[i];
    if (digit.dim == dim && (top == nullptr || digit.q > top->q)) top = &digit;
  }
  return top;
}

/// An axis of both sides that may be cut into parts of whole units.
struct Cut {
  int dim[2];
  Digit* top[2];
  std::int64_t extent, unit;
};

/// The one of the longest steps on the side that is cast; false: there is none.
bool find_cut(Side* const (&sides)[2], int cast, Cut& out) noexcept {
  const Shape& shape = sides[cast]->shape;
  std::int64_t longest = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    Cut cut{};
    cut.dim[cast] = i;
    cut.dim[1 - cast] = sides[1 - cast]->shape.index_of(shape.axis(i));
    for (const int k : {0, 1}) cut.top[k] = top_of(*sides[k], cut.dim[k]);
    if (cut.top[0] == nullptr || cut.top[1] == nullptr) continue;
    cut.extent = shape[i];
    cut.unit = std::lcm(cut.top[0]->q, cut.top[1]->q);
    if (cut.extent == cut.unit || cut.top[cast]->stride <= longest) continue;
    longest = cut.top[cast]->stride;
    out = cut;
  }
  return longest > 0;
}

/// How many of n units a slice takes, at most so many: the fewer slices and the fewer units that
/// are done twice the better.
std::int64_t units_of_slice(std::int64_t n, std::int64_t most) noexcept {
  // A slice costs what it moves and an eighth of a full one. Each try takes some nanoseconds.
  constexpr std::int64_t kEighth = 8, kTries = 32;
  const std::int64_t fewest = ceil_div(n, most),
                     end = std::min({2 * fewest, fewest + kTries, n + 1});
  std::int64_t best = 1, least = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t slices = fewest; slices < end; ++slices) {
    const std::int64_t part = ceil_div(n, slices),
                       cost = slices * (part + std::max<std::int64_t>(most / kEighth, 1));
    if (cost >= least) continue;
    least = cost;
    best = part;
  }
  return best;
}

/// The axis has `extent` elements left; how far it is from one such part to the next, in bytes.
std::int64_t shorten(Side& side, int dim, Digit& top, std::int64_t extent) {
  std::array<std::int64_t, kMaxRank> extents{};
  std::copy(side.shape.extents().begin(), side.shape.extents().end(), extents.begin());
  extents[dim] = extent;
  side.shape = Shape(side.shape.axes(), {extents.data(), side.shape.extents().size()});
  top.e = extent / top.q;
  return top.e * top.stride * side.bytes;
}

/// Digits of more than one step, by their strides; the others are dropped.
std::span<Digit> nearest_first(Side& side) noexcept {
  const auto single = [](const Digit& digit) { return digit.e == 1; };
  const auto begin = side.digits.begin(), end = std::remove_if(begin, begin + side.count, single);
  side.count = static_cast<int>(end - begin);
  std::sort(begin, end, [](const Digit& x, const Digit& y) { return x.stride < y.stride; });
  return {begin, end};
}

/// Whether all elements of a slice follow each other.
bool is_one_range(Side& side) noexcept {
  std::int64_t cells = 1;
  for (const Digit& digit : nearest_first(side)) {
    if (digit.stride != cells) return false;
    cells *= digit.e;
  }
  return true;
}

bool is_full(const Chain& chain) noexcept { return chain.count == std::ssize(chain.loops); }

/// Ranges of the side that is cast become neighbours, of elements of so many bytes; false: too many
/// loops.
bool pack(Side& side, int narrow, Slices& out) noexcept {
  const auto cast = out.cast_first ? &Loop::is : &Loop::os,
             scratch = out.cast_first ? &Loop::os : &Loop::is;
  out.elements = 1;
  out.ranges = Chain{};
  for (Digit& digit : nearest_first(side)) {
    const std::int64_t packed = out.elements * out.ranges.n;
    if (out.ranges.count == 0 && digit.stride == packed) {
      out.elements *= digit.e;
    } else if (is_full(out.ranges)) {
      return false;
    } else {
      Loop& loop = out.ranges.loops[out.ranges.count++] = kOneIteration;
      loop.n = loop.valid = digit.e;
      loop.*cast = digit.stride * side.bytes;
      loop.*scratch = packed * narrow;
      out.ranges.n *= digit.e;
    }
    digit.stride = packed;
  }
  side.bytes = narrow;
  return true;
}

/// Cuts both sides to a first slice of at most so many of the cells that the side has which is
/// cast.
bool cut(Side* const (&sides)[2], int cast, std::int64_t cells, std::int64_t most, Slices& out) {
  out.parts = Chain{};
  out.rest_is = out.rest_os = 0;
  while (cells > most) {
    Cut cut;
    if (is_full(out.parts) || !find_cut(sides, cast, cut)) return false;
    const std::int64_t units = cut.extent / cut.unit, of_unit = cells / units,
                       part = units_of_slice(units, std::max<std::int64_t>(most / of_unit, 1)),
                       rest = units % part;
    Loop& loop = out.parts.loops[out.parts.count++] = kOneIteration;
    loop.n = loop.valid = units / part;
    loop.is = shorten(*sides[0], cut.dim[0], *cut.top[0], part * cut.unit);
    loop.os = shorten(*sides[1], cut.dim[1], *cut.top[1], part * cut.unit);
    out.rest_is = loop.is / part * rest;
    out.rest_os = loop.os / part * rest;
    out.parts.n *= loop.n;
    cells = of_unit * part;
  }
  // The last axis to be cut is the innermost one.
  std::reverse(out.parts.loops.begin(), out.parts.loops.begin() + out.parts.count);
  return true;
}

}  // namespace

bool cut_slices(Side& src, Side& dst, Slices& out) {
  constexpr std::int64_t kMostOfTails = 2;  // cells of an element
  out.cast_first = src.bytes >= dst.bytes;
  Side* const sides[] = {&src, &dst};
  const int cast = out.cast_first ? 0 : 1;
  const int narrow = std::min(src.bytes, dst.bytes);
  std::int64_t cells = 1;
  for (int i = 0; i < sides[cast]->count; ++i) cells *= sides[cast]->digits[i].e;
  return cells <= kMostOfTails * sides[cast]->shape.elements() &&
         cut(sides, cast, cells, kSliceScratch / narrow, out) &&
         (is_one_range(src) || is_one_range(dst)) && pack(*sides[cast], narrow, out) &&
         out.elements >= kLeastRange;
}

}  // namespace stowage::conversion
