// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/device_conv.h"

#include <algorithm>
#include <initializer_list>
#include <optional>

#include "kernels/layouts.h"
#include "kernels/window/conv_device.h"
#include "kernels/window/conv_transpose_device.h"
#include "kernels/window/depthwise_device.h"
#include "kernels/window/pool_device.h"
#include "kernels/window/winograd_device.h"
#include "ops/conv/pixel_conv.h"
#include "ops/conv/window.h"
#include "ops/device/device_offer.h"
#include "ops/device/item_work.h"

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

/// A way to share the work among items, and its price.
struct Way {
  int pixels = 1, outs = 1, split = 1;
  ItemWork work;
};

void keep_better(const Way& way, const DeviceRates& rates, std::optional<Way>& best) {
  if (!best || way.work.total(rates) < best->work.total(rates)) best = way;
}

double product(std::initializer_list<std::int64_t> factors) {
  double out = 1;
  for (const std::int64_t factor : factors) out *= static_cast<double>(factor);
  return out;
}

/// A group of so many items, each with so many texels in local memory.
bool group_fits(const DeviceFacts& facts, std::int64_t items, std::int64_t texels_of_item) {
  constexpr std::int64_t kTexelBytes = kTexel * sizeof(float);
  return items <= facts.group_items && items * texels_of_item * kTexelBytes <= facts.local_bytes;
}

constexpr int kMostSplit = 16;

/// Rows of x that an item reads for each column of the window.
double rows_read(const Window& w, int pixels) {
  const std::int64_t shared = shared_rows(w, pixels);
  return static_cast<double>(shared > 0 ? shared : pixels * w.kernel[1]);
}

/// More results of an item read the weights and x less often, but leave fewer items, and so do
/// fewer that share the input channels of a result.
Way conv_way(const DeviceFacts& facts, const ConvDeviceParams& conv, const Shape& k,
             const Shape& y) {
  // A texel of x comes from as many lines of memory as neighbours read, one of weights from one.
  constexpr double kReadX = 2;
  constexpr int kMostResults = 8;
  std::optional<Way> best;
  const Window& w = conv.w;
  const std::int64_t in_texels = texels_of(k[1]), out_texels = texels_of(k[0] / conv.group);
  const auto taps = static_cast<double>(w.kernel[1]);
  for (const int outs : {1, 2, 4}) {
    if (out_texels < outs || (conv.group > 1 && out_texels % outs != 0)) continue;
    for (const int pixels : {1, 2, 4}) {
      const int results = outs * pixels;
      if (results > kMostResults || (pixels > 1 && y[2] < pixels)) break;
      const double rows = rows_read(w, pixels), reads = kTexel * outs;
      const double column = taps * (kTexel * results + reads) + kReadX * rows;
      const double items =
          product({y[0], ceil_div(texels_of(k[0]), outs), y[3], ceil_div(y[2], pixels)});
      for (int split = 1; split <= kMostSplit && split <= in_texels; split *= 2) {
        if (split > 1 && !group_fits(facts, kConvGroup * split, results)) break;
        const double each = product({ceil_div(in_texels, split), w.kernel[2]}) * column;
        const int stored = split > 1 ? (results + split - 1) / split : results;
        const double end = 4.0 * stored + (split > 1 ? 2 * results + split : 0);
        keep_better({pixels, outs, split, {items * split, kItemUnits + each + end, column}},
                    facts.rates, best);
      }
    }
  }
  return *best;
}

/// More results of an item share rows of x, but leave fewer items.
Way depthwise_way(const DeviceFacts& facts, const DepthwiseDeviceParams& conv, const Shape& y) {
  std::optional<Way> best;
  const Window& w = conv.w;
  const auto taps = static_cast<double>(w.kernel[1]);
  for (const int pixels : {1, 2, 4}) {
    if (pixels > 1 && y[2] < pixels) break;
    const double rows = rows_read(w, pixels);
    const double each = static_cast<double>(w.kernel[2]) *
                        (taps * (pixels + 1) + rows * (conv.multiplier == 1 ? 1 : kTexel));
    const double items = product({y[0], texels_of(y[1]), y[3], ceil_div(y[2], pixels)});
    keep_better({pixels, 1, 1, {items, kItemUnits + each + 4 * pixels, each}}, facts.rates, best);
  }
  return *best;
}

