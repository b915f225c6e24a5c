// SPDX-License-Identifier: Apache-2.0
// Offers on a device of work that joins elements along axes.
#pragma once

#include <vector>

#include "graph/op_def.h"
#include "kernels/rows/reduce_device.h"

namespace stowage {

/// Along `axes`, which may be none.
void offer_device_softmax(const OfferRequest& request, const Ints& axes, bool log,
                          std::vector<Offer>& offers);

/// Over `axes`; inputs 1 and 2 go along axis `channel`, or broadcast to x where it is -1.
void offer_device_norm(const OfferRequest& request, const Ints& axes, int channel,
                       std::vector<Offer>& offers);

/// Over the fact `axes`.
void offer_device_reduce(const OfferRequest& request, ReduceDeviceParams::Kind kind,
                         std::vector<Offer>& offers);

}  // namespace stowage
