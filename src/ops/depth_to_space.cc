// SPDX-License-Identifier: Apache-2.0
// depth_to_space and space_to_depth: channels become blocks of pixels, and back.
#include "ops/elements.h"
#include "ops/shapes.h"

namespace stowage {

namespace {

std::int64_t block_of(const NodeRef& node) {
  node.expect_inputs(1, 1);
  expect_rank(node, 0, 4, 4);
  const std::int64_t block = node.attrs().integer("blocksize", 0);
  if (block < 1 || block > (1 << 20)) fail(ErrorCode::bad_input, "blocksize is ", block);
  const std::string mode = node.attrs().string("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") {
    fail(ErrorCode::bad_input, "mode is '", mode, "', expected DCR or CRD");
  }
  return block;
}

void infer_depth_to_space(const NodeRef& node) {
  const std::int64_t b = block_of(node);
  const Shape& x = node.shape(0);
  if (x[1] % (b * b) != 0) {
    fail(ErrorCode::bad_input, x[1], " channels do not fill blocks of ", b, " by ", b);
  }
  node.set_output(0, node.dtype(0),
                  {x[0], x[1] / (b * b), checked_mul(x[2], b), checked_mul(x[3], b)});
}

void infer_space_to_depth(const NodeRef& node) {
  const std::int64_t b = block_of(node);
  const Shape& x = node.shape(0);
  if (x[2] % b != 0 || x[3] % b != 0) {
    fail(ErrorCode::bad_input, x[2], " by ", x[3], " pixels do not fall into blocks of ", b);
  }
  node.set_output(0, node.dtype(0), {x[0], checked_mul(x[1], b * b), x[2] / b, x[3] / b});
}

/// Every pixel (h, w) of channel c on the spacious side is channel `deep` of (h/b, w/b).
template <bool ToSpace>
void reference(const ReferenceArgs& args) {
  if (no_elements(args)) return;
  const Shape& space = (ToSpace ? args.out[0] : args.in[0]).mapping.shape();
  const Shape& depth = (ToSpace ? args.in[0] : args.out[0]).mapping.shape();
  const std::int64_t b = args.node.attrs().integer("blocksize", 1);
  const bool crd = args.node.attrs().string("mode", "DCR") == "CRD";
  for_bytes(args.out[0].dtype, [&]<class T>() {
    const T* x = args.input<T>(0);
    T* y = args.output<T>(0);
    std::int64_t i = 0;
    for (std::int64_t n = 0; n < space[0]; ++n) {
      for (std::int64_t c = 0; c < space[1]; ++c) {
        for (std::int64_t h = 0; h < space[2]; ++h) {
          for (std::int64_t w = 0; w < space[3]; ++w, ++i) {
            const std::int64_t block = h % b * b + w % b;
            const std::int64_t deep = crd ? c * b * b + block : block * space[1] + c;
            const std::int64_t k = ((n * depth[1] + deep) * depth[2] + h / b) * depth[3] + w / b;
            if (ToSpace) {
              y[i] = x[k];
            } else {
              y[k] = x[i];
            }
          }
        }
      }
    }
  });
}

/// Only the batch survives; the rest have names but not the same extents.
void axes(const NodeRef& node, AxisLinks& links) {
  name_image_axes(node, node.node().inputs[0], links);
  name_image_axes(node, node.node().outputs[0], links);
  links.link(node.node().inputs[0], 0, node.node().outputs[0], 0);
}

constexpr OpDef kDepthToSpace[] = {
    {.name = "depth_to_space",
     .aliases = onnx<"DepthToSpace">,
     .category = Category::fixed,
     .infer = infer_depth_to_space,
     .reference = reference<true>,
     .axes = axes},
    {.name = "space_to_depth",
     .aliases = onnx<"SpaceToDepth">,
     .category = Category::fixed,
     .infer = infer_space_to_depth,
     .reference = reference<false>,
     .axes = axes},
};

}  // namespace

extern const std::span<const OpDef> ops_depth_to_space;
const std::span<const OpDef> ops_depth_to_space = kDepthToSpace;

}  // namespace stowage
