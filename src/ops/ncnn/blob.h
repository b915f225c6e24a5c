// SPDX-License-Identifier: Apache-2.0
// ncnn's blobs as values. A blob has one to four dims, outermost first: w; h w; c h w; c d h w. It
// is a value of rank 1 or 2 and, where it has channels, of rank 4 or 5: a batch of one stands
// before them, as operators on images want it, so that nothing is reshaped from layer to layer.
// Inputs and outputs of the model have the blobs' own shapes.
#pragma once

#include <span>

#include "graph/import_rule.h"
#include "ops/ncnn/params.h"

namespace stowage::ncnn {

inline constexpr int kMostDims = 4;

/// The dims of a blob, outermost first.
Ints dims_of(const Shape& blob);
/// The extents of the value that is a blob of these dims. Throws Error(unsupported) above four.
Ints blob_extents(const Ints& dims);
/// `v`, of as many elements, as a blob of these dims.
ValueId as_blob(ImportNode& node, ValueId v, const Ints& dims);
/// A blob as a value of the rank that numpy would give it.
ValueId as_array(ImportNode& node, ValueId blob);

/// The axis of the value that is axis `axis` of the blob. Throws Error(bad_input).
int blob_axis(const Shape& blob, std::int64_t axis);

/// w, h, d, c of a blob, 1 where it has none.
struct Sizes {
  std::int64_t w = 1, h = 1, d = 1, c = 1;
};

Sizes sizes_of(const Shape& blob);

/// The vector `v` along the outermost dim of `blob`, so that arithmetic of the two stretches it. By
/// value: what ImportNode::shape refers to may move when a constant is made of the vector.
ValueId along_outer(ImportNode& node, Shape blob, ValueId v);

/// y = f(x) of a layer's parameters 9 and 10: the activation that it ends with.
ValueId activate(ImportNode& node, const NcnnParams& params, ValueId x);

/// x * clamp(alpha * x + beta, 0, 1)
ValueId hard_swish(ImportNode& node, ValueId x, float alpha, float beta);

}  // namespace stowage::ncnn
