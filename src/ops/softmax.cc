// SPDX-License-Identifier: Apache-2.0
// softmax, log_softmax, hardmax along one axis, or before opset 13 along all axes from one on.
#include "kernels/rows/softmax.h"

#include <cmath>

#include "kernels/rows/softmax_device.h"
#include "ops/device/device_rows.h"
#include "ops/elements.h"
#include "ops/elementwise/elementwise.h"
#include "ops/ncnn/rules.h"
#include "ops/shapes.h"

namespace stowage {

namespace {

/// The fact `axis` counts from 0; `flatten` says that all axes from it on are one.
void infer(const InferRef& node) {
  node.expect_inputs(1, 1);
  node.expect_dtype(0, {DType::f32, DType::f64, DType::f16, DType::bf16});
  const int rank = node.rank(0);
  const std::int64_t axis = node.attrs().integer("axis", -1);
  const bool flatten = node.attrs().integer("flatten", 0) != 0;
  // A scalar has one element to normalise, and axis `rank` flattens to rows of one element.
  const bool edge = (rank == 0 && (axis == 0 || axis == -1)) || (flatten && axis == rank);
  node.set_fact("axis", edge ? std::int64_t{rank} : std::int64_t{normal_axis(axis, rank)});
  node.set_output(0, node.dtype(0), node.shape(0).extents());
}

void import_softmax(ImportNode& node) {
  if (node.version >= 13) return;
  node.attrs.set("axis", node.attrs.integer("axis", 1));
  node.attrs.set("flatten", std::int64_t{1});
}

/// TFLite: along the last axis, of x times beta.
template <FixedString Op>
void import_last_axis(ImportNode& node) {
  node.expect(1, 1);
  ValueId x = node.in(0);
  const float beta = node.attrs.real("beta", 1);
  if (beta != 1.0f) x = node.emit("mul", {x, node.constant(beta)});
  node.out(node.emit(Op.text, {x}, {{"axis", std::int64_t{-1}}}));
}

struct Rows {
  std::int64_t outer = 1, count = 1, inner = 1;
};

Rows rows_of(const NodeRef& node, const Shape& shape) {
  const auto axis = static_cast<int>(node.facts().integer("axis", -1));
  const int end =
      node.attrs().integer("flatten", 0) != 0 ? shape.rank() : std::min(axis + 1, shape.rank());
  return {product(shape.extents(), 0, axis), product(shape.extents(), axis, end),
          product(shape.extents(), end, shape.rank())};
}

/// The axes of which each row is made.
Ints joined_axes(const NodeRef& node) {
  const auto axis = static_cast<int>(node.facts().integer("axis", -1));
  const bool flatten = node.attrs().integer("flatten", 0) != 0;
  Ints axes;
  for (int i = axis; i < (flatten ? node.rank(0) : std::min(axis + 1, node.rank(0))); ++i) {
    axes.push_back(i);
  }
  return axes;
}

enum class Kind { softmax, log_softmax, hardmax };

template <Kind K>
void reference(const ReferenceArgs& args) {
  if (no_elements(args)) return;
  const Rows rows = rows_of(args.node, args.out[0].mapping.shape());
  for_float_dtype(args.out[0].dtype, [&]<class T>() {
    for (std::int64_t row = 0; row < rows.outer * rows.inner && rows.count > 0; ++row) {
      const std::int64_t first = row / rows.inner * rows.count * rows.inner + row % rows.inner;
      const T* x = args.input<T>(0) + first;
      T* y = args.output<T>(0) + first;
      const auto value = [&](std::int64_t i) {
        return static_cast<double>(static_cast<Compute<T>>(x[i * rows.inner]));
      };
      std::int64_t largest = 0;
      for (std::int64_t i = 1; i < rows.count; ++i) {
        if (value(i) > value(largest)) largest = i;
      }
      const double max = value(largest);
      double sum = 0;
      for (std::int64_t i = 0; i < rows.count; ++i) sum += std::exp(value(i) - max);
      for (std::int64_t i = 0; i < rows.count; ++i) {
        const double v = K == Kind::softmax       ? std::exp(value(i) - max) / sum
                         : K == Kind::log_softmax ? value(i) - max - std::log(sum)
                                                  : static_cast<double>(i == largest);
        y[i * rows.inner] = element_cast<T>(v);
      }
    }
  });
}

constexpr const KernelDef* kSoftmaxKernels[] = {&kSoftmaxStrided[0], &kSoftmaxGathered[0]};
constexpr const KernelDef* kLogSoftmaxKernels[] = {&kSoftmaxStrided[1], &kSoftmaxGathered[1]};

template <bool Log>
void offers(const OfferRequest& request, std::vector<Offer>& out) {
  constexpr std::int64_t kLongest = 1 << 14;  // a row that is listed
  const NodeRef& node = request.node;
  if (node.dtype(0) != DType::f32 || node.shape(0).elements() == 0) return;
  if (request.target.device) offer_device_softmax(request, joined_axes(node), Log, out);
  const int threads = request.target.threads;
  for (const Layout& layout : elementwise_layouts(request)) {
    SoftmaxParams params;
    params.mapping = Mapping(layout, node.output().shape, sizeof(float));
    params.axis = static_cast<int>(node.facts().integer("axis", -1));
    params.flatten = node.attrs().integer("flatten", 0) != 0;
    params.workers = threads == 1 ? 1 : 4 * threads;
    Offer offer;
    offer.in = {broadcast_follower(node, 0, layout).mapping.layout()};
    offer.out = {layout};
    offer.in_place = 0;
    offer.flops = 20 * static_cast<double>(node.shape(0).elements());
    if (softmax_in_strides(params)) {
      offer.efficiency = 0.25;
      offer.call = {kSoftmaxStrided[Log], std::move(params)};
    } else if (softmax_row_elements(params) <= kLongest) {
      // Collecting costs as much as a run is short.
      offer.efficiency = softmax_gathered_run(params) >= 4 ? 0.15 : 0.04;
      offer.scratch_bytes = at(params.workers * softmax_row_floats(params)) * sizeof(float);
      offer.call = {kSoftmaxGathered[Log], std::move(params)};
    } else {
      continue;
    }
    out.push_back(std::move(offer));
  }
}

constexpr OpDef kSoftmax[] = {
    {.name = "softmax",
     .aliases =
         named<Onnx<"Softmax", import_softmax>, Tflite<"SOFTMAX", import_last_axis<"softmax">>,
               Ncnn<"Softmax", ncnn::softmax>,
               Ncnn<"MultiHeadAttention", ncnn::multi_head_attention>, Ncnn<"SDPA", ncnn::sdpa>>,
     .category = Category::transposable,
     .mace = "Softmax",
     .infer = infer,
     .reference = reference<Kind::softmax>,
     .offers = offers<false>,
     .kernels = kSoftmaxKernels,
     .device_kernels = kSoftmaxDeviceKernels,
     .axes = link_positions},
    {.name = "log_softmax",
     .aliases = named<Onnx<"LogSoftmax", import_softmax>,
                      Tflite<"LOG_SOFTMAX", import_last_axis<"log_softmax">>>,
     .category = Category::transposable,
     .mace = "Softmax",
     .infer = infer,
     .reference = reference<Kind::log_softmax>,
     .offers = offers<true>,
     .kernels = kLogSoftmaxKernels,
     .device_kernels = kSoftmaxDeviceKernels,
     .axes = link_positions},
    {.name = "hardmax",
     .aliases = onnx<"Hardmax", import_softmax>,
     .category = Category::transposable,
     .infer = infer,
     .reference = reference<Kind::hardmax>,
     .axes = link_positions},
};

}  // namespace

extern const std::span<const OpDef> ops_softmax;
const std::span<const OpDef> ops_softmax = kSoftmax;

}  // namespace stowage
