// SPDX-License-Identifier: Apache-2.0
// Shapes and offers of pooling.
#include "ops/conv/pool.h"

#include <algorithm>

#include "base/text.h"
#include "graph/import_rule.h"
#include "kernels/gemm/tiles.h"
#include "kernels/layouts.h"
#include "ops/conv/device_conv.h"

namespace stowage {

Ints infer_pool(const InferRef& node) {
  const Attributes& attrs = node.attrs();
  const int rank = check_spatial_rank(node);
  const Shape& x = node.shape(0);
  Ints kernel = attrs.integers("kernel_shape");
  const bool global = attrs.integer("global", 0) != 0;
  if (global) kernel.assign(x.extents().begin() + 2, x.extents().end());
  if (static_cast<int>(kernel.size()) != rank) {
    fail(ErrorCode::bad_input, "kernel_shape has ", kernel.size(), " entries for ", rank,
         " spatial axes");
  }
  for (const std::int64_t k : kernel) {
    if (k < 1) {
      fail(ErrorCode::bad_input, "a window of ", std::span<const std::int64_t>(kernel),
           " holds nothing");
    }
  }
  Ints extents(kernel.size(), 1);
  if (global) {
    node.set_fact("strides", extents);
    node.set_fact("dilations", extents);
    node.set_fact("pads", Ints(2 * kernel.size(), 0));
    node.set_fact("kernel_shape", kernel);
  } else {
    extents = infer_window(node, kernel, attrs.integer("ceil_mode", 0) != 0);
  }
  extents.insert(extents.begin(), {x[0], x[1]});
  return extents;
}

Window pool_window(const NodeRef& node) {
  const Ints kernel = node.facts().integers("kernel_shape");
  return window_of(node.facts(), kernel, node.shape(0), node.output().shape);
}

void offer_pool(const OfferRequest& request, Slide::Kind kind, std::vector<Offer>& offers) {
  const NodeRef& node = request.node;
  const Shape& x = node.shape(0);
  const Shape& y = node.output().shape;
  const int lanes = tile_lanes();
  if (node.dtype(0) != DType::f32 || y.elements() == 0) return;
  PoolParams params;
  params.kind = kind;
  params.w = pool_window(node);
  if (request.target.device) offer_device_pool(request, kind, params.w, offers);
  if (request.target.lanes != lanes) return;
  params.images = x[0];
  params.channels = x[1];
  params.count_padding = node.attrs().integer("count_include_pad", 0) != 0;
  params.threads = request.target.threads;
  const Window& w = params.w;
  const bool whole = w.kernel == w.in && w.out_pixels() == 1 && w.pad_begin == Extents3{0, 0, 0} &&
                     w.dilation == Extents3{1, 1, 1};
  if (!whole && w.kernel[0] * w.kernel[1] > kSlideRows) return;
  params.whole = whole;
  const auto& kernels = kind == Slide::Kind::max ? kMaxPool : kAveragePool;
  for (const SlideEnds ends : kSlideEnds) {
    params.in_blocked = ends.in_blocked;
    params.out_blocked = ends.out_blocked;
    const Slide placed = pool_slide(params);
    Offer offer;
    offer.call = {kernels[whole ? 1 : 0], params};
    offer.in = {ends.in_blocked ? Layout::blocked(x, 1, lanes) : channels_last(x)};
    offer.out.resize(node.node().outputs.size());
    offer.out[0] = ends.out_blocked ? Layout::blocked(y, 1, lanes) : channels_last(y);
    offer.flops = 2.0 * static_cast<double>(y.elements()) * static_cast<double>(w.taps());
    // Over the whole input there is nothing but loads, which are the bytes.
    offer.efficiency = whole ? 0.5 : slide_efficiency(placed);
    offer.extra_bytes = slide_extra_bytes(placed);
    offers.push_back(std::move(offer));
  }
}

void pool_axes(const NodeRef& node, AxisLinks& links) {
  const Node& n = node.node();
  for (const auto& list : {n.inputs, n.outputs}) {
    for (const ValueId v : list) name_spatial(node, links, v, "n", "c");
  }
  for (const int axis : {0, 1}) links.link(n.inputs[0], axis, n.outputs[0], axis);
}

void make_global(ImportNode& node) { node.attrs.set("global", std::int64_t{1}); }

}  // namespace stowage
