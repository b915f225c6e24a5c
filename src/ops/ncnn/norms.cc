// SPDX-License-Identifier: Apache-2.0
// ncnn's normalisations.
#include <algorithm>
#include <cmath>

#include "base/checked.h"
#include "base/text.h"
#include "ops/ncnn/blob.h"
#include "ops/ncnn/rules.h"
#include "ops/norm/norm_rules.h"
#include "ops/shapes.h"

namespace stowage::ncnn {

namespace {

constexpr std::int64_t kKeep = 1;

/// The blob as a batch of one with its outermost dim as channels.
ValueId channels_of(ImportNode& node, ValueId v) {
  Ints extents = dims_of(node.shape(v));
  extents.insert(extents.begin(), 1);
  return node.reshape(v, extents);
}

/// Variances that come to nothing count as 1e-8, as ncnn has it.
ValueId some_variance(ImportNode& node, ValueId v, float epsilon) {
  Tensor t = *node.value(v).constant;
  bool changed = false;
  for (float& x : t.as<float>()) {
    if (std::sqrt(x + epsilon) != 0) continue;
    x = 1e-8f - epsilon;
    changed = true;
  }
  return changed ? node.constant(std::move(t)) : v;
}

/// y * gamma + beta along the outermost dim, where the layer has them as its weights.
ValueId scale_channels(ImportNode& node, ValueId y) {
  const Shape blob = node.shape(y);
  for (int i = 0; i < node.weight_count(); ++i) {
    y = node.emit(i == 0 ? "mul" : "add", {y, along_outer(node, blob, node.weight(i))});
  }
  return y;
}

/// How many of the innermost dims a layer normalises together that says that it has `size`
/// elements: w; w and h; or all of a channel where it says neither. `weighted`: it has as many
/// weights.
int inner_dims(const Shape& blob, std::int64_t size, bool weighted) {
  const Ints dims = dims_of(blob);
  const int most = std::max(static_cast<int>(dims.size()) - 1, 1);
  std::int64_t elements = dims.back();
  int count = 1;
  while (count < most && elements != size) {
    ++count;
    elements = checked_mul(elements, dims[dims.size() - at(count)]);
  }
  if (weighted && elements != size) {
    fail(ErrorCode::bad_input, "it has ", size, " weights for ", elements,
         " elements of a blob of dims ", std::span<const std::int64_t>(dims));
  }
  return count;
}

/// The weights of a layer as they stretch over the innermost `count` dims.
ValueId inner_weight(ImportNode& node, Shape blob, int count, ValueId w) {  // NOLINT: by value
  const Ints dims = dims_of(blob);
  const Ints extents(dims.end() - count, dims.end());
  return node.reshape(w, extents);
}

/// 1 / sqrt(x + epsilon), or as parameter 9 of Normalize says.
ValueId inverse_root(ImportNode& node, ValueId squares, float epsilon, std::int64_t mode) {
  const ValueId least = node.constant(epsilon);
  switch (mode) {
    case 0:
      return node.emit("sqrt", {node.emit("add", {squares, least})});
    case 1:
      return node.emit("max", {node.emit("sqrt", {squares}), least});
    case 2:
      return node.emit("sqrt", {node.emit("max", {squares, least})});
    default:
      fail(ErrorCode::bad_input, "its eps mode is ", mode);
  }
}

}  // namespace

/// Weights: scale, mean, variance, bias.
void batch_norm(ImportNode& node) {
  node.expect(1, 1);
  const float epsilon = NcnnParams(node.attrs).real(1, 0);
  const ValueId y = node.emit("batch_norm",
                              {channels_of(node, node.in(0)), node.weight(0), node.weight(3),
                               node.weight(1), some_variance(node, node.weight(2), epsilon)},
                              {{"epsilon", epsilon}});
  node.out(as_blob(node, y, dims_of(node.shape(node.in(0)))));
}

void instance_norm(ImportNode& node) {
  node.expect(1, 1);
  const Shape x = node.shape(node.in(0));
  if (x.rank() != 4) fail(ErrorCode::bad_input, "its input is no c h w");
  const bool affine = node.weight_count() > 0;
  const ValueId gamma = affine ? node.weight(0) : filled(node, x[1], 1);
  const ValueId beta = affine ? node.weight(1) : filled(node, x[1], 0);
  node.out(node.emit("instance_norm", {node.in(0), gamma, beta},
                     {{"epsilon", NcnnParams(node.attrs).real(1, 0.001f)}}));
}

void group_norm(ImportNode& node) {
  node.expect(1, 1);
  const NcnnParams p(node.attrs);
  const std::int64_t group = p.count(0, 1, 1);
  const Ints dims = dims_of(node.shape(node.in(0)));
  if (dims[0] % group != 0) fail(ErrorCode::bad_input, group, " groups of ", dims[0], " channels");
  node.out(scale_channels(node, normalise_groups(node, node.in(0), 1, group, p.real(2, 0.001f))));
}

void layer_norm(ImportNode& node) {
  node.expect(1, 1);
  const NcnnParams p(node.attrs);
  const Shape x = node.shape(node.in(0));
  const std::int64_t size = p.count(0, 0);
  const bool affine = node.weight_count() > 0;
  const int count = inner_dims(x, size, affine);
  std::vector<ValueId> operands = {node.in(0)};
  if (affine) {
    for (const int i : {0, 1}) operands.push_back(inner_weight(node, x, count, node.weight(i)));
  } else {
    operands.push_back(node.constant(1.0f));
  }
  node.out(node.emit("layer_norm", operands,
                     {{"axis", std::int64_t{-count}}, {"epsilon", p.real(1, 0.001f)}}));
}

void rms_norm(ImportNode& node) {
  node.expect(1, 1);
  const NcnnParams p(node.attrs);
  const ValueId x = node.in(0);
  const Shape blob = node.shape(x);
  const int count = inner_dims(blob, p.count(0, 0), node.weight_count() > 0);
  ValueId y = over_root_mean_square(node, x, blob.rank() - count, p.real(1, 0.001f));
  if (node.weight_count() > 0) {
    y = node.emit("mul", {y, inner_weight(node, blob, count, node.weight(0))});
  }
  node.out(y);
}

/// (x - mean) / (sqrt(variance) + epsilon), of each channel or of all.
void mvn(ImportNode& node) {
  node.expect(1, 1);
  const NcnnParams p(node.attrs);
  const Shape blob = node.shape(node.in(0));
  if (blob.rank() < 4) fail(ErrorCode::bad_input, "its input has no channels");
  const Ints axes = axes_from(p.flag(1) ? 1 : 2, blob.rank());
  const auto mean = [&](ValueId v) {
    return node.emit("reduce_mean", {v}, {{"axes", axes}, {"keepdims", kKeep}});
  };
  ValueId y = node.emit("sub", {node.in(0), mean(node.in(0))});
  if (p.flag(0)) {
    const ValueId deviation = node.emit("sqrt", {mean(node.emit("mul", {y, y}))});
    y = node.emit("div", {y, node.emit("add", {deviation, node.constant(p.real(2, 1e-4f))})});
  }
  node.out(y);
}

/// By the root of the sum of squares over channels, pixels or both.
void normalize(ImportNode& node) {
  node.expect(1, 1);
  const NcnnParams p(node.attrs);
  const ValueId x = node.in(0);
  const Shape blob = node.shape(x);
  if (blob.rank() < 4) fail(ErrorCode::bad_input, "its input has no channels");
  Ints axes;
  if (p.flag(4, true)) axes.push_back(1);
  for (int i = 2; i < blob.rank() && p.flag(0); ++i) axes.push_back(i);
  if (axes.empty()) fail(ErrorCode::bad_input, "it normalises neither over channels nor pixels");
  const ValueId squares =
      node.emit("reduce_sum_square", {x}, {{"axes", axes}, {"keepdims", kKeep}});
  const ValueId root = inverse_root(node, squares, p.real(2, 1e-4f), p.integer(9, 0));
  node.out(scale_channels(node, node.emit("div", {x, root})));
}

/// Across channels, or within one over a square of pixels. Of an even number of either one more
/// stands before than behind, ONNX has one more behind.
void lrn(ImportNode& node) {
  node.expect(1, 1);
  const NcnnParams p(node.attrs);
  const ValueId x = node.in(0);
  if (node.shape(x).rank() != 4) fail(ErrorCode::bad_input, "its input is no c h w");
  const std::int64_t size = p.count(1, 5, 1), region = p.integer(0, 0);
  const float alpha = p.real(2, 1), beta = p.real(3, 0.75f), bias = p.real(4, 1);
  if (region != 0 && region != 1) fail(ErrorCode::bad_input, "its region is ", region);
  if (region == 0 && size % 2 == 1) {
    return node.out(
        node.emit("lrn", {x}, {{"size", size}, {"alpha", alpha}, {"beta", beta}, {"bias", bias}}));
  }
  const std::int64_t before = size / 2, after = size - 1 - before;
  const Ints extents = extents_of(node.shape(x));
  ValueId squares = node.emit("mul", {x, x});
  Ints kernel = {size, size}, pads = {before, before, after, after};
  if (region == 0) {  // channels become rows of pixels
    squares = node.reshape(squares, {1, 1, extents[1], checked_mul(extents[2], extents[3])});
    kernel[1] = 1;
    pads[1] = pads[3] = 0;
  }
  ValueId means =
      node.emit("average_pool", {squares},
                {{"kernel_shape", kernel}, {"pads", pads}, {"count_include_pad", std::int64_t{1}}});
  if (region == 0) means = node.reshape(means, extents);
  const ValueId sum =
      node.emit("add", {node.emit("mul", {means, node.constant(alpha)}), node.constant(bias)});
  node.out(node.emit("mul", {x, node.emit("pow", {sum, node.constant(-beta)})}));
}

}  // namespace stowage::ncnn
