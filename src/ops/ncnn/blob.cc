// SPDX-License-Identifier: Apache-2.0
#include "ops/ncnn/blob.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "graph/op_def.h"
#include "ops/shapes.h"

namespace stowage::ncnn {

Ints dims_of(const Shape& blob) {
  Ints dims = extents_of(blob);
  if (blob.rank() > 2) dims.erase(dims.begin());
  return dims;
}

Ints blob_extents(const Ints& dims) {
  if (dims.empty()) return {1};
  if (dims.size() > kMostDims) {
    fail(ErrorCode::unsupported, "a blob of ", dims.size(), " dims; ", kMostDims, " at most");
  }
  Ints extents = dims;
  if (dims.size() > 2) extents.insert(extents.begin(), 1);
  return extents;
}

ValueId as_blob(ImportNode& node, ValueId v, const Ints& dims) {
  return node.reshape(v, blob_extents(dims));
}

ValueId as_array(ImportNode& node, ValueId blob) {
  return node.reshape(blob, dims_of(node.shape(blob)));
}

int blob_axis(const Shape& blob, std::int64_t axis) {
  const int dims = blob.rank() > 2 ? blob.rank() - 1 : blob.rank();
  return normal_axis(axis, dims) + blob.rank() - dims;
}

Sizes sizes_of(const Shape& blob) {
  const Ints dims = dims_of(blob);
  Sizes s;
  if (!dims.empty()) s.w = dims.back();
  if (dims.size() > 1) s.h = dims[dims.size() - 2];
  if (dims.size() > 2) s.c = dims.front();
  if (dims.size() > 3) s.d = dims[1];
  return s;
}

ValueId along_outer(ImportNode& node, Shape blob, ValueId v) {  // NOLINT: by value, see there
  Ints extents(dims_of(blob).size(), 1);
  extents.front() = node.shape(v).elements();
  return node.reshape(v, extents);
}

ValueId hard_swish(ImportNode& node, ValueId x, float alpha, float beta) {
  // Files have seven digits of 1/6.
  if (std::fabs(alpha - 1.0f / 6) < 1e-6f && beta == 0.5f) return node.emit("hard_swish", {x});
  return node.emit("mul", {x, node.emit("hard_sigmoid", {x}, {{"alpha", alpha}, {"beta", beta}})});
}

ValueId activate(ImportNode& node, const NcnnParams& params, ValueId x) {
  enum Kind { kNone, kRelu, kLeaky, kClip, kSigmoid, kMish, kHardSwish };

  const std::int64_t kind = params.integer(9, kNone);
  const Floats numbers = params.reals(10);
  const auto number = [&](std::size_t i) {
    if (i >= numbers.size()) {
      fail(ErrorCode::bad_input, "activation ", kind, " needs more than ", numbers.size(),
           " numbers in parameter 10");
    }
    return numbers[i];
  };
  switch (kind) {
    case kNone:
      return x;
    case kRelu:
      return node.emit("relu", {x});
    case kLeaky:
      return node.emit("leaky_relu", {x}, {{"alpha", number(0)}});
    case kClip:
      return node.emit("clip", {x}, {{"min", number(0)}, {"max", number(1)}});
    case kSigmoid:
      return node.emit("sigmoid", {x});
    case kMish:
      return node.emit("mish", {x});
    case kHardSwish:
      return hard_swish(node, x, number(0), number(1));
    default:
      fail(ErrorCode::unsupported, "the activation ", kind, " is unknown");
  }
}

}  // namespace stowage::ncnn
