// SPDX-License-Identifier: Apache-2.0
// Offers of matrix products on a device.
#pragma once

#include <vector>

#include "graph/op_def.h"
#include "kernels/gemm/gemm_device.h"

namespace stowage {

/// Of matrices or batches of them. `params` says what the operator means, not how it is made.
void offer_device_gemm(const OfferRequest& request, GemmDeviceParams params,
                       std::vector<Offer>& offers);

}  // namespace stowage
