// SPDX-License-Identifier: Apache-2.0
// What max_pool and average_pool share.
#pragma once

#include <vector>

#include "graph/op_def.h"
#include "kernels/window/pool.h"
#include "ops/conv/window.h"

namespace stowage {

/// Extents n c (d) (h) w of the output. With the attribute `global` the window is the whole input.
/// Afterwards kernel_shape, strides, dilations and pads are written out.
Ints infer_pool(const InferRef& node);

Window pool_window(const NodeRef& node);

/// Offers over blocks of channels for f32.
void offer_pool(const OfferRequest& request, Slide::Kind kind, std::vector<Offer>& offers);

/// Names n c h w; links batch and channels.
void pool_axes(const NodeRef& node, AxisLinks& links);

/// Import rule of the Global... operators.
void make_global(ImportNode& node);

}  // namespace stowage
