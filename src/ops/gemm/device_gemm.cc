// SPDX-License-Identifier: Apache-2.0
#include "ops/gemm/device_gemm.h"

#include <utility>

#include "kernels/layouts.h"
#include "ops/device/device_offer.h"

namespace stowage {

void offer_device_gemm(const OfferRequest& request, GemmDeviceParams params,
                       std::vector<Offer>& offers) {
  constexpr int kMostRank = 6;
  constexpr double kItems = 1 << 14;  // enough to hide the latency of memory
  const NodeRef& node = request.node;
  if (!request.target.device) return;
  const Shape &a = node.shape(0), &b = node.shape(1), &y = node.output().shape;
  const int last = y.rank() - 1;
  if (a.rank() < 2 || b.rank() < 2 || y.rank() > kMostRank) return;
  const int k = params.trans_a ? a.rank() - 2 : a.rank() - 1;
  const int n = params.trans_b ? b.rank() - 2 : b.rank() - 1;
  const double texels = static_cast<double>(y.elements()) / double{kTexel};
  if (texels >= 4 * kItems && y[last - 1] >= 4) params.rows = 4;
  params.split = params.rows == 1 && texels < kItems && a[k] >= 256;
  params.posts = node.node().posts;
  DeviceOffer offer(request);
  offer.in(0, texels_along(a, k));
  offer.in(1, texels_along(b, n));
  offer.out(texels_along(y, last));
  if (params.c >= 0) offer.in_texels(params.c, node.rank(params.c) - 1);
  offer.posts();
  const double flops = 2.0 * static_cast<double>(y.elements()) * static_cast<double>(a[k]);
  offer.add(kGemmDevice, std::move(params), flops, 0.3, offers);
}

}  // namespace stowage
