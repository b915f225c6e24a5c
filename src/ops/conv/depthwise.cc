// SPDX-License-Identifier: Apache-2.0
// The offer of depthwise convolution and of groups of a few channels.
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
  const std::int64_t width = k[1], groups = node.attrs().integer("group", 1);
  // One group is an ordinary convolution.
  if (request.target.lanes != lanes || x[1] == 0 || (groups == 1 && k[0] != 1) ||
      (width > 1 && k[0] != x[1])) {
    return;
  }

  DepthwiseParams params;
  params.w = window_of(node.facts(), k.extents().subspan(2), x, y);
  params.images = x[0];
  params.channels = y[1];
  params.multiplier = multiplier;
  params.width = width;
  params.bias = bias_input(node);
  params.posts = node.node().posts;
  params.threads = request.target.threads;
  if (!slide_fits(depthwise_slide(params))) return;

  for (const SlideEnds ends : kSlideEnds) {
    params.in_blocked = ends.in_blocked;
    params.out_blocked = ends.out_blocked;
    const Slide placed = depthwise_slide(params);
    Offer offer;
    offer.call = {width == 1 ? kConvDepthwise : kConvGrouped, params};
    offer.in.resize(node.node().inputs.size());
    offer.in[0] = ends.in_blocked ? Layout::blocked(x, 1, lanes) : channels_last(x);
    offer.in[1] = layout_by_position(k, text("$0/", lanes, spatial_text(k), " $1 $0%", lanes));
    if (params.bias >= 0) offer.in[2] = padded_vector(node.shape(2), lanes);
    offer.out = {ends.out_blocked ? Layout::blocked(y, 1, lanes) : channels_last(y)};
    add_post_layouts(node, offer.out[0].layout, lanes, offer.in);
    offer.flops = 2.0 * static_cast<double>(y.elements() * params.w.taps() * width);
    offer.efficiency = slide_efficiency(placed);
    offer.extra_bytes = slide_extra_bytes(placed);
    offers.push_back(std::move(offer));
  }
}

}  // namespace stowage
