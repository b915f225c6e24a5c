// SPDX-License-Identifier: Apache-2.0
// ncnn's activations; several have other defaults than the operators elsewhere.
#include <limits>

#include "base/text.h"
#include "ops/ncnn/blob.h"
#include "ops/ncnn/rules.h"
#include "ops/shapes.h"

namespace stowage::ncnn {

void relu(ImportNode& node) {
  node.expect(1, 1);
  const float slope = NcnnParams(node.attrs).real(0, 0);
  node.out(slope == 0 ? node.emit("relu", {node.in(0)})
                      : node.emit("leaky_relu", {node.in(0)}, {{"alpha", slope}}));
}

/// One slope, or one for each index of the outermost dim.
void prelu(ImportNode& node) {
  node.expect(1, 1);
  const ValueId slope = along_outer(node, node.shape(node.in(0)), node.weight(0));
  node.out(node.emit("prelu", {node.in(0), slope}));
}

void clip(ImportNode& node) {
  node.expect(1, 1);
  const NcnnParams p(node.attrs);
  constexpr float kMost = std::numeric_limits<float>::max();
  node.out(
      node.emit("clip", {node.in(0)}, {{"min", p.real(0, -kMost)}, {"max", p.real(1, kMost)}}));
}

void elu(ImportNode& node) {
  node.expect(1, 1);
  node.out(node.emit("elu", {node.in(0)}, {{"alpha", NcnnParams(node.attrs).real(0, 0.1f)}}));
}

void celu(ImportNode& node) {
  node.expect(1, 1);
  node.out(node.emit("celu", {node.in(0)}, {{"alpha", NcnnParams(node.attrs).real(0, 1)}}));
}

void selu(ImportNode& node) {
  node.expect(1, 1);
  const NcnnParams p(node.attrs);
  node.out(node.emit("selu", {node.in(0)},
                     {{"alpha", p.real(0, 1.67326324f)}, {"beta", p.real(1, 1.050700987f)}}));
}

void gelu(ImportNode& node) {
  node.expect(1, 1);
  const std::string kind = NcnnParams(node.attrs).flag(0) ? "tanh" : "none";
  node.out(node.emit("gelu", {node.in(0)}, {{"approximate", kind}}));
}

void hard_sigmoid(ImportNode& node) {
  node.expect(1, 1);
  const NcnnParams p(node.attrs);
  node.out(node.emit("hard_sigmoid", {node.in(0)},
                     {{"alpha", p.real(0, 0.2f)}, {"beta", p.real(1, 0.5f)}}));
}

void hard_swish_layer(ImportNode& node) {
  node.expect(1, 1);
  const NcnnParams p(node.attrs);
  node.out(hard_swish(node, node.in(0), p.real(0, 0.2f), p.real(1, 0.5f)));
}

void shrink(ImportNode& node) {
  node.expect(1, 1);
  const NcnnParams p(node.attrs);
  node.out(
      node.emit("shrink", {node.in(0)}, {{"alpha", p.real(0, 0.0f)}, {"beta", p.real(1, 0.5f)}}));
}

/// 1 above the threshold, 0 elsewhere.
void threshold(ImportNode& node) {
  node.expect(1, 1);
  const ValueId least = node.constant(NcnnParams(node.attrs).real(0, 0));
  const ValueId above = node.emit("greater", {node.in(0), least});
  node.out(node.emit("cast", {above}, {{"to", std::string("f32")}}));
}

/// Nothing is dropped; what is kept is scaled.
void dropout(ImportNode& node) {
  node.expect(1, 1);
  const float scale = NcnnParams(node.attrs).real(0, 1);
  node.out(scale == 1 ? node.in(0) : node.emit("mul", {node.in(0), node.constant(scale)}));
}

/// One half, times the sigmoid of the other.
void glu(ImportNode& node) {
  node.expect(1, 1);
  const std::int64_t axis = blob_axis(node.shape(node.in(0)), NcnnParams(node.attrs).integer(0, 0));
  const auto halves = node.emit_many("split", {node.in(0)}, 2, {{"axis", axis}});
  node.out(node.emit("mul", {halves[0], node.emit("sigmoid", {halves[1]})}));
}

void softmax(ImportNode& node) {
  node.expect(1, 1);
  const NcnnParams p(node.attrs);
  const std::int64_t own = blob_axis(node.shape(node.in(0)), p.integer(0, 0));
  node.out(node.emit("softmax", {node.in(0)}, {{"axis", own}}));
}

}  // namespace stowage::ncnn
