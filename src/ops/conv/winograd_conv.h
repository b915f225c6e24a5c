// SPDX-License-Identifier: Apache-2.0
// Offers of convolution by Winograd's method on the CPU.
#pragma once

#include "graph/op_def.h"

namespace stowage {

/// None where the plan is to be exact.
void offer_winograd_conv(const OfferRequest& request, std::vector<Offer>& offers);

}  // namespace stowage
