// SPDX-License-Identifier: Apache-2.0
// ncnn's layers that join, cut and surround blobs.
#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "base/text.h"
#include "ops/ncnn/blob.h"
#include "ops/ncnn/expression.h"
#include "ops/ncnn/rules.h"
#include "ops/shapes.h"

namespace stowage::ncnn {

namespace {

/// The number of parts, and where along the axis they end, as parameters 0 and 2 of Slice say.
Ints part_sizes(const NcnnParams& p, int parts, std::int64_t extent) {
  const Ints sizes = p.integers(0), cuts = p.integers(2);
  const bool by_cuts = p.has(2);
  if (std::ssize(by_cuts ? cuts : sizes) < parts - (by_cuts ? 1 : 0)) {
    fail(ErrorCode::bad_input, "it has ", parts, " outputs, but says where to cut for ",
         by_cuts ? cuts.size() + 1 : sizes.size());
  }
  Ints out;
  std::int64_t begin = 0;
  for (int i = 0; i < parts; ++i) {
    std::int64_t size = 0;
    if (!by_cuts) {
      size = sizes[at(i)] == NcnnParams::kNone ? (extent - begin) / (parts - i) : sizes[at(i)];
    } else {
      const std::int64_t end = i + 1 == parts ? extent : cuts[at(i)];
      size = (end < 0 ? end + extent : end) - begin;
    }
    if (size < 0 || size > extent - begin) {
      fail(ErrorCode::bad_input, "output ", i, " takes ", size, " of the ", extent - begin,
           " that are left of ", extent);
    }
    out.push_back(size);
    begin += size;
  }
  if (begin < extent) out.push_back(extent - begin);  // which nobody takes
  return out;
}

/// [begin, end) of one dim.
struct Range {
  std::int64_t begin = 0, end = 0;
};

/// As numpy's slices: starts, ends and axes; no axes are all.
std::vector<Range> numpy_ranges(const Ints& starts, const Ints& ends, Ints axes, const Ints& dims) {
  if (axes.empty()) {
    for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  if (starts.size() != axes.size() || ends.size() != axes.size()) {
    fail(ErrorCode::bad_input, "starts, ends and axes differ in length");
  }
  std::vector<Range> out;
  for (const std::int64_t e : dims) out.push_back({0, e});
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto k = at(normal_axis(axes[i], static_cast<int>(dims.size())));
    const std::int64_t extent = dims[k];
    const std::int64_t start = starts[i] == NcnnParams::kNone ? 0 : starts[i];
    const std::int64_t end = ends[i] == NcnnParams::kNone ? extent : ends[i];
    out[k] = {start >= 0 ? start : extent + start, std::min(extent, end > 0 ? end : extent + end)};
  }
  return out;
}

/// The numbers of the parameters of a dim, of those before it to leave out, to keep, after it.
struct CropIds {
  int before, size, after;
};

std::vector<CropIds> crop_ids(std::size_t dims) {
  constexpr CropIds kW = {0, 3, 6}, kH = {1, 4, 7}, kD = {13, 14, 15}, kC = {2, 5, 8};
  if (dims == 4) return {kC, kD, kH, kW};
  if (dims == 3) return {kC, kH, kW};
  if (dims == 2) return {kH, kW};
  return {kW};
}

/// w, h and d of the reference, 1 where it has none; its channels where it has as many dims.
std::vector<Range> like_reference(const NcnnParams& p, const Ints& dims, const Shape& reference) {
  const Sizes like = sizes_of(reference);
  const Ints inner = {like.d, like.h, like.w};
  const bool channels = dims_of(reference).size() == dims.size();
  std::vector<Range> out;
  const std::vector<CropIds> ids = crop_ids(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::int64_t begin = p.integer(ids[i].before, 0);
    const bool outermost = i == 0 && dims.size() > 2;
    const std::int64_t size =
        outermost ? (channels ? like.c : dims[i] - begin) : inner[inner.size() - dims.size() + i];
    out.push_back({begin, checked_add(begin, size)});
  }
  return out;
}

std::vector<Range> window_ranges(const NcnnParams& p, const Ints& dims) {
  std::vector<Range> out;
  const std::vector<CropIds> ids = crop_ids(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::int64_t begin = p.integer(ids[i].before, 0);
    const std::int64_t left = dims[i] - begin - p.integer(ids[i].after, 0);
    const std::int64_t size = p.integer(ids[i].size, 0);
    out.push_back({begin, begin + (size == NcnnParams::kNone ? left : std::min(size, left))});
  }
  return out;
}

}  // namespace

void concat(ImportNode& node) {
  node.expect(1, kAnyNumber);
  const std::int64_t axis = blob_axis(node.shape(node.in(0)), NcnnParams(node.attrs).integer(0, 0));
  const auto inputs = node.all_inputs();
  node.out(inputs.size() == 1 ? inputs[0] : node.emit("concat", inputs, {{"axis", axis}}));
}

void slice(ImportNode& node) {
  node.expect(1, 1, node.output_count());
  const NcnnParams p(node.attrs);
  const int axis = blob_axis(node.shape(node.in(0)), p.integer(1, 0));
  const Ints sizes = part_sizes(p, node.output_count(), node.shape(node.in(0))[axis]);
  const auto parts = node.emit_many("split", {node.in(0)}, static_cast<int>(sizes.size()),
                                    {{"axis", std::int64_t{axis}}, {"split", sizes}});
  for (int i = 0; i < node.output_count(); ++i) node.out(i, parts[at(i)]);
}

void crop(ImportNode& node) {
  const NcnnParams p(node.attrs);
  const bool computed = p.has(19) && p.has(20);
  node.expect(1, computed ? kAnyNumber : 2);
  const Ints dims = dims_of(node.shape(node.in(0)));
  const auto ranges_of = [&] {
    if (computed) {
      const Ints axes = p.has(21) ? evaluate(node, p, 21) : Ints();
      return numpy_ranges(evaluate(node, p, 19), evaluate(node, p, 20), axes, dims);
    }
    if (node.input_count() == 2) return like_reference(p, dims, node.shape(node.in(1)));
    if (p.has(9)) return numpy_ranges(p.integers(9), p.integers(10), p.integers(11), dims);
    return window_ranges(p, dims);
  };
  const std::vector<Range> ranges = ranges_of();
  const int batch = node.shape(node.in(0)).rank() - static_cast<int>(dims.size());
  Ints starts, ends, axes;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto [begin, end] = ranges[i];
    if (begin < 0 || end <= begin || end > dims[i]) {
      fail(ErrorCode::bad_input, "it takes [", begin, ", ", end, ") of dim ", i, " with ", dims[i]);
    }
    if (begin == 0 && end == dims[i]) continue;
    starts.push_back(begin);
    ends.push_back(end);
    axes.push_back(static_cast<std::int64_t>(i) + batch);
  }
  if (axes.empty()) return node.out(node.in(0));
  node.out(node.emit("slice", {node.in(0)}, {{"starts", starts}, {"ends", ends}, {"axes", axes}}));
}

