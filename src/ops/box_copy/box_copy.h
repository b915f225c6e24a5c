// SPDX-License-Identifier: Apache-2.0
// Offers of copies, in every layout that the operands of a node may have.
#pragma once

#include <functional>
#include <vector>

#include "graph/op_def.h"
#include "kernels/copy/box_copy.h"

namespace stowage {

/// Input 0 of the node in the layout of the output, axis by axis of the same position.
Layout same_position_layout(const Shape& from, const Shape& to, const Layout& layout);

/// Layouts of output 0 worth offering: its candidates and those of input 0, by position.
std::vector<Layout> position_layouts(const OfferRequest& request);

/// Fills in the layouts of an offer that copies output 0 from input 0, in every layout, and calls
/// `add` with each. `params.to` and `params.from` are set.
void for_each_copy(const OfferRequest& request, CopyParams& params,
                   const std::function<void(Offer)>& add);

/// What the copy costs: its pieces, and of the input no more bytes than the output has.
void weigh_copy(const NodeRef& node, const CopyParams& params, const BoxCopy& copy, Offer& offer);

/// Offers output 0 as elements of input 0 chosen axis by axis, in every layout. `known` is what
/// the kernel will be bound with.
template <class P>
void offer_copy(const OfferRequest& request, std::vector<Offer>& out, const KernelDef& kernel,
                P params, const BindArgs& known = {}) {
  for_each_copy(request, params, [&](Offer offer) {
    const BoxCopy copy(params.to, params.from, BoxCopy::Direction::into_walked, params.map(known));
    weigh_copy(request.node, params, copy, offer);
    offer.call = {kernel, params};
    out.push_back(std::move(offer));
  });
}

}  // namespace stowage
