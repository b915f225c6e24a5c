// SPDX-License-Identifier: Apache-2.0
// softmax, log_softmax, hardmax along one axis, or before opset 13 along all axes from one on.
#include <cmath>

#include "ops/elements.h"
#include "ops/shapes.h"

namespace stowage {

namespace {

/// `axis` becomes normal; `flatten` says that all axes from it on are one.
void infer(const NodeRef& node) {
  node.expect_inputs(1, 1);
  node.expect_dtype(0, {DType::f32, DType::f64, DType::f16, DType::bf16});
  const int rank = node.rank(0);
  const std::int64_t axis = node.attrs().integer("axis", -1);
  const bool flatten = node.attrs().integer("flatten", 0) != 0;
  // A scalar has one element to normalise, and axis `rank` flattens to rows of one element.
  const bool edge = (rank == 0 && (axis == 0 || axis == -1)) || (flatten && axis == rank);
  node.attrs().set("axis", edge ? std::int64_t{rank} : std::int64_t{normal_axis(axis, rank)});
  node.set_output(0, node.dtype(0), node.shape(0).extents());
}

void import_softmax(ForeignNode& node) {
  if (node.version >= 13) return;
  node.attrs.set("axis", node.attrs.integer("axis", 1));
  node.attrs.set("flatten", std::int64_t{1});
}

struct Rows {
  std::int64_t outer = 1, count = 1, inner = 1;
};

Rows rows_of(const NodeRef& node, const Shape& shape) {
  const auto axis = static_cast<int>(node.attrs().integer("axis", -1));
  const int end =
      node.attrs().integer("flatten", 0) != 0 ? shape.rank() : std::min(axis + 1, shape.rank());
  return {product(shape.extents(), 0, axis), product(shape.extents(), axis, end),
          product(shape.extents(), end, shape.rank())};
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

constexpr OpDef kSoftmax[] = {
    {.name = "softmax",
     .aliases = onnx<"Softmax", import_softmax>,
     .category = Category::transposable,
     .infer = infer,
     .reference = reference<Kind::softmax>,
     .axes = link_positions},
    {.name = "log_softmax",
     .aliases = onnx<"LogSoftmax", import_softmax>,
     .category = Category::transposable,
     .infer = infer,
     .reference = reference<Kind::log_softmax>,
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
