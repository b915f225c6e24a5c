// SPDX-License-Identifier: Apache-2.0
// Offers of depthwise convolution.
#pragma once

#include <vector>

#include "graph/op_def.h"
#include "kernels/window/depthwise.h"

namespace stowage {

/// For a conv whose groups have one channel in: one out, or a few (a multiplier over 1); and for
/// groups of a few channels, as many out. Nothing for others.
void offer_depthwise(const OfferRequest& request, std::vector<Offer>& offers);

}  // namespace stowage
