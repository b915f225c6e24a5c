// SPDX-License-Identifier: Apache-2.0
// Slices with any step, forwards or backwards.
#include "ops/box_copy/box_copy.h"
#include "ops/elements.h"
#include "ops/shapes.h"

namespace stowage {

namespace {

/// `begin` and `step`, one an axis, are what reference and offers read.
void infer(const InferRef& node) {
  node.expect_inputs(1, 5);
  const Shape& x = node.shape(0);
  const auto starts = take_ints(node, "starts", 1), ends = take_ints(node, "ends", 2);
  if (!starts || !ends) fail(ErrorCode::bad_input, "it has no starts or no ends");
  auto axes = take_ints(node, "axes", 3);
  const auto steps = take_ints(node, "steps", 4);
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
  node.attrs().set("begin", begin);
  node.attrs().set("step", step);
  keep_inputs(node, 1);
  node.set_output(0, node.dtype(0), out);
}

void reference(const ReferenceArgs& args) {
  const Shape& out = args.out[0].mapping.shape();
  const Ints begin = args.node.attrs().integers("begin"), step = args.node.attrs().integers("step");
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
  const Attributes& attrs = request.node.attrs();
  const Shape &x = request.node.shape(0), &y = request.node.output().shape;
  const SliceParams params{{}, attrs.integers("begin"), attrs.integers("step")};
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
    const Mapping whole(offer.in[0], x, size), part(offer.out[0], y, size);
    const auto offset = part_offset(whole, part, cut, params.begin[at(cut)]);
    if (offset) offer.outputs_in_input.push_back({0, *offset, offer.flops});
  }
}

constexpr OpDef kSlice[] = {{.name = "slice",
                             .aliases = onnx<"Slice">,
                             .category = Category::transposable,
                             .infer = infer,
                             .reference = reference,
                             .offers = offers,
                             .kernels = kKernels,
                             .axes = link_positions}};

}  // namespace

extern const std::span<const OpDef> ops_slice;
const std::span<const OpDef> ops_slice = kSlice;

}  // namespace stowage
