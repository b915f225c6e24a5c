// SPDX-License-Identifier: Apache-2.0
// The offer of depthwise convolution.
#include "ops/conv/depthwise.h"

#include <memory>

#include "base/checked.h"
#include "base/text.h"
#include "ops/conv/pixel_conv.h"
#include "ops/conv/slide.h"
#include "ops/conv/tiles.h"

namespace stowage {

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

  struct Bound {
    Slide slide;
    EpiloguePorts ports;
    int threads;
  };

  auto b = std::make_shared<Bound>();
  b->slide.kind = Slide::Kind::depthwise;
  b->slide.w = window_of(node.attrs(), k.extents().subspan(2), x, y);
  b->slide.images = x[0];
  b->slide.channels = y[1];
  b->slide.multiplier = multiplier;
  if (!slide_fits(b->slide)) return;
  b->slide.activation = node.node().epilogue.activation;
  b->ports = epilogue_ports(node);
  b->slide.one_slope = b->ports.one_slope;
  b->threads = request.target.threads;

  for (const SlideEnds ends : kSlideEnds) {
    auto placed = std::make_shared<Bound>(*b);
    place(placed->slide, ends);
    Offer offer;
    offer.kernel = "conv_depthwise";
    offer.in.resize(node.node().inputs.size());
    offer.in[0] = ends.in_blocked ? Layout::blocked(x, 1, lanes) : channels_last(x);
    offer.in[1] = layout_by_position(k, text("$0/", lanes, " $1", spatial_text(k), " $0%", lanes));
    if (b->ports.bias >= 0) offer.in[2] = padded_vector(node.shape(2), lanes);
    offer.out = {ends.out_blocked ? Layout::blocked(y, 1, lanes) : channels_last(y)};
    add_epilogue_layouts(node, offer.out[0], lanes, offer.in);
    offer.flops = 2.0 * static_cast<double>(y.elements() * b->slide.w.taps());
    offer.efficiency = slide_efficiency(b->slide);
    offer.extra_bytes = slide_extra_bytes(placed->slide);
    offer.bind = [b = placed] {
      return Kernel([b](const KernelArgs& args) {
        const auto optional = [&](int i) {
          return i < 0 ? nullptr : args.input<float>(static_cast<std::size_t>(i));
        };
        SlideCall call;
        call.in = args.input<float>(0);
        call.weights = args.input<float>(1);
        call.bias = optional(b->ports.bias);
        call.residual = optional(b->ports.residual);
        call.slope = optional(b->ports.slope);
        call.out = args.output<float>(0);
        call.pool = args.pool;
        slide(b->slide, call, b->threads);
      });
    };
    offers.push_back(std::move(offer));
  }
}

}  // namespace stowage
