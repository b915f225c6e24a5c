// SPDX-License-Identifier: Apache-2.0
// Offers of elementwise work, in every layout that the operands of a node may have.
#pragma once

#include <vector>

#include "graph/op_def.h"
#include "kernels/elementwise/elementwise.h"

namespace stowage {

/// The layouts in which output 0 may be, over its own axes: its candidates and those of every
/// input of the same extents.
std::vector<Layout> elementwise_layouts(const OfferRequest& request);

/// Input `i` in the layout that follows `out` with numpy's broadcasting: axes are aligned on the
/// right, axes that stretch are dropped.
Follower broadcast_follower(const NodeRef& node, int input, const Layout& out);

/// Offers the function of all inputs of the node (one to three) in every layout, by the first
/// kernel of its operator. f32 only.
void offer_elementwise(const OfferRequest& request, std::vector<Offer>& out,
                       const Function& function);

/// Likewise for the first `count` inputs only, the others being known.
void offer_elementwise(const OfferRequest& request, std::vector<Offer>& out,
                       const Function& function, int count);

/// Likewise: the inputs combined one after the other, then multiplied by `scale`.
void offer_chain(const OfferRequest& request, std::vector<Offer>& out, Fn fn, float scale);

}  // namespace stowage
