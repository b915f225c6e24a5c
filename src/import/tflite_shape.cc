// SPDX-License-Identifier: Apache-2.0
// Operators of TFLite that move elements: reshapes, slices, concatenations, gathers.
#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "import/tflite_graph.h"
#include "ops/shapes.h"

namespace stowage {

namespace {

Ints rank_axes(int rank) {
  Ints axes;
  for (int i = 0; i < rank; ++i) axes.push_back(i);
  return axes;
}

Ints one_axis(const TfliteNode& node, int i) {
  const Ints axis = node.ints(i);
  if (axis.size() != 1) fail(ErrorCode::bad_input, "its axis is ", axis.size(), " numbers");
  return axis;
}

/// The shape is input 1, or an option in old files.
void reshape(const TfliteNode& node) {
  node.expect(1, 2);
  Ints shape;
  const auto* o = node.options_if<tfl::ReshapeOptions>();
  const bool option = o != nullptr && o->new_shape() != nullptr;
  if (node.has(1)) {
    shape = node.ints(1);
  } else if (option) {
    shape.assign(o->new_shape()->begin(), o->new_shape()->end());
  } else {
    fail(ErrorCode::bad_input, "it has no shape");
  }
  // TOCO wrote a scalar's shape as one 0.
  if (!node.has(1) && shape == Ints{0}) shape.clear();
  node.out(node.emit("reshape", {node.in(0)}, {{"shape", shape}, {"allowzero", std::int64_t{1}}}));
}

void squeeze(const TfliteNode& node) {
  node.expect(1, 1);
  const auto* o = node.options_if<tfl::SqueezeOptions>();
  if (o == nullptr || o->squeeze_dims() == nullptr || o->squeeze_dims()->size() == 0) {
    return node.out(node.emit("squeeze", {node.in(0)}));
  }
  const Ints axes(o->squeeze_dims()->begin(), o->squeeze_dims()->end());
  node.out(node.emit("squeeze", {node.in(0)}, {{"axes", axes}}));
}

void expand_dims(const TfliteNode& node) {
  node.expect(2, 2);
  node.out(node.emit("unsqueeze", {node.in(0)}, {{"axes", one_axis(node, 1)}}));
}

void transpose(const TfliteNode& node) {
  node.expect(2, 2);
  node.out(node.emit("transpose", {node.in(0)}, {{"perm", node.ints(1)}}));
}

/// The extents are known, in the integer type that the file wants.
void shape(const TfliteNode& node) {
  node.expect(1, 1);
  const Shape s = node.shape(node.in(0));
  const DType dtype = tflite_dtype(node.output_tensor());
  Tensor t(dtype, Shape("a", {s.rank()}));
  for (int i = 0; i < s.rank(); ++i) {
    if (dtype == DType::i64) {
      t.as<std::int64_t>()[at(i)] = s[i];
    } else if (dtype == DType::i32 && s[i] <= std::numeric_limits<std::int32_t>::max()) {
      t.as<std::int32_t>()[at(i)] = static_cast<std::int32_t>(s[i]);
    } else {
      fail(ErrorCode::bad_input, "the extent ", s[i], " as ", dtype_name(dtype));
    }
  }
  node.out(node.constant(std::move(t)));
}

void pack(const TfliteNode& node) {
  const auto& o = node.options<tfl::PackOptions>();
  node.expect(1, 1 << 20);
  const Ints axes{o.axis()};
  std::vector<ValueId> parts;
  for (int i = 0; i < node.input_count(); ++i) {
    parts.push_back(node.emit("unsqueeze", {node.in(i)}, {{"axes", axes}}));
  }
  node.out(node.emit("concat", parts, {{"axis", std::int64_t{o.axis()}}}));
}

void unpack(const TfliteNode& node) {
  const auto& o = node.options<tfl::UnpackOptions>();
  node.expect(1, 1, node.output_count());
  const ValueId x = node.in(0);
  const int axis = normal_axis(o.axis(), node.shape(x).rank());
  if (node.output_count() < 1 || node.shape(x)[axis] != node.output_count()) {
    fail(ErrorCode::bad_input, node.shape(x)[axis], " slices for ", node.output_count(),
         " outputs");
  }
  const auto parts =
      node.emit_many("split", {x}, node.output_count(), {{"axis", std::int64_t{axis}}});
  for (int i = 0; i < node.output_count(); ++i) {
    node.out(i, node.emit("squeeze", {parts[at(i)]}, {{"axes", Ints{axis}}}));
  }
}

void split(const TfliteNode& node) {
  node.expect(2, 2, node.output_count());
  if (node.output_count() < 1) fail(ErrorCode::bad_input, "it has no output");
  const auto parts =
      node.emit_many("split", {node.in(1)}, node.output_count(), {{"axis", one_axis(node, 0)[0]}});
  for (int i = 0; i < node.output_count(); ++i) node.out(i, parts[at(i)]);
}

void split_v(const TfliteNode& node) {
  node.expect(3, 3, node.output_count());
  if (node.output_count() < 1) fail(ErrorCode::bad_input, "it has no output");
  const ValueId x = node.in(0);
  const int axis = normal_axis(one_axis(node, 2)[0], node.shape(x).rank());
  Ints sizes = node.ints(1);
  // One size may be -1: the rest.
  std::int64_t known = 0;
  for (std::int64_t s : sizes) known = checked_add(known, std::max<std::int64_t>(s, 0));
  const auto free = std::ranges::find(sizes, -1);
  if (free != sizes.end()) *free = node.shape(x)[axis] - known;
  const auto parts = node.emit_many("split", {x}, node.output_count(),
                                    {{"axis", std::int64_t{axis}}, {"split", sizes}});
  for (int i = 0; i < node.output_count(); ++i) node.out(i, parts[at(i)]);
}

void concatenation(const TfliteNode& node) {
  const auto& o = node.options<tfl::ConcatenationOptions>();
  node.expect(1, 1 << 20);
  std::vector<ValueId> parts;
  for (int i = 0; i < node.input_count(); ++i) parts.push_back(node.in(i));
  const ValueId y = node.emit("concat", parts, {{"axis", std::int64_t{o.axis()}}});
  node.out(node.activate(y, o.fused_activation_function()));
}

void gather(const TfliteNode& node) {
  node.expect(2, 2);
  const auto* o = node.options_if<tfl::GatherOptions>();
  if (o != nullptr && o->batch_dims() != 0) {
    fail(ErrorCode::unsupported, "batch_dims is ", o->batch_dims());
  }
  const std::int64_t axis = o == nullptr ? 0 : o->axis();
  node.out(node.emit("gather", {node.in(0), node.in(1)}, {{"axis", axis}}));
}

void gather_nd(const TfliteNode& node) {
  node.expect(2, 2);
  node.out(node.emit("gather_nd", {node.in(0), node.in(1)}));
}

/// Indices of rows, then the table.
void embedding_lookup(const TfliteNode& node) {
  node.expect(2, 2);
  node.out(node.emit("gather", {node.in(1), node.in(0)}, {{"axis", std::int64_t{0}}}));
}

/// Pairs (before, after) of every axis become all befores, then all afters.
Ints pads_of(const TfliteNode& node) {
  const Ints pairs = node.ints(1);
  const int rank = node.shape(node.in(0)).rank();
  if (pairs.size() != at(2 * rank)) {
    fail(ErrorCode::bad_input, pairs.size(), " pads for rank ", rank);
  }
  Ints pads(pairs.size());
  for (std::size_t i = 0; i < at(rank); ++i) {
    pads[i] = pairs[2 * i];
    pads[i + at(rank)] = pairs[2 * i + 1];
    if (pads[i] < 0 || pads[i + at(rank)] < 0) fail(ErrorCode::bad_input, "a pad is negative");
  }
  return pads;
}

void pad(const TfliteNode& node) {
  node.expect(2, 3);
  node.out(node.emit("pad", {node.in(0), kNoValue, node.optional(2)}, {{"pads", pads_of(node)}}));
}

void mirror_pad(const TfliteNode& node) {
  node.expect(2, 2);
  const auto& o = node.options<tfl::MirrorPadOptions>();
  if (o.mode() != 0) fail(ErrorCode::unsupported, "symmetric padding");
  node.out(
      node.emit("pad", {node.in(0)}, {{"pads", pads_of(node)}, {"mode", std::string("reflect")}}));
}

/// A size of -1 reaches to the end.
void slice(const TfliteNode& node) {
  node.expect(3, 3);
  const Shape s = node.shape(node.in(0));
  const Ints begin = node.ints(1), size = node.ints(2);
  if (begin.size() != at(s.rank()) || size.size() != begin.size()) {
    fail(ErrorCode::bad_input, begin.size(), " begins and ", size.size(), " sizes for rank ",
         s.rank());
  }
  Ints ends;
  for (std::size_t i = 0; i < begin.size(); ++i) {
    const std::int64_t extent = s[static_cast<int>(i)];
    const std::int64_t end = size[i] == -1 ? extent : checked_add(begin[i], size[i]);
    if (begin[i] < 0 || end < begin[i] || end > extent) {
      fail(ErrorCode::bad_input, "it takes ", size[i], " elements from ", begin[i], " of axis ", i,
           " with ", extent);
    }
    ends.push_back(end);
  }
  node.out(node.emit("slice", {node.in(0)},
                     {{"starts", begin}, {"ends", ends}, {"axes", rank_axes(s.rank())}}));
}

/// What numpy's x[a:b:c, ..., None, i] means, one entry an index.
struct Subscript {
  Ints starts, ends, steps, result;  ///< of every axis of x; the extents of the result
};

bool bit(int mask, std::size_t i) { return i < 31 && (mask >> i & 1) != 0; }

/// Where index `v` of an axis lies, and no further than the slice operator may go.
std::int64_t clamped(std::int64_t v, std::int64_t extent, std::int64_t step) {
  const std::int64_t lo = step < 0 ? -1 : 0, hi = step < 0 ? extent - 1 : extent;
  return std::clamp(v < 0 ? v + extent : v, lo, hi);
}

/// One axis of x under entry `i` of begin, end and strides.
void add_axis(Subscript& out, const tfl::StridedSliceOptions& o, std::size_t i, std::int64_t extent,
              std::int64_t begin, std::int64_t end, std::int64_t step) {
  if (bit(o.shrink_axis_mask(), i)) {
    const std::int64_t index = begin < 0 ? begin + extent : begin;
    if (index < 0 || index >= extent) {
      fail(ErrorCode::bad_input, "index ", begin, " of an axis with ", extent, " elements");
    }
    out.starts.push_back(index);
    out.ends.push_back(index + 1);
    out.steps.push_back(1);
    return;
  }
  if (step == 0) fail(ErrorCode::bad_input, "stride ", i, " is 0");
  if (o.offset()) end = checked_add(begin, end);
  const std::int64_t first =
      bit(o.begin_mask(), i) ? (step < 0 ? extent - 1 : 0) : clamped(begin, extent, step);
  const std::int64_t last =
      bit(o.end_mask(), i) ? (step < 0 ? -1 : extent) : clamped(end, extent, step);
  const std::int64_t span = step < 0 ? first - last : last - first;
  const std::int64_t count =
      span <= 0 ? 0
                : (span - 1) / (step < 0 ? -std::max(step, -(std::int64_t{1} << 40)) : step) + 1;
  out.starts.push_back(first);
  // An end before index 0 is spelt as one far below, for -1 would be the last element.
  out.ends.push_back(last < 0 ? std::numeric_limits<std::int32_t>::min() : last);
  out.steps.push_back(step);
  out.result.push_back(count);
}

void strided_slice(const TfliteNode& node) {
  node.expect(4, 4);
  const auto& o = node.options<tfl::StridedSliceOptions>();
  const ValueId x = node.in(0);
  const Shape s = node.shape(x);
  const Ints begin = node.ints(1), end = node.ints(2), step = node.ints(3);
  const std::size_t count = begin.size();
  if (end.size() != count || step.size() != count || count > 2 * kMaxRank) {
    fail(ErrorCode::bad_input, "begin, end and strides differ in length");
  }
  int named = 0;
  for (std::size_t i = 0; i < count; ++i) {
    named += !bit(o.new_axis_mask(), i) && !bit(o.ellipsis_mask(), i);
  }
  if (named > s.rank()) fail(ErrorCode::bad_input, "it names ", named, " axes of rank ", s.rank());
  Subscript sub;
  int axis = 0;
  const auto whole_axes = [&](int until) {
    for (; axis < until; ++axis) {
      sub.starts.push_back(0);
      sub.ends.push_back(s[axis]);
      sub.steps.push_back(1);
      sub.result.push_back(s[axis]);
    }
  };
  bool ellipsis = false;
  for (std::size_t i = 0; i < count; ++i) {
    if (bit(o.ellipsis_mask(), i)) {
      if (ellipsis) fail(ErrorCode::bad_input, "it has two ellipses");
      ellipsis = true;
      whole_axes(axis + s.rank() - named);
    } else if (bit(o.new_axis_mask(), i)) {
      sub.result.push_back(1);
    } else {
      add_axis(sub, o, i, s[axis], begin[i], end[i], step[i]);
      ++axis;
    }
  }
  whole_axes(s.rank());
  const ValueId y = node.emit("slice", {x},
                              {{"starts", sub.starts},
                               {"ends", sub.ends},
                               {"axes", rank_axes(s.rank())},
                               {"steps", sub.steps}});
  node.out(node.reshape(y, sub.result));
}

void tile(const TfliteNode& node) {
  node.expect(2, 2);
  node.out(node.emit("tile", {node.in(0)}, {{"repeats", node.ints(1)}}));
}

void broadcast_to(const TfliteNode& node) {
  node.expect(2, 2);
  node.out(node.emit("expand", {node.in(0)}, {{"shape", node.ints(1)}}));
}

void fill(const TfliteNode& node) {
  node.expect(2, 2);
  node.out(node.emit("expand", {node.in(1)}, {{"shape", node.ints(0)}}));
}

void range(const TfliteNode& node) {
  node.expect(3, 3);
  node.out(node.emit("range", {node.in(0), node.in(1), node.in(2)}));
}

constexpr TfliteRule kRules[] = {
    {tfl::BuiltinOperator_RESHAPE, reshape},
    {tfl::BuiltinOperator_SQUEEZE, squeeze},
    {tfl::BuiltinOperator_EXPAND_DIMS, expand_dims},
    {tfl::BuiltinOperator_TRANSPOSE, transpose},
    {tfl::BuiltinOperator_SHAPE, shape},
    {tfl::BuiltinOperator_PACK, pack},
    {tfl::BuiltinOperator_UNPACK, unpack},
    {tfl::BuiltinOperator_SPLIT, split},
    {tfl::BuiltinOperator_SPLIT_V, split_v},
    {tfl::BuiltinOperator_CONCATENATION, concatenation},
    {tfl::BuiltinOperator_GATHER, gather},
    {tfl::BuiltinOperator_GATHER_ND, gather_nd},
    {tfl::BuiltinOperator_EMBEDDING_LOOKUP, embedding_lookup},
    {tfl::BuiltinOperator_PAD, pad},
    {tfl::BuiltinOperator_PADV2, pad},
    {tfl::BuiltinOperator_MIRROR_PAD, mirror_pad},
    {tfl::BuiltinOperator_SLICE, slice},
    {tfl::BuiltinOperator_STRIDED_SLICE, strided_slice},
    {tfl::BuiltinOperator_TILE, tile},
    {tfl::BuiltinOperator_BROADCAST_TO, broadcast_to},
    {tfl::BuiltinOperator_FILL, fill},
    {tfl::BuiltinOperator_RANGE, range},
};

}  // namespace

std::span<const TfliteRule> tflite_shape_rules() { return kRules; }

}  // namespace stowage
