// SPDX-License-Identifier: Apache-2.0
#include "ops/device/device_rows.h"

#include <algorithm>
#include <utility>

#include "kernels/layouts.h"
#include "kernels/rows/norm_device.h"
#include "kernels/rows/softmax_device.h"
#include "ops/device/device_offer.h"

namespace stowage {

namespace {

/// The axis along which `texels(shape)` has its texels.
int natural_axis(const Shape& shape) { return shape.index_of(texels(shape).items().back().axis); }

DeviceRows rows_along(const Shape& x, const Ints& axes) {
  return {axes, shares_rows(x, natural_axis(x), axes)};
}

double flops_of(const Shape& x, double each) { return each * static_cast<double>(x.elements()); }

}  // namespace

void offer_device_softmax(const OfferRequest& request, const Ints& axes, bool log,
                          std::vector<Offer>& offers) {
  const Shape& x = request.node.shape(0);
  if (!request.target.device || x.rank() == 0) return;
  DeviceOffer offer(request);
  offer.in(0, texels(x));
  offer.out(texels(x).renamed(x.axes(), request.node.output().shape.axes()));
  offer.add(kSoftmaxDevice, SoftmaxDeviceParams{rows_along(x, axes), log}, flops_of(x, 20), 0.2,
            offers);
}

void offer_device_norm(const OfferRequest& request, const Ints& axes, int channel,
                       std::vector<Offer>& offers) {
  const NodeRef& node = request.node;
  const Shape& x = node.shape(0);
  if (!request.target.device) return;
  NormDeviceParams params;
  params.rows = rows_along(x, axes);
  params.epsilon = node.attrs().real("epsilon", 1e-5f);
  params.bias = node.has(2);
  params.channel = channel;
  DeviceOffer offer(request);
  offer.in(0, texels(x));
  for (const int i : {1, 2}) {
    if (!node.has(i)) continue;
    // Texels of a constant go as those of x do.
    const int axis = channel >= 0 ? 0 : natural_axis(x) - (x.rank() - node.rank(i));
    offer.in_texels(i, axis);
  }
  offer.out(texels(x).renamed(x.axes(), node.output().shape.axes()));
  offer.add(kNormDevice, std::move(params), flops_of(x, 8), 0.2, offers);
}

void offer_device_reduce(const OfferRequest& request, ReduceDeviceParams::Kind kind,
                         std::vector<Offer>& offers) {
  const NodeRef& node = request.node;
  const Shape &x = node.shape(0), &y = node.output().shape;
  if (!request.target.device || x.rank() == 0) return;
  ReduceDeviceParams params;
  params.kind = kind;
  params.rows = rows_along(x, node.facts().integers("axes"));
  params.keep = node.attrs().integer("keepdims", 1) != 0;
  const int texel = natural_axis(x);
  const auto joins = [&](int i) { return std::ranges::binary_search(params.rows.axes, i); };
  DeviceOffer offer(request);
  offer.in(0, texels(x));
  if (y.rank() == 0) {
    offer.out(Layout::row_major(y));
  } else if (joins(texel)) {
    offer.out(texels(y));
  } else {
    int at = texel;
    for (int i = 0; i < texel; ++i) at -= !params.keep && joins(i) ? 1 : 0;
    offer.out(texels_along(y, at));
  }
  offer.add(kReduceDevice, std::move(params), flops_of(x, 2), 0.2, offers);
}

}  // namespace stowage
