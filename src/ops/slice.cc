// SPDX-License-Identifier: Apache-2.0
// Slices with any step, forwards or backwards.
#include "ops/box_copy/box_copy.h"
#include "ops/device/device_offer.h"
#include "ops/elements.h"
#include "ops/ncnn/rules.h"
#include "ops/shapes.h"

namespace stowage {

namespace {

/// The facts `begin` and `step`, one an axis, are what reference and offers read.
void infer(const InferRef& node) {
  node.expect_inputs(1, 5);
  const Shape& x = node.shape(0);
  const auto starts = node.ints_of("starts", 1), ends = node.ints_of("ends", 2);
  if (!starts || !ends) fail(ErrorCode::bad_input, "it has no starts or no ends");
  auto axes = node.ints_of("axes", 3);
  const auto steps = node.ints_of("steps", 4);
  if (!axes) {
    axes.emplace();
    for (std::size_t i = 0; i < starts->size(); ++i) axes->push_back(static_cast<int>(i));
  }
  if (ends->size() != starts->size() || axes->size() != starts->size() ||
      (steps && steps->size() != starts->size())) {
    fail(ErrorCode::bad_input, "starts, ends, axes and steps differ in length");
  }
  normal_axes(*axes, x.rank());
  Ints begin(at(x.rank()), 0), step(at(x.rank()), 1), out = extents_of(x);
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const auto axis = at(normal_axis((*axes)[i], x.rank()));
    const std::int64_t extent = x[static_cast<int>(axis)];
    const std::int64_t s = steps ? (*steps)[i] : 1;
    if (s == 0) fail(ErrorCode::bad_input, "the step along axis ", axis, " is 0");
    // Backwards the ends of the range are shifted by one: from extent - 1 to before 0.
    const std::int64_t lo = s < 0 ? -1 : 0, hi = s < 0 ? extent - 1 : extent;
    const auto bound = [&](std::int64_t v) {
      return v < 0 ? std::clamp(v < -extent ? lo : v + extent, lo, hi) : std::clamp(v, lo, hi);
    };
    const std::int64_t first = bound((*starts)[i]), last = bound((*ends)[i]);
    begin[axis] = first;
    step[axis] = s;
    if (s > 0) {
      out[axis] = first < last ? (last - first - 1) / s + 1 : 0;
    } else {
      out[axis] = first > last ? (last - first + 1) / s + 1 : 0;
    }
    // A step that is never taken may be absurd.
    if (out[axis] <= 1) step[axis] = 1;
    if (out[axis] == 0) begin[axis] = 0;
  }
  node.set_fact("begin", begin);
  node.set_fact("step", step);
  node.set_output(0, node.dtype(0), out);
}

void reference(const ReferenceArgs& args) {
  const Shape& out = args.out[0].mapping.shape();
  const Ints begin = args.node.facts().integers("begin"), step = args.node.facts().integers("step");
  Ints strides = row_major_strides(args.in[0].mapping.shape().extents());
  std::int64_t first = 0;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    first += begin[i] * strides[i];
    strides[i] *= step[i];
  }
  for_bytes(args.out[0].dtype, [&]<class T>() {
    const T* x = args.input<T>(0);
    T* y = args.output<T>(0);
    Walk<1> walk(out.extents(), {strides});
    for (std::int64_t i = 0; i < out.elements(); ++i, walk.next()) y[i] = x[first + walk.offset(0)];
  });
}

struct SliceParams : CopyParams {
  Ints begin, step;

  void fields(Archive& a) {
    CopyParams::fields(a);
    a("begin", begin)("step", step);
  }

  BoxCopy::IndexMap map(const BindArgs&) const {
    return [this](int axis, std::int64_t x) { return begin[at(axis)] + x * step[at(axis)]; };
  }
};

constexpr KernelDef kKernel = copy_row<SliceParams>("slice");
constexpr const KernelDef* kKernels[] = {&kKernel};

void offers(const OfferRequest& request, std::vector<Offer>& out) {
  const Attributes& facts = request.node.facts();
  const Shape &x = request.node.shape(0), &y = request.node.output().shape;
  const SliceParams params{{}, facts.integers("begin"), facts.integers("step")};
  MoveParams move;
  for (int i = 0; i < x.rank(); ++i) {
    move.input.push_back(along(i, params.begin[at(i)], params.step[at(i)]));
  }
  offer_device_move(request, move, out);
  const std::size_t first = out.size();
  offer_copy(request, out, kKernel, params);
  // Along one axis and without steps, it may be a stretch of its input.
  int cut = -1, cuts = 0;
  for (int i = 0; i < x.rank(); ++i) {
    if (params.step[at(i)] != 1) return;
    if (x[i] == y[i]) continue;
    cut = i;
    ++cuts;
  }
  if (cuts != 1) return;
  const int size = dtype_bytes(request.node.dtype(0));
  for (Offer& offer : std::span(out).subspan(first)) {
    const Mapping whole(offer.in[0].layout, x, size), part(offer.out[0].layout, y, size);
    const auto offset = part_offset(whole, part, cut, params.begin[at(cut)]);
    if (offset) offer.outputs_in_input.push_back({0, *offset, offer.pieces});
  }
}

