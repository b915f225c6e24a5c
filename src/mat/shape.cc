// SPDX-License-Identifier: Apache-2.0
#include "mat/shape.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/checked.h"
#include "base/text.h"

namespace stowage {

namespace {

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 47;
constexpr std::int64_t kSampleBytes = 4096;

/// The axes of a Mat, slowest first.
std::string_view letters_of(int dims) {
  constexpr std::array<std::string_view, 5> kLetters = {"", "w", "hw", "chw", "cdhw"};
  return kLetters[static_cast<std::size_t>(dims)];
}

std::int64_t extent_of(const MatShape& shape, char axis) {
  switch (axis) {
    case 'w':
      return shape.w;
    case 'h':
      return shape.h;
    case 'd':
      return shape.d;
    case 'c':
      return shape.c;
    default:
      return shape.n;
  }
}

int& extent_of(MatShape& shape, char axis) {
  return axis == 'w' ? shape.w : axis == 'h' ? shape.h : axis == 'd' ? shape.d : shape.c;
}

std::int64_t bytes_below_limit(std::int64_t bytes, const MatShape& shape) {
  if (bytes > kMaxBytes) {
    fail(ErrorCode::limit, "a Mat of ", mat_text(shape), ", n ", shape.n,
         " takes 2^47 bytes or more");
  }
  return bytes;
}

/// In scalars of `unit` bytes.
Layout mat_layout(const MatShape& s, int unit) {
  const std::int64_t lane_units = static_cast<std::int64_t>(s.lane_bytes()) / unit;
  const std::string_view axis = s.dims == 1 ? "w" : s.dims == 2 ? "h" : "c";
  std::string out;
  if (s.n > 1) out += "n (";
  out += axis;
  if (s.elempack > 1) out += text("/", s.elempack);
  if (s.dims == 2) out += " w";
  if (s.dims >= 3) {
    out += s.dims == 3 ? " (h w)~" : " (d h w)~";
    out += s.cstep == s.standard_cstep() ? "16B" : text(std::max<std::size_t>(s.cstep, 1));
  }
  out += text(" ", axis, "%", s.elempack);
  if (lane_units > 1) out += " b";
  if (s.n > 1) {
    const std::int64_t cells = static_cast<std::int64_t>(s.nstep) * s.elempack * lane_units;
    out += text(")~", std::max<std::int64_t>(cells, 1));
  }
  return Layout::parse(out);
}

/// The shape's axes as a Mat's: its own where they are those of a Mat in any order, else by
/// position. Empty where there are none for it.
std::string mat_letters(const Shape& shape) {
  std::string own;
  for (const Axis& axis : shape.axes()) {
    own += axis.name().size() == 1 ? axis.name() : "?";
  }
  std::string sorted = own;
  std::sort(sorted.begin(), sorted.end());
  // Those of dims 1 to 4 in the order of the alphabet, then with an n.
  for (const char* const known : {"w", "hw", "chw", "cdhw", "nw", "hnw", "chnw", "cdhnw"}) {
    if (sorted == known) return own;
  }
  return shape.rank() <= 4 ? std::string(letters_of(shape.rank())) : "";
}

/// Elements lie at the same cells; the ends of memory may differ. Of `b` all axes are known to `a`,
/// unless their extent is 1.
bool same_cells(const Mapping& a, const Mapping& b) {
  std::array<Digit, kMaxDigits> ours, theirs;
  const std::size_t count = a.normal_form(ours);
  if (b.normal_form(theirs) != count) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const int dim = a.shape().index_of(b.shape().axis(theirs[i].dim));
    theirs[i].dim = static_cast<std::int8_t>(dim);
    if (ours[i] != theirs[i]) return false;
  }
  return true;
}

}  // namespace

std::string mat_text(const MatShape& s) {
  return text("w ", s.w, ", h ", s.h, ", d ", s.d, ", c ", s.c, ", elemsize ", s.elemsize,
              ", elempack ", s.elempack);
}

MatShape MatShape::complete() const {
  MatShape s = *this;
  const bool unused = (dims < 2 && h != 1) || (dims < 4 && d != 1) || (dims < 3 && c != 1);
  if (dims < 1 || dims > 4 || unused) {
    fail(ErrorCode::usage, "no Mat has dims ", dims, " and ", mat_text(s));
  }
  if (w < 0 || h < 0 || d < 0 || c < 0 || n < 1) {
    fail(ErrorCode::usage, "a Mat of ", mat_text(s), ", n ", n, " has a negative size");
  }
  if (elempack < 1 || elemsize < 1 || elemsize % static_cast<std::size_t>(elempack) != 0 ||
      elemsize > 1 << 16) {
    fail(ErrorCode::usage, "elements of ", elemsize, " bytes do not hold ", elempack,
         " scalars of whole bytes");
  }
  const std::int64_t scalars = std::int64_t{packed_extent()} * elempack;
  if (scalars > INT32_MAX) {
    fail(ErrorCode::limit, packed_extent(), " packs of ", elempack,
         " scalars are more than an extent can be");
  }
  const auto size = static_cast<std::int64_t>(elemsize);
  const std::int64_t plane_elements = checked_mul(checked_mul(w, h), d);
  bytes_below_limit(checked_mul(plane_elements, size), s);
  if (cstep == 0) s.cstep = standard_cstep();
  if (s.cstep < plane()) {
    fail(ErrorCode::usage, "a cstep of ", cstep, " is less than a plane of ", plane_elements,
         " elements");
  }
  if (s.cstep > static_cast<std::size_t>(kMaxBytes)) bytes_below_limit(kMaxBytes + 1, s);
  const std::int64_t sample = checked_mul(static_cast<std::int64_t>(s.cstep), c);
  const std::int64_t sample_bytes = bytes_below_limit(checked_mul(sample, size), s);
  if (n == 1 || nstep == 0) {
    const std::int64_t step = n == 1 ? sample_bytes : round_up(sample_bytes, kSampleBytes);
    s.nstep = static_cast<std::size_t>(step / size);
  }
  if (s.nstep < static_cast<std::size_t>(sample)) {
    fail(ErrorCode::usage, "an nstep of ", nstep, " is less than a sample of ", sample,
         " elements");
  }
  if (s.nstep > static_cast<std::size_t>(kMaxBytes)) bytes_below_limit(kMaxBytes + 1, s);
  bytes_below_limit(checked_mul(checked_mul(static_cast<std::int64_t>(s.nstep), size), n), s);
  return s;
}

