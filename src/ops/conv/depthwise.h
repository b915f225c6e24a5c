// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution in layouts with blocks of channels.
#pragma once

#include <vector>

#include "graph/op_def.h"

namespace stowage {

extern const KernelDef kConvDepthwise;

/// For a conv whose groups have one channel in: one out, or a few (a multiplier over 1). Nothing
/// for others.
void offer_depthwise(const OfferRequest& request, std::vector<Offer>& offers);

}  // namespace stowage
