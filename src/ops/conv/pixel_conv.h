// SPDX-License-Identifier: Apache-2.0
// Offers of convolution as pixel_gemm, and the operands that a node has beside its own.
#pragma once

#include <vector>

#include "graph/op_def.h"
#include "kernels/post.h"
#include "kernels/window/conv.h"
#include "ops/conv/window.h"

namespace stowage {

/// Input 2 when it is a bias, else -1: without one, an epilogue's inputs begin there.
int bias_input(const NodeRef& node);

EpiloguePorts epilogue_ports(const NodeRef& node);

/// Layouts for the inputs of a node behind its own operands: residual as the output, slope padded.
void add_epilogue_layouts(const NodeRef& node, const Layout& out, std::int64_t lanes,
                          std::vector<Layout>& in);

/// Offers of a 1- to 3-D convolution with inputs x, w, optional bias.
void offer_pixel_conv(const OfferRequest& request, std::vector<Offer>& offers);

}  // namespace stowage
