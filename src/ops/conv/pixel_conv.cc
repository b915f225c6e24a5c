// SPDX-License-Identifier: Apache-2.0
// Offers of convolution as pixel_gemm.
#include "ops/conv/pixel_conv.h"

#include "kernels/gemm/tiles.h"

namespace stowage {

namespace {

ConvFacts facts_of(const NodeRef& node) {
  const Shape& x = node.shape(0);
  const Shape& k = node.shape(1);
  const std::int64_t group = node.attrs().integer("group", 1);
  return {window_of(node.attrs(), k.extents().subspan(2), x, node.output().shape), x[0], group,
          k[1], k[0] / group};
}

}  // namespace

int bias_input(const NodeRef& node) {
  const Epilogue& e = node.node().epilogue;
  return node.has(2) && e.residual_input != 2 && e.slope_input != 2 ? 2 : -1;
}

EpiloguePorts epilogue_ports(const NodeRef& node) {
  const Epilogue& e = node.node().epilogue;
  EpiloguePorts ports{bias_input(node), e.residual_input, e.slope_input, false};
  if (e.slope_input >= 0) ports.one_slope = node.shape(e.slope_input).elements() == 1;
  return ports;
}

void add_epilogue_layouts(const NodeRef& node, const Layout& out, std::int64_t lanes,
                          std::vector<Layout>& in) {
  const Epilogue& e = node.node().epilogue;
  if (e.residual_input >= 0) {
    const Shape& from = node.output().shape;
    const Shape& to = node.shape(e.residual_input);
    in[static_cast<std::size_t>(e.residual_input)] = out.renamed(from.axes(), to.axes());
  }
  if (e.slope_input >= 0) {
    in[static_cast<std::size_t>(e.slope_input)] = padded_vector(node.shape(e.slope_input), lanes);
  }
}

void offer_pixel_conv(const OfferRequest& request, std::vector<Offer>& offers) {
  const NodeRef& node = request.node;
  const std::int64_t lanes = tile_lanes();
  if (request.target.lanes != lanes) return;
  const ConvFacts f = facts_of(node);
  const bool whole_groups = f.in_channels % lanes == 0 && f.out_channels % lanes == 0;
  for (const ConvEnds v : {ConvEnds{true, true}, ConvEnds{false, true}, ConvEnds{false, false},
                           ConvEnds{true, false}}) {
    // Groups that cut blocks need channels last on both ends.
    if (f.group > 1 && v.in_blocked != v.out_blocked) continue;
    if (f.group > 1 && v.in_blocked && !whole_groups) continue;
    const bool heavy =
        node.shape(1).elements() > node.shape(0).elements() + node.output().shape.elements();
    const ConvParams params{
        f, v, epilogue_ports(node), node.node().epilogue.activation, heavy, request.target.threads};
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
    if (params.ports.bias >= 0) offer.in[2] = padded_vector(node.shape(2), lanes);
    offer.out = {activations(node.output().shape, v.out_blocked)};
    add_epilogue_layouts(node, offer.out[0], lanes, offer.in);
    offer.flops = 2.0 * static_cast<double>(node.output().shape.elements()) *
                  static_cast<double>(f.in_channels * f.w.taps());
    offer.efficiency = tile_work(*gemm, f.w.out_pixels()).efficiency();
    offers.push_back(std::move(offer));
  }
}

}  // namespace stowage
