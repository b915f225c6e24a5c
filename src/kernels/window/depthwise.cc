// SPDX-License-Identifier: Apache-2.0
#include "kernels/window/depthwise.h"

namespace stowage {

namespace {

struct Depthwise {
  Slide slide;
  EpiloguePorts ports;
  int threads = 1;
};

Depthwise bind(const DepthwiseParams& p) { return {depthwise_slide(p), p.ports, p.threads}; }

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

Slide depthwise_slide(const DepthwiseParams& p) {
  Slide s;
  s.kind = Slide::Kind::depthwise;
  s.w = p.w;
  s.images = p.images;
  s.channels = p.channels;
  s.multiplier = p.multiplier;
  s.activation = p.activation;
  s.one_slope = p.ports.one_slope;
  place(s, {p.in_blocked, p.out_blocked});
  return s;
}

}  // namespace stowage
