// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/device_conv.h"

#include <algorithm>

#include "kernels/layouts.h"
#include "kernels/window/conv_device.h"
#include "kernels/window/conv_transpose_device.h"
#include "kernels/window/depthwise_device.h"
#include "kernels/window/pool_device.h"
#include "ops/conv/pixel_conv.h"
#include "ops/conv/window.h"
#include "ops/device/device_offer.h"

namespace stowage {

namespace {

/// Neighbours that a work item makes: more of them read the weights less often, but leave fewer
/// items to hide the latency of memory.
int pixels_of(const Shape& y) {
  constexpr double kItems = 1 << 16;
  const double texels = static_cast<double>(y.elements()) / double{kTexel};
  if (y[3] >= 4 && texels >= 4 * kItems) return 4;
  return y[3] >= 2 && texels >= 2 * kItems ? 2 : 1;
}

/// Items that share a result where there are too few results to keep a device busy; each has two
/// texels of input channels or more.
int split_of(const Shape& y, std::int64_t group_in, int pixels) {
  constexpr double kItems = 1 << 16;
  constexpr int kMost = 16;
  const double items = static_cast<double>(y.elements()) / double{kTexel} / pixels;
  int split = 1;
  while (split < kMost && items * split < kItems && group_in >= std::int64_t{4} * split) split *= 2;
  return split;
}

void offer_depthwise_on_device(const OfferRequest& request, const Window& w,
                               std::vector<Offer>& offers) {
  const NodeRef& node = request.node;
  const Shape &x = node.shape(0), &k = node.shape(1), &y = node.output().shape;
  DepthwiseDeviceParams params;
  params.w = w;
  params.multiplier = k[0] / x[1];
  params.bias = bias_input(node);
  params.pixels = pixels_of(y);
  params.posts = node.node().posts;
  DeviceOffer offer(request);
  offer.in(0, texels_along(x, 1));
  offer.in(1, layout_by_position(k, "y:$0/4 x:($2 $3) lane:$0%4"));
  if (params.bias >= 0) offer.in(params.bias, texels_along(node.shape(params.bias), 0));
  offer.out(texels_along(y, 1));
  offer.posts();
  const double flops = 2.0 * static_cast<double>(y.elements()) * static_cast<double>(w.taps());
  offer.add(kDepthwiseDevice, params, flops, params.multiplier == 1 ? 0.2 : 0.1, offers);
}

}  // namespace

void offer_device_conv(const OfferRequest& request, std::vector<Offer>& offers) {
  const NodeRef& node = request.node;
  const Shape &x = node.shape(0), &k = node.shape(1), &y = node.output().shape;
  if (x.rank() != 4) return;
  const Window w = window_of(node.facts(), k.extents().subspan(2), x, y);
  if (!device_window(w)) return;
  ConvDeviceParams params;
  params.w = w;
  params.group = node.attrs().integer("group", 1);
  // One channel for all outputs is an ordinary convolution.
  if (k[1] == 1 && params.group == x[1] && (x[1] > 1 || k[0] == 1)) {
    return offer_depthwise_on_device(request, w, offers);
  }
  params.bias = bias_input(node);
  params.pixels = pixels_of(y);
  params.split = split_of(y, texels_of(k[1]), params.pixels);
  params.posts = node.node().posts;
  const bool whole = k[1] % kTexel == 0 && k[0] / params.group % kTexel == 0;
  if (params.group > 1 && !whole) return;
  DeviceOffer offer(request);
  offer.in(0, texels_along(x, 1));
  offer.in(1, layout_by_position(k, "y:($0/4 $2 $3) x:$1~4 lane:$0%4"));
  if (params.bias >= 0) offer.in(params.bias, texels_along(node.shape(params.bias), 0));
  offer.out(texels_along(y, 1));
  offer.posts();
  const double flops = 2.0 * static_cast<double>(y.elements()) * static_cast<double>(k[1]) *
                       static_cast<double>(w.taps());
  offer.add(kConvDevice, params, flops, 0.3, offers);
}

void offer_device_conv_transpose(const OfferRequest& request, std::vector<Offer>& offers) {
  const NodeRef& node = request.node;
  const Shape &x = node.shape(0), &k = node.shape(1), &y = node.output().shape;
  if (x.rank() != 4) return;
  const Window w = window_of(node.facts(), k.extents().subspan(2), x, y);
  if (!device_window(w)) return;
  ConvTransposeDeviceParams params;
  params.w = w;
  params.group = node.attrs().integer("group", 1);
  params.depthwise = params.group == x[1] && k[1] == 1;
  params.bias = bias_input(node);
  const int pixels = pixels_of(y);
  params.pixels = y[3] >= pixels * w.stride[2] ? pixels : 1;
  params.posts = node.node().posts;
  const bool whole = k[0] / params.group % kTexel == 0 && k[1] % kTexel == 0;
  if (params.group > 1 && !whole && !params.depthwise) return;
  DeviceOffer offer(request);
  offer.in(0, texels_along(x, 1));
  offer.in(1, layout_by_position(k, params.depthwise ? "y:$0/4 x:($2 $3) lane:$0%4"
                                                     : "y:($1/4 $2 $3) x:$0~4 lane:$1%4"));
  if (params.bias >= 0) offer.in(params.bias, texels_along(node.shape(params.bias), 0));
  offer.out(texels_along(y, 1));
  offer.posts();
  const double flops = 2.0 * static_cast<double>(x.elements()) * static_cast<double>(k[1]) *
                       static_cast<double>(w.taps());
  offer.add(kConvTransposeDevice, params, flops, 0.2, offers);
}

void offer_device_pool(const OfferRequest& request, Slide::Kind kind, const Window& w,
                       std::vector<Offer>& offers) {
  const NodeRef& node = request.node;
  const Shape &x = node.shape(0), &y = node.output().shape;
  if (x.rank() != 4 || !device_window(w)) return;
  const PoolDeviceParams params{kind, w, node.attrs().integer("count_include_pad", 0) != 0};
  DeviceOffer offer(request);
  offer.in(0, texels_along(x, 1));
  offer.out(texels_along(y, 1));
  const double taps = static_cast<double>(w.taps()), elements = static_cast<double>(y.elements());
  // Few items walk long windows one tap after the other.
  constexpr double kItems = 1 << 13;
  const double busy = std::min(1.0, elements / double{kTexel} / kItems);
  offer.add(kPoolDevice, params, 2.0 * elements * taps, 0.2 * std::max(busy, 1e-3), offers);
}

}  // namespace stowage
