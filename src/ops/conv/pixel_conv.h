// SPDX-License-Identifier: Apache-2.0
// Offers of convolution as pixel_gemm, and the operands that a node has beside its own.
#pragma once

#include <vector>

#include "graph/op_def.h"
#include "kernels/window/conv.h"
#include "ops/conv/window.h"

namespace stowage {

/// Input 2 when there is one, else -1.
int bias_input(const NodeRef& node);

/// Of a convolution with inputs x, w.
ConvFacts conv_facts(const NodeRef& node);

/// Layouts for the operands of the posts of a node: as the output, or vectors that are padded.
void add_post_layouts(const NodeRef& node, const Layout& out, std::int64_t lanes,
                      std::vector<Operand>& in);

/// Offers of a 1- to 3-D convolution with inputs x, w, optional bias.
void offer_pixel_conv(const OfferRequest& request, std::vector<Offer>& offers);

}  // namespace stowage