void flip(ImportNode& node) {
  node.expect(1, 1);
  Ints axes;
  for (const std::int64_t axis : NcnnParams(node.attrs).integers(0)) {
    axes.push_back(blob_axis(node.shape(node.in(0)), axis));
  }
  if (axes.empty()) return node.out(node.in(0));
  constexpr std::int64_t kBeforeAll = std::numeric_limits<std::int32_t>::min();
  node.out(node.emit("slice", {node.in(0)},
                     {{"starts", Ints(axes.size(), -1)},
                      {"ends", Ints(axes.size(), kBeforeAll)},
                      {"axes", axes},
                      {"steps", Ints(axes.size(), -1)}}));
}

/// As often as parameter 1 says along one axis, or as a list says for the innermost dims; a list
/// that is longer than the dims adds dims outside, but d inside of c.
void tile(ImportNode& node) {
  node.expect(1, 1);
  const NcnnParams p(node.attrs);
  Ints dims = dims_of(node.shape(node.in(0))), repeats = p.integers(2);
  constexpr std::size_t kChannelDims = 3;  // c h w; d goes between c and h
  if (repeats.empty()) {
    repeats.assign(dims.size(), 1);
    repeats[at(normal_axis(p.integer(0, 0), static_cast<int>(dims.size())))] = p.integer(1, 1);
  }
  while (repeats.size() < dims.size()) repeats.insert(repeats.begin(), 1);
  while (dims.size() < repeats.size()) {
    dims.insert(dims.begin() + (dims.size() == kChannelDims ? 1 : 0), 1);
  }
  for (const std::int64_t r : repeats) {
    if (r < 1) fail(ErrorCode::bad_input, "it repeats ", r, " times");
  }
  // One axis after the other as a stretched axis of one: an index for each element of a long axis
  // would be more than the elements.
  ValueId y = node.reshape(node.in(0), dims);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (repeats[i] == 1) continue;
    Ints stretched = dims;
    stretched.insert(stretched.begin() + static_cast<std::int64_t>(i), 1);
    y = node.reshape(y, stretched);
    stretched[i] = repeats[i];
    y = node.emit("expand", {y}, {{"shape", stretched}});
    dims[i] = checked_mul(dims[i], repeats[i]);
    y = node.reshape(y, dims);
  }
  node.out(as_blob(node, y, dims));
}