Ints all_axes(int rank) {
  Ints axes;
  for (int i = 0; i < rank; ++i) axes.push_back(i);
  return axes;
}

/// A size of -1 reaches to the end.
void import_slice(ImportNode& node) {
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
                     {{"starts", begin}, {"ends", ends}, {"axes", all_axes(s.rank())}}));
}

/// What numpy's x[a:b:c, ..., None, i] means, one entry an index.
struct Subscript {
  Ints starts, ends, steps, result;  ///< of every axis of x; the extents of the result
};

bool bit(const ImportNode& node, std::string_view mask, std::size_t i) {
  return i < 31 && (node.attrs.integer(mask, 0) >> i & 1) != 0;
}

/// Where index `v` of an axis lies, and no further than the slice operator may go.
std::int64_t clamped(std::int64_t v, std::int64_t extent, std::int64_t step) {
  const std::int64_t lo = step < 0 ? -1 : 0, hi = step < 0 ? extent - 1 : extent;
  return std::clamp(v < 0 ? v + extent : v, lo, hi);
}

/// One axis of x under entry `i` of begin, end and strides.
void add_axis(Subscript& out, const ImportNode& node, std::size_t i, std::int64_t extent,
              std::int64_t begin, std::int64_t end, std::int64_t step) {
  if (bit(node, "shrink_axis_mask", i)) {
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
  if (node.flag("offset")) end = checked_add(begin, end);
  const std::int64_t first =
      bit(node, "begin_mask", i) ? (step < 0 ? extent - 1 : 0) : clamped(begin, extent, step);
  const std::int64_t last =
      bit(node, "end_mask", i) ? (step < 0 ? -1 : extent) : clamped(end, extent, step);
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

void import_strided_slice(ImportNode& node) {
  node.expect(4, 4);
  const ValueId x = node.in(0);
  const Shape s = node.shape(x);
  const Ints begin = node.ints(1), end = node.ints(2), step = node.ints(3);
  const std::size_t count = begin.size();
  if (end.size() != count || step.size() != count || count > 2 * kMaxRank) {
    fail(ErrorCode::bad_input, "begin, end and strides differ in length");
  }
  int named = 0;
  for (std::size_t i = 0; i < count; ++i) {
    named += !bit(node, "new_axis_mask", i) && !bit(node, "ellipsis_mask", i);
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
    if (bit(node, "ellipsis_mask", i)) {
      if (ellipsis) fail(ErrorCode::bad_input, "it has two ellipses");
      ellipsis = true;
      whole_axes(axis + s.rank() - named);
    } else if (bit(node, "new_axis_mask", i)) {
      sub.result.push_back(1);
    } else {
      add_axis(sub, node, i, s[axis], begin[i], end[i], step[i]);
      ++axis;
    }
  }
  whole_axes(s.rank());
  const ValueId y = node.emit("slice", {x},
                              {{"starts", sub.starts},
                               {"ends", sub.ends},
                               {"axes", all_axes(s.rank())},
                               {"steps", sub.steps}});
  node.out(node.reshape(y, sub.result));
}

constexpr Parameter kParameters[] = {{1, "starts"}, {2, "ends"}, {3, "axes"}, {4, "steps"}};

constexpr OpDef kSlice[] = {{.name = "slice",
                             .aliases = named<Onnx<"Slice">, Tflite<"SLICE", import_slice>,
                                              Tflite<"STRIDED_SLICE", import_strided_slice>,
                                              Ncnn<"Crop", ncnn::crop>, Ncnn<"Flip", ncnn::flip>>,
                             .category = Category::transposable,
                             .infer = infer,
                             .parameters = kParameters,
                             .reference = reference,
                             .offers = offers,
                             .kernels = kKernels,
                             .device_kernels = kMoveKernels,
                             .axes = link_positions}};

}  // namespace

extern const std::span<const OpDef> ops_slice;
const std::span<const OpDef> ops_slice = kSlice;

}  // namespace stowage
