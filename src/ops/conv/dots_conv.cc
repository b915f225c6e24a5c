// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/dots_conv.h"

#include "kernels/gemm/tiles.h"
#include "kernels/layouts.h"
#include "kernels/window/dots.h"
#include "ops/conv/pixel_conv.h"

namespace stowage {

void offer_dots_conv(const OfferRequest& request, std::vector<Offer>& offers) {
  const NodeRef& node = request.node;
  const std::int64_t lanes = tile_lanes();
  const DotsParams params{conv_facts(node), bias_input(node), node.node().posts,
                          request.target.threads};
  const ConvFacts& f = params.facts;
  if (request.target.lanes != lanes || !dots_fit(f)) return;
  const int spatial = node.shape(1).rank() - 2;
  Offer offer;
  offer.call = {kConvDots, params};
  offer.in.resize(node.node().inputs.size());
  offer.in[0] = channels_last(node.shape(0));
  offer.in[1] = layout_by_position(node.shape(1), spatial == 1   ? "$0 $2 $1"
                                                  : spatial == 2 ? "$2 $0 $3 $1"
                                                                 : "$2 $3 $0 $4 $1");
  if (params.bias >= 0) offer.in[2] = padded_vector(node.shape(2), lanes);
  offer.out = {channels_last(node.output().shape)};
  add_post_layouts(node, offer.out[0].layout, lanes, offer.in);
  offer.flops = 2.0 * static_cast<double>(node.output().shape.elements()) *
                static_cast<double>(f.in_channels * f.w.taps());
  offer.efficiency = dots_efficiency(params);
  offers.push_back(std::move(offer));
}

}  // namespace stowage
