// SPDX-License-Identifier: Apache-2.0
#include "kernels/window/depthwise.h"

namespace stowage {

namespace {

struct Depthwise {
  Slide slide;
  int bias = -1;
  int threads = 1;
};

Depthwise bind(const DepthwiseParams& p) { return {depthwise_slide(p), p.bias, p.threads}; }

void run(const Depthwise& d, const KernelArgs& args) noexcept {
  SlideCall call;
  call.in = args.input<float>(0);
  call.weights = args.input<float>(1);
  call.bias = args.optional_input<float>(d.bias);
  d.slide.posts.resolve(args, 0, 0, call.operands);
  call.out = args.output<float>(0);
  call.pool = args.pool;
  slide(d.slide, call, d.threads);
}

}  // namespace

constexpr KernelDef kConvDepthwise =
    kernel_def<DepthwiseParams, bind, run>("conv_depthwise", takes_any);
constexpr KernelDef kConvGrouped =
    kernel_def<DepthwiseParams, bind, run>("conv_grouped", takes_any);

Slide depthwise_slide(const DepthwiseParams& p) {
  Slide s;
  s.kind = Slide::Kind::depthwise;
  s.w = p.w;
  s.images = p.images;
  s.channels = p.channels;
  s.multiplier = p.multiplier;
  s.width = p.width;
  s.posts = BoundPosts(p.posts);
  place(s, {p.in_blocked, p.out_blocked});
  return s;
}

}  // namespace stowage
