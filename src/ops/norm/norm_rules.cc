// SPDX-License-Identifier: Apache-2.0
#include "ops/norm/norm_rules.h"

#include <algorithm>

#include "base/checked.h"
#include "base/text.h"
#include "ops/shapes.h"

namespace stowage {

ValueId filled(ImportNode& node, std::int64_t count, float value) {
  const Shape shape("a", {count});
  if (count > (std::int64_t{1} << 24)) fail(ErrorCode::limit, "a vector of ", count, " elements");
  Tensor t(DType::f32, shape);
  std::ranges::fill(t.as<float>(), value);
  return node.constant(std::move(t));
}

ValueId normalise_groups(ImportNode& node, ValueId x, std::int64_t batch, std::int64_t groups,
                         float epsilon, ValueId scale, ValueId shift) {
  const Ints extents = extents_of(node.shape(x));
  // Of no channels there may be any number of groups.
  const std::int64_t all = checked_mul(batch, groups);
  const std::int64_t each = all == 0 ? 0 : node.shape(x).elements() / all;
  const ValueId in_groups = node.reshape(x, {batch, groups, each});
  if (scale == kNoValue) scale = filled(node, groups, 1);
  if (shift == kNoValue) shift = filled(node, groups, 0);
  const ValueId y = node.emit("instance_norm", {in_groups, scale, shift}, {{"epsilon", epsilon}});
  return node.reshape(y, extents);
}

ValueId over_root_mean_square(ImportNode& node, ValueId x, int axis, float epsilon) {
  const Ints axes = axes_from(axis, node.shape(x).rank());
  const ValueId mean = node.emit("reduce_mean", {node.emit("mul", {x, x})},
                                 {{"axes", axes}, {"keepdims", std::int64_t{1}}});
  const ValueId root = node.emit("sqrt", {node.emit("add", {mean, node.constant(epsilon)})});
  return node.emit("div", {x, root});
}

}  // namespace stowage