Mapping mat_mapping(const MatShape& shape, int unit, std::int64_t scalars) {
  const std::int64_t all = std::int64_t{shape.packed_extent()} * shape.elempack;
  if (scalars == 0) scalars = all;
  if (scalars <= all - shape.elempack || scalars > all) {
    fail(ErrorCode::usage, scalars, " scalars do not fill ", shape.packed_extent(), " packs of ",
         shape.elempack);
  }
  const std::string_view own = letters_of(shape.dims);
  std::string letters = shape.n > 1 ? "n" : "";
  letters += own;
  std::vector<std::int64_t> extents;
  for (const char axis : letters) extents.push_back(extent_of(shape, axis));
  const char packed = shape.dims == 1 ? 'w' : shape.dims == 2 ? 'h' : 'c';
  extents[letters.find(packed)] = scalars;
  const auto lane_units = static_cast<std::int64_t>(shape.lane_bytes()) / unit;
  if (lane_units > 1) {
    letters += 'b';
    extents.push_back(lane_units);
  }
  return Mapping(mat_layout(shape, unit), Shape(letters, extents), unit);
}

std::optional<MatShape> mat_shape(const Mapping& mapping) {
  const std::string letters = mat_letters(mapping.shape());
  if (letters.empty() || mapping.layout().is_image() || mapping.cells() == 0) return std::nullopt;
  MatShape base;
  const std::size_t samples = letters.find('n');
  base.dims = static_cast<int>(letters.size()) - (samples != std::string::npos);
  std::array<std::int64_t, 128> stride{};  // of the top digit of each axis, by its letter
  std::int64_t pack = 1, digits = 0;
  const char packed = base.dims == 1 ? 'w' : base.dims == 2 ? 'h' : 'c';
  for (const Digit& digit : mapping.linear_digits()) {
    const char axis = letters[static_cast<std::size_t>(digit.dim)];
    std::int64_t& top = stride[static_cast<std::size_t>(axis)];
    top = std::max(top, digit.stride);
    if (axis != packed) continue;
    ++digits;
    if (digit.q == 1 && digit.stride == 1) pack = digit.e;
  }
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const std::int64_t extent = mapping.shape()[static_cast<int>(i)];
    if (extent > INT32_MAX) return std::nullopt;
    (letters[i] == 'n' ? base.n : extent_of(base, letters[i])) = static_cast<int>(extent);
  }
  // Packs that the layout names, then none, then all scalars as one pack.
  const std::array<std::int64_t, 3> packs = {digits > 1 ? pack : 1, 1, pack};
  const std::int64_t scalars = base.packed_extent();
  for (const std::int64_t p : packs) {
    if (p > 1 << 12 || ceil_div(scalars, p) * p > INT32_MAX) continue;
    MatShape s = base;
    s.elempack = static_cast<int>(p);
    s.elemsize = static_cast<std::size_t>(p * mapping.element_bytes());
    s.packed_extent() = static_cast<int>(ceil_div(scalars, p));
    s.cstep = s.plane();
    if (s.dims >= 3 && stride['c'] > 0) {
      const bool one_pack = digits == 1 && p > 1;
      if (!one_pack) s.cstep = static_cast<std::size_t>(stride['c'] / p);
    }
    s.nstep = s.n > 1 ? static_cast<std::size_t>(stride['n'] / p) : 0;
    if (s.cstep < s.plane() || (s.n > 1 && s.nstep < s.cstep * static_cast<std::size_t>(s.c))) {
      continue;
    }
    // Compared in the Mat's own names of axes.
    const Mapping mat = mat_mapping(s.complete(), mapping.element_bytes(), scalars);
    std::vector<Axis> from(mapping.shape().axes().begin(), mapping.shape().axes().end()), to;
    for (const char axis : letters) to.emplace_back(std::string_view(&axis, 1));
    const Mapping own(mapping.layout().renamed(from, to), Shape(to, mapping.shape().extents()),
                      mapping.element_bytes());
    if (mat.same_bytes(own)) return s.complete();
    // The gap behind the only sample of a batch separates it from nothing.
    const bool alone = samples != std::string::npos && s.n == 1;
    if (alone && mat.cells() <= own.cells() && same_cells(mat, own)) return s.complete();
  }
  return std::nullopt;
}

}  // namespace stowage
