// SPDX-License-Identifier: Apache-2.0
// The offer of depthwise convolution.
#include "ops/conv/depthwise.h"

#include "base/checked.h"
#include "base/text.h"
#include "kernels/gemm/tiles.h"
#include "kernels/window/slide.h"
#include "ops/conv/pixel_conv.h"

namespace stowage {

namespace {

struct DepthwiseParams {
  Window w;
  std::int64_t images = 1, channels = 1, multiplier = 1;
  bool in_blocked = true, out_blocked = true;
  EpiloguePorts ports;
  Activation activation;
  int threads = 1;

  void fields(Archive& a) {
    a("w", w)("images", images)("channels", channels)("multiplier", multiplier);
    a("in_blocked", in_blocked)("out_blocked", out_blocked)("ports", ports);
    a("activation", activation)("threads", threads);
  }
};

struct Depthwise {
  Slide slide;
  EpiloguePorts ports;
  int threads = 1;
};

Depthwise bind(const DepthwiseParams& p) {
  Depthwise d{{}, p.ports, p.threads};
  d.slide.kind = Slide::Kind::depthwise;
  d.slide.w = p.w;
  d.slide.images = p.images;
  d.slide.channels = p.channels;
  d.slide.multiplier = p.multiplier;
  d.slide.activation = p.activation;
  d.slide.one_slope = p.ports.one_slope;
  place(d.slide, {p.in_blocked, p.out_blocked});
  return d;
}

void run(const Depthwise& d, const KernelArgs& args) noexcept {
  SlideCall call;
  call.in = args.input<float>(0);
  call.weights = args.input<float>(1);
  call.bias = args.optional_input<float>(d.ports.bias);
  call.residual = args.optional_input<float>(d.ports.residual);
  call.slope = args.optional_input<float>(d.ports.slope);
  call.out = args.output<float>(0);
  call.pool = args.pool;
  slide(d.slide, call, d.threads);
}

}  // namespace

constexpr KernelDef kConvDepthwise = kernel_def<DepthwiseParams, bind, run>("conv_depthwise");

void offer_depthwise(const OfferRequest& request, std::vector<Offer>& offers) {
  const NodeRef& node = request.node;
  const Shape& x = node.shape(0);
  const Shape& k = node.shape(1);
  const Shape& y = node.output().shape;
  const int lanes = tile_lanes();
  const std::int64_t multiplier = x[1] == 0 ? 0 : k[0] / x[1];
  // One channel for all outputs is an ordinary convolution.
  if (request.target.lanes != lanes || k[1] != 1 || node.attrs().integer("group", 1) != x[1] ||
      (x[1] == 1 && multiplier != 1)) {
    return;
  }

  DepthwiseParams params;
  params.w = window_of(node.facts(), k.extents().subspan(2), x, y);
  params.images = x[0];
  params.channels = y[1];
  params.multiplier = multiplier;
  params.ports = epilogue_ports(node);
  params.activation = node.node().epilogue.activation;
  params.threads = request.target.threads;
  if (!slide_fits(bind(params).slide)) return;

  for (const SlideEnds ends : kSlideEnds) {
    params.in_blocked = ends.in_blocked;
    params.out_blocked = ends.out_blocked;
    const Slide placed = bind(params).slide;
    Offer offer;
    offer.call = {kConvDepthwise, params};
    offer.in.resize(node.node().inputs.size());
    offer.in[0] = ends.in_blocked ? Layout::blocked(x, 1, lanes) : channels_last(x);
    offer.in[1] = layout_by_position(k, text("$0/", lanes, " $1", spatial_text(k), " $0%", lanes));
    if (params.ports.bias >= 0) offer.in[2] = padded_vector(node.shape(2), lanes);
    offer.out = {ends.out_blocked ? Layout::blocked(y, 1, lanes) : channels_last(y)};
    add_epilogue_layouts(node, offer.out[0].layout, lanes, offer.in);
    offer.flops = 2.0 * static_cast<double>(y.elements() * params.w.taps());
    offer.efficiency = slide_efficiency(placed);
    offer.extra_bytes = slide_extra_bytes(placed);
    offers.push_back(std::move(offer));
  }
}

}  // namespace stowage
