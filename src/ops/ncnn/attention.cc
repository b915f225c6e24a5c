// SPDX-License-Identifier: Apache-2.0
// ncnn's attention layers. A blob of a sequence is h steps of w features.
#include <cmath>

#include "base/text.h"
#include "ops/ncnn/blob.h"
#include "ops/ncnn/rules.h"
#include "ops/shapes.h"

namespace stowage::ncnn {

namespace {

/// softmax(scale * q k' + mask) v over arrays heads x steps x features.
ValueId attend(ImportNode& node, ValueId q, ValueId k, ValueId v, float scale, ValueId mask) {
  const ValueId scaled = node.emit("mul", {q, node.constant(scale)});
  const ValueId turned = node.emit("transpose", {k}, {{"perm", Ints{0, 2, 1}}});
  ValueId scores = node.emit("matmul", {scaled, turned});
  if (mask != kNoValue) scores = node.emit("add", {scores, as_array(node, mask)});
  const ValueId shares = node.emit("softmax", {scores}, {{"axis", std::int64_t{-1}}});
  return node.emit("matmul", {shares, v});
}

void expect_dims(ImportNode& node, int i, std::size_t dims) {
  const std::size_t have = dims_of(node.shape(node.in(i))).size();
  if (have != dims) fail(ErrorCode::bad_input, "input ", i, " has ", have, " dims, not ", dims);
}

/// Grouped queries: each head of k and v serves several of q.
ValueId repeat_heads(ImportNode& node, ValueId v, std::int64_t heads) {
  const Ints e = extents_of(node.shape(v));
  if (e[0] == heads) return v;
  if (e[0] < 1 || heads % e[0] != 0) {
    fail(ErrorCode::bad_input, heads, " heads of queries for ", e[0], " of keys");
  }
  const std::int64_t each = heads / e[0];
  const ValueId wide = node.emit("expand", {node.reshape(v, {e[0], 1, e[1], e[2]})},
                                 {{"shape", Ints{e[0], each, e[1], e[2]}}});
  return node.reshape(wide, {heads, e[1], e[2]});
}

}  // namespace

void multi_head_attention(ImportNode& node) {
  const NcnnParams p(node.attrs);
  refuse_parameter(p, 7, "attention with a cache of keys and values");
  const bool masked = p.flag(5);
  node.expect(1 + masked, 3 + masked);
  const int inputs = node.input_count() - masked;
  const std::int64_t embed = p.count(0, 0, 1), heads = p.count(1, 1, 1);
  if (embed % heads != 0) fail(ErrorCode::bad_input, embed, " features in ", heads, " heads");
  const std::int64_t each = embed / heads;
  // Weights and biases of q, k, v and the result.
  const auto project = [&](ValueId x, int which) {
    return node.emit("gemm", {x, node.weight(2 * which), node.weight(2 * which + 1)},
                     {{"transB", std::int64_t{1}}});
  };
  // One input is all three, the second of two is k and v.
  const auto head = [&](int which) {
    const int i = std::min(which, inputs - 1);
    expect_dims(node, i, 2);
    const ValueId y = project(node.in(i), which);
    const ValueId split = node.reshape(y, {node.shape(y)[0], heads, each});
    return node.emit("transpose", {split}, {{"perm", Ints{1, 0, 2}}});
  };
  const ValueId q = head(0), k = head(1), v = head(2);
  const float scale = p.real(6, static_cast<float>(1 / std::sqrt(static_cast<double>(each))));
  const ValueId mask = masked ? node.in(inputs) : kNoValue;
  const ValueId y =
      node.emit("transpose", {attend(node, q, k, v, scale, mask)}, {{"perm", Ints{1, 0, 2}}});
  node.out(project(node.reshape(y, {node.shape(y)[0], embed}), 3));
}

void sdpa(ImportNode& node) {
  const NcnnParams p(node.attrs);
  refuse_parameter(p, 7, "attention with a cache of keys and values");
  const bool masked = p.flag(5);
  node.expect(3 + masked, 3 + masked);
  for (const int i : {0, 1, 2}) expect_dims(node, i, 3);
  const ValueId q = as_array(node, node.in(0));
  const std::int64_t heads = node.shape(q)[0], features = node.shape(q)[2];
  const ValueId k = repeat_heads(node, as_array(node, node.in(1)), heads);
  const ValueId v = repeat_heads(node, as_array(node, node.in(2)), heads);
  float scale = p.real(6, 0);
  if (scale == 0) scale = static_cast<float>(1 / std::sqrt(static_cast<double>(features)));
  const ValueId y = attend(node, q, k, v, scale, masked ? node.in(3) : kNoValue);
  node.out(as_blob(node, y, extents_of(node.shape(y))));
}

/// Pairs (a, b) of features turn by an angle: a cos - b sin, a sin + b cos. The halves of x hold a
/// and b or, interleaved, they follow each other.
void rotary_embed(ImportNode& node) {
  node.expect(3, 3);
  const NcnnParams p(node.attrs);
  expect_dims(node, 0, 3);
  const ValueId x = as_array(node, node.in(0));
  const Ints e = extents_of(node.shape(x));
  if (e[2] % 2 != 0) fail(ErrorCode::bad_input, e[2], " features are no pairs");
  const bool interleaved = p.flag(0);
  const std::int64_t half = e[2] / 2, axis = interleaved ? 3 : 2;
  const ValueId pairs =
      node.reshape(x, interleaved ? Ints{e[0], e[1], half, 2} : Ints{e[0], e[1], 2, half});
  const auto parts = node.emit_many("split", {pairs}, 2, {{"axis", axis}});
  // One row of angles a step, alike for all heads.
  const auto angles = [&](int i) {
    const Ints shape = interleaved ? Ints{1, e[1], half, 1} : Ints{1, e[1], 1, half};
    return node.reshape(node.in(i), shape);
  };
  const ValueId cos = angles(1), sin = angles(2);
  const auto mul = [&](ValueId a, ValueId b) { return node.emit("mul", {a, b}); };
  const ValueId a = node.emit("sub", {mul(parts[0], cos), mul(parts[1], sin)});
  const ValueId b = node.emit("add", {mul(parts[0], sin), mul(parts[1], cos)});
  node.out(as_blob(node, node.emit("concat", {a, b}, {{"axis", axis}}), e));
}

}  // namespace stowage::ncnn
