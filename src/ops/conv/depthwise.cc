// SPDX-License-Identifier: Apache-2.0
// The offer of depthwise convolution.
#include "ops/conv/depthwise.h"

#include "base/text.h"
#include "kernels/gemm/tiles.h"
#include "ops/conv/pixel_conv.h"
#include "ops/conv/window.h"

namespace stowage {

void offer_depthwise(const OfferRequest& request, std::vector<Offer>& offers) {
  const NodeRef& node = request.node;
  const Shape& x = node.shape(0);
  const Shape& k = node.shape(1);
  const Shape& y = node.output().shape;
  const int lanes = tile_lanes();
  const std::int64_t multiplier = x[1] == 0 ? 0 : k[0] / x[1];
  // One channel for all outputs is an ordinary convolution.
  if (request.target.lanes != lanes || k[1] != 1 || node.attrs().integer("group", 1) != x[1] ||
      (x[1] == 1 && multiplier != 1)) {
    return;
  }

  DepthwiseParams params;
  params.w = window_of(node.facts(), k.extents().subspan(2), x, y);
  params.images = x[0];
  params.channels = y[1];
  params.multiplier = multiplier;
  params.bias = bias_input(node);
  params.posts = node.node().posts;
  params.threads = request.target.threads;
  if (!slide_fits(depthwise_slide(params))) return;

  for (const SlideEnds ends : kSlideEnds) {
    params.in_blocked = ends.in_blocked;
    params.out_blocked = ends.out_blocked;
    const Slide placed = depthwise_slide(params);
    Offer offer;
    offer.call = {kConvDepthwise, params};
    offer.in.resize(node.node().inputs.size());
    offer.in[0] = ends.in_blocked ? Layout::blocked(x, 1, lanes) : channels_last(x);
    offer.in[1] = layout_by_position(k, text("$0/", lanes, " $1", spatial_text(k), " $0%", lanes));
    if (params.bias >= 0) offer.in[2] = padded_vector(node.shape(2), lanes);
    offer.out = {ends.out_blocked ? Layout::blocked(y, 1, lanes) : channels_last(y)};
    add_post_layouts(node, offer.out[0].layout, lanes, offer.in);
    offer.flops = 2.0 * static_cast<double>(y.elements() * params.w.taps());
    offer.efficiency = slide_efficiency(placed);
    offer.extra_bytes = slide_extra_bytes(placed);
    offers.push_back(std::move(offer));
  }
}

}  // namespace stowage
