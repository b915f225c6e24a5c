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

/// What a layer remembers of earlier steps, heads x steps x features; there may be none yet.
struct Cache {
  ValueId k, v;

  /// The last two inputs.
  Cache(ImportNode& node, int first) : k(array(node, first)), v(array(node, first + 1)) {}

  static ValueId array(ImportNode& node, int i) {
    expect_dims(node, i, 3);
    return as_array(node, node.in(i));
  }

  bool empty(ImportNode& node) const { return node.shape(k)[1] == 0; }

  void give_out(ImportNode& node) const {
    for (int i = 0; const ValueId all : {k, v}) {
      node.out(++i, as_blob(node, all, extents_of(node.shape(all))));
    }
  }
};

/// The steps of `past`, then those of `now`.
ValueId appended(ImportNode& node, ValueId past, ValueId now) {
  const Shape &a = node.shape(past), &b = node.shape(now);
  if (a[0] != b[0] || a[2] != b[2]) {
    fail(ErrorCode::bad_input, "its cache has ", a[0], " heads of ", a[2], " features, not ", b[0],
         " of ", b[2]);
  }
  if (a[1] == 0) return now;
  return node.emit("concat", {past, now}, {{"axis", std::int64_t{1}}});
}

}  // namespace

void multi_head_attention(ImportNode& node) {
  const NcnnParams p(node.attrs);
  const bool masked = p.flag(5), cached = p.flag(7);
  const int others = masked + 2 * cached;
  node.expect(1 + others, 3 + others, cached ? 3 : 1);
  const int inputs = node.input_count() - others;
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
  const ValueId q = head(0);
  ValueId k = kNoValue, v = kNoValue;
  if (cached) {
    // Keys of its own input are added to those of earlier steps; those of another stay the same.
    Cache cache(node, inputs + masked);
    if (inputs == 1 || cache.empty(node)) {
      cache.k = appended(node, cache.k, head(1));
      cache.v = appended(node, cache.v, head(2));
    }
    cache.give_out(node);
    k = cache.k;
    v = cache.v;
  } else {
    k = head(1);
    v = head(2);
  }
  const float scale = p.real(6, static_cast<float>(1 / std::sqrt(static_cast<double>(each))));
  const ValueId mask = masked ? node.in(inputs) : kNoValue;
  const ValueId y =
      node.emit("transpose", {attend(node, q, k, v, scale, mask)}, {{"perm", Ints{1, 0, 2}}});
  node.out(project(node.reshape(y, {node.shape(y)[0], embed}), 3));
}

void sdpa(ImportNode& node) {
  const NcnnParams p(node.attrs);
  const bool masked = p.flag(5), cached = p.flag(7);
  const int inputs = 3 + masked + 2 * cached;
  node.expect(inputs, inputs, cached ? 3 : 1);
  for (const int i : {0, 1, 2}) expect_dims(node, i, 3);
  const ValueId q = as_array(node, node.in(0));
  const std::int64_t heads = node.shape(q)[0], features = node.shape(q)[2];
  ValueId k = as_array(node, node.in(1)), v = as_array(node, node.in(2));
  if (cached) {
    Cache cache(node, inputs - 2);
    k = cache.k = appended(node, cache.k, k);
    v = cache.v = appended(node, cache.v, v);
    cache.give_out(node);
  }
  k = repeat_heads(node, k, heads);
  v = repeat_heads(node, v, heads);
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
  // One row of angles a step, alike for all heads; a row of full width has angles of b behind those
  // of a.
  const auto width = [&](int i) { return dims_of(node.shape(node.in(i))).back(); };
  const bool full = !interleaved && half > 0 && width(1) == e[2];
  const auto angles = [&](int i) {
    const std::int64_t wanted = full ? e[2] : half;
    expect_dims(node, i, 2);
    const Ints cache = dims_of(node.shape(node.in(i)));
    if (cache[0] < e[1] || cache[1] < wanted) {
      fail(ErrorCode::bad_input, "its cache of ", cache[0], " steps and ", cache[1],
           " angles is too small for ", e[1], " steps of ", wanted);
    }
    ValueId v = node.in(i);
    if (cache != Ints{e[1], wanted}) {
      v = node.emit("slice", {v},
                    {{"starts", Ints{0, 0}}, {"ends", Ints{e[1], wanted}}, {"axes", Ints{0, 1}}});
    }
    if (!full) {
      v = node.reshape(v, interleaved ? Ints{1, e[1], half, 1} : Ints{1, e[1], 1, half});
      return std::vector<ValueId>{v, v};
    }
    return node.emit_many("split", {node.reshape(v, {1, e[1], 2, half})}, 2, {{"axis", axis}});
  };
  const std::vector<ValueId> cos = angles(1), sin = angles(2);
  const auto mul = [&](ValueId a, ValueId b) { return node.emit("mul", {a, b}); };
  const ValueId a = node.emit("sub", {mul(parts[0], cos[0]), mul(parts[1], sin[0])});
  const ValueId b = node.emit("add", {mul(parts[0], sin[1]), mul(parts[1], cos[1])});
  node.out(as_blob(node, node.emit("concat", {a, b}, {{"axis", axis}}), e));
}

}  // namespace stowage::ncnn
