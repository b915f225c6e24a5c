// SPDX-License-Identifier: Apache-2.0
// ncnn's layers that join, cut and surround blobs.
#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "base/text.h"
#include "ops/ncnn/blob.h"
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

/// As numpy's slices: starts, ends and axes.
std::vector<Range> numpy_ranges(const NcnnParams& p, const Ints& dims) {
  const Ints starts = p.integers(9), ends = p.integers(10);
  Ints axes = p.integers(11);
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

/// A reference of fewer dims leaves the outer ones alone.
std::vector<Range> like_reference(const NcnnParams& p, const Ints& dims, const Ints& reference) {
  std::vector<Range> out;
  const std::vector<CropIds> ids = crop_ids(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::int64_t begin = p.integer(ids[i].before, 0);
    const std::size_t inner = dims.size() - i;
    const bool there = reference.size() >= inner && (i > 0 || reference.size() == dims.size());
    out.push_back(
        {begin, there ? checked_add(begin, reference[reference.size() - inner]) : dims[i]});
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
  node.expect(1, 2);
  const NcnnParams p(node.attrs);
  for (const int id : {19, 20, 21}) {
    if (p.has(id))
      fail(ErrorCode::unsupported, "a range that is an expression (parameter ", id, ")");
  }
  const Ints dims = dims_of(node.shape(node.in(0)));
  if (node.input_count() == 2 && p.integer(0, 0) == NcnnParams::kNone) {
    fail(ErrorCode::unsupported, "a range that is computed while the model runs");
  }
  const std::vector<Range> ranges = node.input_count() == 2
                                        ? like_reference(p, dims, dims_of(node.shape(node.in(1))))
                                    : p.has(9) ? numpy_ranges(p, dims)
                                               : window_ranges(p, dims);
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
/// that is longer than the dims adds dims outside.
void tile(ImportNode& node) {
  node.expect(1, 1);
  const NcnnParams p(node.attrs);
  Ints dims = dims_of(node.shape(node.in(0))), repeats = p.integers(2);
  if (repeats.empty()) {
    repeats.assign(dims.size(), 1);
    repeats[at(normal_axis(p.integer(0, 0), static_cast<int>(dims.size())))] = p.integer(1, 1);
  }
  if (repeats.size() > kMostDims) fail(ErrorCode::unsupported, repeats.size(), " repeats");
  while (repeats.size() < dims.size()) repeats.insert(repeats.begin(), 1);
  while (dims.size() < repeats.size()) dims.insert(dims.begin(), 1);
  for (const std::int64_t r : repeats) {
    if (r < 1) fail(ErrorCode::bad_input, "it repeats ", r, " times");
  }
  const ValueId y = node.emit("tile", {node.reshape(node.in(0), dims)}, {{"repeats", repeats}});
  node.out(as_blob(node, y, extents_of(node.shape(y))));
}

void padding(ImportNode& node) {
  const NcnnParams p(node.attrs);
  if (node.input_count() == 2) fail(ErrorCode::unsupported, "padding that is an input");
  node.expect(1, 1);
  refuse_parameter(p, 6, "a value of its own for each channel");
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
  std::vector<ValueId> operands = {node.in(0)};
  const float value = p.real(5, 0);
  if (mode == 0 && value != 0) operands.insert(operands.end(), {kNoValue, node.constant(value)});
  node.out(node.emit("pad", operands,
                     {{"pads", pads}, {"axes", axes}, {"mode", std::string(kModes[mode])}}));
}

}  // namespace stowage::ncnn
