// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/matmul.h"

namespace stowage {

namespace {

struct MatMul {
  MatrixProduct product;
  int bias = -1;
};

MatMul bind(const MatMulParams& p) {
  MatMul b;
  b.product.m = p.m;
  b.product.n = p.n;
  b.product.k = p.k;
  b.product.batches = p.batches;
  b.product.prepare(p.threads, p.b_heavy);
  b.product.gemm.posts = BoundPosts(p.posts);
  b.bias = p.bias;
  return b;
}

void run(const MatMul& b, const KernelArgs& args) noexcept {
  PixelGemmCall call;
  call.weights = args.input<float>(1);
  call.bias = args.optional_input<float>(b.bias);
  b.product.gemm.posts.resolve(args, 0, 0, call.operands);
  call.out = args.output<float>(0);
  multiply(b.product, args.input<float>(0), call, args.pool);
}

}  // namespace

constexpr KernelDef kMatMul = kernel_def<MatMulParams, bind, run>("matmul_panels", takes_any);

PixelGemm matmul_gemm(const MatMulParams& p) { return bind(p).product.gemm; }

}  // namespace stowage
