// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/winograd_conv.h"

#include "kernels/gemm/tiles.h"
#include "kernels/layouts.h"
#include "kernels/window/winograd.h"
#include "ops/conv/pixel_conv.h"

namespace stowage {

void offer_winograd_conv(const OfferRequest& request, std::vector<Offer>& offers) {
  const NodeRef& node = request.node;
  const std::int64_t lanes = tile_lanes();
  if (request.target.exact || request.target.lanes != lanes || node.input(1).constant == nullptr) {
    return;
  }
  const ConvFacts f = conv_facts(node);
  std::vector<std::size_t> forms;
  for (std::size_t i = 0; i < std::size(kWinogradForms); ++i)
    if (winograd_fits(f, kWinogradForms[i])) forms.push_back(i);
  if (forms.empty()) return;
  for (const ConvEnds v : {ConvEnds{true, true}, ConvEnds{false, true}, ConvEnds{false, false},
                           ConvEnds{true, false}}) {
    const WinogradParams params{f, v, bias_input(node), node.node().posts, request.target.threads};
    Offer offer;
    offer.in.resize(node.node().inputs.size());
    const auto activations = [&](const Shape& shape, bool blocked) {
      return blocked ? Layout::blocked(shape, 1, static_cast<int>(lanes)) : channels_last(shape);
    };
    offer.in[0] = activations(node.shape(0), v.in_blocked);
    offer.in[1] = winograd_weights_layout(node.shape(1));
    if (params.bias >= 0) offer.in[2] = padded_vector(node.shape(2), lanes);
    offer.out = {activations(node.output().shape, v.out_blocked)};
    add_post_layouts(node, offer.out[0].layout, lanes, offer.in);
    for (const std::size_t form : forms) {
      const WinogradWork work = winograd_work(params, kWinogradForms[form]);
      offer.call = {kWinogradKernels[form], params};
      offer.flops = work.flops;
      offer.efficiency = work.efficiency;
      offer.extra_bytes = offer.extra_weight_bytes = work.extra_bytes;
      offer.scratch_bytes = work.scratch_bytes;
      offers.push_back(offer);
    }
  }
}

}  // namespace stowage