void offer_depthwise_on_device(const OfferRequest& request, const Window& w,
                               std::vector<Offer>& offers) {
  const NodeRef& node = request.node;
  const Shape &x = node.shape(0), &k = node.shape(1), &y = node.output().shape;
  const DeviceFacts& facts = request.target.device->facts;
  DepthwiseDeviceParams params;
  params.w = w;
  params.multiplier = k[0] / x[1];
  params.bias = bias_input(node);
  const Way way = depthwise_way(facts, params, y);
  params.pixels = way.pixels;
  params.posts = node.node().posts;
  DeviceOffer offer(request);
  offer.in(0, texels_along(x, 1));
  offer.in(1, layout_by_position(k, "y:$0/4 x:($2 $3) lane:$0%4"));
  if (params.bias >= 0) offer.in(params.bias, texels_along(node.shape(params.bias), 0));
  offer.out(texels_along(y, 1));
  offer.posts();
  const double flops = 2.0 * static_cast<double>(y.elements()) * static_cast<double>(w.taps());
  offer.add(kDepthwiseDevice, params, flops, way.work.efficiency(facts.rates, flops), offers);
}

Way winograd_way(const DeviceFacts& facts, double tiles, std::int64_t in_texels) {
  std::optional<Way> best;
  for (int split = 1; split <= kMostSplit && split <= in_texels; split *= 2) {
    if (split > 1 && !group_fits(facts, kWinogradGroup * split, 4)) break;
    // Multiplications, additions of the transform, filters, whose addresses are constants, and x.
    // It waits for x, and for the filters twice, which registers do not hold at once.
    constexpr int kUnits = 64 + 32 + 64 / 2 + 16;
    const double each = product({ceil_div(in_texels, split), kUnits});
    const double end = 32 + 16 + (split > 1 ? 4 + split : 0);
    keep_better({1, 1, split, {tiles * split, kItemUnits + each + end, kUnits / 3.0}}, facts.rates,
                best);
  }
  return *best;
}

/// Of 3 x 3 taps that touch, over all channels, where the filters can be computed before a run.
void offer_winograd_on_device(const OfferRequest& request, const ConvDeviceParams& conv,
                              std::vector<Offer>& offers) {
  const NodeRef& node = request.node;
  const Shape &x = node.shape(0), &k = node.shape(1), &y = node.output().shape;
  const Window& w = conv.w;
  const auto are = [](const Extents3& extents, std::int64_t one) {
    return extents[1] == one && extents[2] == one;
  };
  if (conv.group != 1 || !are(w.kernel, 3) || !are(w.stride, 1) || !are(w.dilation, 1)) return;
  if (node.input(1).constant == nullptr) return;
  const DeviceFacts& facts = request.target.device->facts;
  const double filter_bytes = winograd_filter_bytes(k[0], k[1]);
  if (filter_bytes > static_cast<double>(facts.allocation_bytes)) return;
  const double tiles = product({y[0], texels_of(y[1]), ceil_div(y[2], 2), ceil_div(y[3], 2)});
  const Way way = winograd_way(facts, tiles, texels_of(k[1]));
  DeviceOffer offer(request);
  offer.in(0, texels_along(x, 1));
  // The weights stay in host memory, as the file has them.
  if (conv.bias >= 0) offer.in(conv.bias, texels_along(node.shape(conv.bias), 0));
  offer.out(texels_along(y, 1));
  offer.posts();
  offer.touches(filter_bytes - product({k[0], k[1], w.taps()}) * sizeof(float));
  // Of a texel of the input and a tile: 64 multiplications and additions of four lanes, 32
  // additions of the transform; and the transform of the results.
  const double flops = tiles * (product({texels_of(k[1]), 64 * 2 + 32}) + 24) * double{kTexel};
  offer.add(kWinogradDevice, WinogradDeviceParams{w, conv.bias, way.split, conv.posts}, flops,
            way.work.efficiency(facts.rates, flops) * facts.rates.winograd_compute, offers);
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
  const DeviceFacts& facts = request.target.device->facts;
  const Way way = conv_way(facts, params, k, y);
  params.pixels = way.pixels;
  params.outs = way.outs;
  params.split = way.split;
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
  offer_winograd_on_device(request, params, offers);
  offer.add(kConvDevice, params, flops, way.work.efficiency(facts.rates, flops), offers);
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
