// SPDX-License-Identifier: Apache-2.0
// Inference-time batch normalisation: one scale and one shift a channel.
#include <cmath>

#include "ops/elements.h"
#include "ops/shapes.h"

namespace stowage {

namespace {

void infer(const NodeRef& node) {
  node.expect_inputs(5, 5);
  node.expect_dtype(0, {DType::f32, DType::f64, DType::f16, DType::bf16});
  if (node.attrs().integer("training_mode", 0) != 0) {
    fail(ErrorCode::unsupported, "training mode");
  }
  if (node.attrs().integer("spatial", 1) == 0) {
    fail(ErrorCode::unsupported, "statistics per element (spatial = 0)");
  }
  for (int o = 1; o < node.output_count(); ++o) {
    if (!node.has_output(o)) continue;
    const ValueId id = node.node().outputs[at(o)];
    if (node.graph().is_output(id) || !node.graph().consumers()[at(id)].empty()) {
      fail(ErrorCode::unsupported, "output ", o, " exists in training only");
    }
    node.graph().value(id).producer = kNoNode;
  }
  node.node().outputs.resize(1);
  expect_rank(node, 0, 1);
  const std::int64_t channels = node.rank(0) > 1 ? node.shape(0)[1] : 1;
  for (int i = 1; i < 5; ++i) {
    if (node.rank(i) != 1 || node.shape(i)[0] != channels) {
      fail(ErrorCode::bad_input, "input ", i, " has shape ", node.shape(i).extents(),
           ", expected one element for each of ", channels, " channels");
    }
    node.expect_dtype(i, {DType::f32, DType::f64, DType::f16, DType::bf16});
  }
  node.set_output(0, node.dtype(0), node.shape(0).extents());
}

std::vector<double> doubles(const TensorView& view) {
  std::vector<double> out(at(view.mapping.shape().elements()));
  for_float_dtype(view.dtype, [&]<class T>() {
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] =
          static_cast<double>(static_cast<Compute<T>>(reinterpret_cast<const T*>(view.data)[i]));
    }
  });
  return out;
}

void reference(const ReferenceArgs& args) {
  const Shape& shape = args.out[0].mapping.shape();
  const auto scale = doubles(args.in[1]), bias = doubles(args.in[2]), mean = doubles(args.in[3]),
             variance = doubles(args.in[4]);
  const auto epsilon = static_cast<double>(args.node.attrs().real("epsilon", 1e-5f));
  const std::int64_t run = product(shape.extents(), 2, shape.rank());
  for_float_dtype(args.out[0].dtype, [&]<class T>() {
    const T* x = args.input<T>(0);
    T* y = args.output<T>(0);
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
      const auto c = at(shape.rank() > 1 ? i / run % shape[1] : 0);
      const auto v = static_cast<double>(static_cast<Compute<T>>(x[i]));
      y[i] = element_cast<T>((v - mean[c]) / std::sqrt(variance[c] + epsilon) * scale[c] + bias[c]);
    }
  });
}

constexpr OpDef kBatchNorm[] = {{.name = "batch_norm",
                                 .aliases = onnx<"BatchNormalization">,
                                 .category = Category::transposable,
                                 .infer = infer,
                                 .reference = reference,
                                 .axes = link_images}};

}  // namespace

extern const std::span<const OpDef> ops_batch_norm;
const std::span<const OpDef> ops_batch_norm = kBatchNorm;

}  // namespace stowage
