// SPDX-License-Identifier: Apache-2.0
#include "kernels/window/pool.h"

#include <algorithm>

namespace stowage {

namespace {

/// One over the taps that count, at each output index of each axis.
void fill_scale(Slide& s, bool count_padding) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    for (const std::int64_t count : count_taps(s.w, axis, count_padding)) {
      s.scale[axis].push_back(1.0f / static_cast<float>(std::max<std::int64_t>(count, 1)));
    }
  }
}

struct Pool {
  Slide slide;
  int threads = 1;
};

Pool bind(const PoolParams& p) {
  Pool pool{pool_slide(p), p.threads};
  if (p.kind == Slide::Kind::average && !p.whole) fill_scale(pool.slide, p.count_padding);
  return pool;
}

template <bool Whole>
void run(const Pool& pool, const KernelArgs& args) noexcept {
  SlideCall call;
  call.in = args.input<float>(0);
  call.out = args.output<float>(0);
  call.pool = args.pool;
  if (Whole) {
    slide_global(pool.slide, call, pool.threads);
  } else {
    slide(pool.slide, call, pool.threads);
  }
}

}  // namespace

constexpr KernelDef kMaxPool[] = {kernel_def<PoolParams, bind, run<false>>("max_pool"),
                                  kernel_def<PoolParams, bind, run<true>>("max_pool_whole")};
constexpr KernelDef kAveragePool[] = {
    kernel_def<PoolParams, bind, run<false>>("average_pool"),
    kernel_def<PoolParams, bind, run<true>>("average_pool_whole")};

Slide pool_slide(const PoolParams& p) {
  Slide s;
  s.kind = p.kind;
  s.w = p.w;
  s.images = p.images;
  s.channels = p.channels;
  place(s, {p.in_blocked, p.out_blocked});
  return s;
}

}  // namespace stowage
