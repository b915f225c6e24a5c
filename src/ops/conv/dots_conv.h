// SPDX-License-Identifier: Apache-2.0
// The offer of convolution to a few channels.
#pragma once

#include <vector>

#include "graph/op_def.h"

namespace stowage {

/// For a conv with inputs x, w, optional bias that dots_fit. Nothing for others.
void offer_dots_conv(const OfferRequest& request, std::vector<Offer>& offers);

}  // namespace stowage
