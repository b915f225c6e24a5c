// SPDX-License-Identifier: Apache-2.0
// Offers of convolutions and pools on a device.
#pragma once

#include <vector>

#include "graph/op_def.h"
#include "kernels/window/slide.h"

namespace stowage {

// Nothing for other than two spatial axes.

/// For a conv that is depthwise, or whose groups are whole texels.
void offer_device_conv(const OfferRequest& request, std::vector<Offer>& offers);

/// For groups that are whole texels, or single channels of both sides.
void offer_device_conv_transpose(const OfferRequest& request, std::vector<Offer>& offers);

void offer_device_pool(const OfferRequest& request, Slide::Kind kind, const Window& w,
                       std::vector<Offer>& offers);

}  // namespace stowage
