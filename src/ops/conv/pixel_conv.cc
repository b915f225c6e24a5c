// SPDX-License-Identifier: Apache-2.0
// Offers of convolution as pixel_gemm.
#include "ops/conv/pixel_conv.h"

#include "base/index.h"
#include "kernels/gemm/tiles.h"

namespace stowage {

ConvFacts conv_facts(const NodeRef& node) {
  const Shape& x = node.shape(0);
  const Shape& k = node.shape(1);
  const std::int64_t group = node.attrs().integer("group", 1);
  return {window_of(node.facts(), k.extents().subspan(2), x, node.output().shape), x[0], group,
          k[1], k[0] / group};
}

int bias_input(const NodeRef& node) { return node.has(2) ? 2 : -1; }

void add_post_layouts(const NodeRef& node, const Layout& out, std::int64_t lanes,
                      std::vector<Operand>& in) {
  for (const Post& post : node.node().posts) {
    if (post.input < 0) continue;
    const Shape& shape = node.operand(post).shape;
    in[idx(post.input)] = post.broadcast == Post::Broadcast::none
                              ? out.renamed(node.output().shape.axes(), shape.axes())
                              : padded_vector(shape, lanes);
  }
}

void offer_pixel_conv(const OfferRequest& request, std::vector<Offer>& offers) {
  const NodeRef& node = request.node;
  const std::int64_t lanes = tile_lanes();
  if (request.target.lanes != lanes) return;
  const ConvFacts f = conv_facts(node);
  const bool whole_groups = f.in_channels % lanes == 0 && f.out_channels % lanes == 0;
  for (const ConvEnds v : {ConvEnds{true, true}, ConvEnds{false, true}, ConvEnds{false, false},
                           ConvEnds{true, false}}) {
    // Groups that cut blocks need channels last on both ends.
    if (f.group > 1 && v.in_blocked != v.out_blocked) continue;
    if (f.group > 1 && v.in_blocked && !whole_groups) continue;
    const bool heavy =
        node.shape(1).elements() > node.shape(0).elements() + node.output().shape.elements();
    const ConvParams params{
        f, v, bias_input(node), node.node().posts, heavy, request.target.threads};
    const auto gemm = conv_gemm(params);
    if (!gemm) continue;

    Offer offer;
    offer.call = {v.in_blocked ? kConvBlocked : kConvChannelsLast, params};
    offer.in.resize(node.node().inputs.size());
    const auto activations = [&](const Shape& shape, bool blocked) {
      return blocked ? Layout::blocked(shape, 1, static_cast<int>(lanes)) : channels_last(shape);
    };
    offer.in[0] = activations(node.shape(0), v.in_blocked);
    offer.in[1] = conv_weights_layout(node.shape(1), params, *gemm);
    if (params.bias >= 0) offer.in[2] = padded_vector(node.shape(2), lanes);
    offer.out = {activations(node.output().shape, v.out_blocked)};
    add_post_layouts(node, offer.out[0].layout, lanes, offer.in);
    offer.flops = 2.0 * static_cast<double>(node.output().shape.elements()) *
                  static_cast<double>(f.in_channels * f.w.taps());
    offer.efficiency = tile_work(*gemm, f.w.out_pixels()).efficiency();
    offers.push_back(std::move(offer));
  }
}

}  // namespace stowage