namespace {

/// Blocks of the channels' own values before and behind each spatial axis. `before` and `after`: of
/// the last axes.
ValueId pad_channels(ImportNode& node, const Ints& before, const Ints& after) {
  ValueId y = node.in(0);
  const Shape x = node.shape(y);
  if (x.rank() != 4) fail(ErrorCode::unsupported, "a value for each channel of four dims");
  const ValueId values = along_outer(node, x, node.weight(0));
  for (const int axis : {3, 2}) {
    const auto block = [&](std::int64_t width) {
      Ints extents = extents_of(node.shape(y));
      extents[at(axis)] = width;
      return node.emit("expand", {values}, {{"shape", extents}});
    };
    std::vector<ValueId> parts = {y};
    if (before[at(axis - 1)] > 0) parts.insert(parts.begin(), block(before[at(axis - 1)]));
    if (after[at(axis - 1)] > 0) parts.push_back(block(after[at(axis - 1)]));
    if (parts.size() > 1) y = node.emit("concat", parts, {{"axis", std::int64_t{axis}}});
  }
  return y;
}

}  // namespace

void padding(ImportNode& node) {
  const NcnnParams p(node.attrs);
  node.expect(1, 1);
  const Shape x = node.shape(node.in(0));
  const std::size_t dims = dims_of(x).size();
  Ints before = {p.integer(2, 0)}, after = {p.integer(3, 0)};
  if (dims > 1) {
    before.insert(before.begin(), p.integer(0, 0));
    after.insert(after.begin(), p.integer(1, 0));
  }
  if (dims > 2) {
    before.insert(before.begin(), p.integer(7, 0));
    after.insert(after.begin(), p.integer(8, 0));
  }
  Ints pads = before, axes;
  pads.insert(pads.end(), after.begin(), after.end());
  for (const std::int64_t v : pads) {
    if (v < 0) fail(ErrorCode::bad_input, "it pads by ", v);
  }
  for (std::size_t i = 0; i < before.size(); ++i) {
    axes.push_back(x.rank() - std::ssize(before) + static_cast<std::int64_t>(i));
  }
  constexpr std::string_view kModes[] = {"constant", "edge", "reflect"};
  const std::int64_t mode = p.integer(4, 0);
  if (mode < 0 || mode > 2) fail(ErrorCode::bad_input, "its type is ", mode);
  if (mode == 0 && dims > 2 && p.integer(6, 0) != 0) {
    return node.out(pad_channels(node, before, after));
  }
  std::vector<ValueId> operands = {node.in(0)};
  const float value = p.real(5, 0);
  if (mode == 0 && value != 0) operands.insert(operands.end(), {kNoValue, node.constant(value)});
  node.out(node.emit("pad", operands,
                     {{"pads", pads}, {"axes", axes}, {"mode", std::string(kModes[mode])}}));
}

}  // namespace stowage::ncnn
