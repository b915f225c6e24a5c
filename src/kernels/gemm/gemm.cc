// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/gemm.h"

#include <algorithm>

#include "base/checked.h"

namespace stowage {

Gemm bind_gemm(const GemmParams& p) {
  const GemmFacts& f = p.f;
  Gemm b;
  b.f = f;
  b.product.m = f.m;
  b.product.n = f.n;
  b.product.k = f.k;
  b.product.prepare(p.threads, p.b_heavy);
  b.scale_a = f.alpha != 1;
  if (b.scale_a) b.c_scratch = static_cast<std::size_t>(round_up(f.m * f.k, 16));
  b.scratch_floats = b.c_scratch;
  if (f.has_c) {
    const bool plain = f.beta == 1;
    b.c_is_bias = plain && f.c_rows == 1 && f.c_columns == f.n;
    b.fill_c = !b.c_is_bias && !(plain && f.c_rows == f.m && f.c_columns == f.n);
    if (b.fill_c) b.scratch_floats += static_cast<std::size_t>(f.m * f.n);
  }
  Posts posts = p.posts;
  if (f.has_c && !b.c_is_bias) posts.insert(posts.begin(), {.kind = Post::Kind::add, .input = 2});
  b.product.gemm.posts = BoundPosts(posts);
  return b;
}

namespace {

void run(const Gemm& b, const KernelArgs& args) noexcept {
  const GemmFacts& f = b.f;
  auto* scratch = reinterpret_cast<float*>(args.scratch);
  const float* a = args.input<float>(0);
  if (b.scale_a) {
    for (std::int64_t i = 0; i < f.m * f.k; ++i) scratch[i] = f.alpha * a[i];
    a = scratch;
  }
  PixelGemmCall call;
  call.weights = args.input<float>(1);
  call.out = args.output<float>(0);
  b.product.gemm.posts.resolve(args, 0, 0, call.operands);
  const float* c = f.has_c ? args.input<float>(2) : nullptr;
  if (b.c_is_bias) call.bias = c;
  if (b.fill_c) {
    float* sum = scratch + b.c_scratch;
    for (std::int64_t m = 0; m < f.m; ++m) {
      const float* row = c + (f.c_rows == 1 ? 0 : m * f.c_columns);
      for (std::int64_t n = 0; n < f.n; ++n) {
        sum[m * f.n + n] = f.beta * row[f.c_columns == 1 ? 0 : n];
      }
    }
    call.operands[0] = sum;
  }
  multiply(b.product, a, call, args.pool);
}

/// One place is left for c.
bool takes(std::span<const Post> posts) { return posts.size() < std::size_t{kMostPosts}; }

}  // namespace

constexpr KernelDef kGemm = kernel_def<GemmParams, bind_gemm, run>("gemm_panels", takes);

}  // namespace stowage
