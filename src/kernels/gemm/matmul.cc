// SPDX-License-Identifier: Apache-2.0
#include "kernels/gemm/matmul.h"

#include "base/thread_pool.h"
#include "kernels/elementwise/functions.h"

namespace stowage {

namespace {

struct MatMul {
  MatrixProduct product;
  EpiloguePorts ports;
  std::int64_t leaks = 0;
  ElementwiseCall leak;
};

MatMul bind(const MatMulParams& p) {
  MatMul b;
  b.product.m = p.m;
  b.product.n = p.n;
  b.product.k = p.k;
  b.product.batches = p.batches;
  b.product.prepare(p.threads, p.b_heavy);
  b.ports = p.ports;
  b.product.gemm.one_slope = p.ports.one_slope;
  b.leaks = p.leaks;
  if (p.leaks == 0) {
    b.product.gemm.activation = p.activation;
  } else {
    b.leak.fn = Fn::prelu;
    b.leak.rows = p.leak_rows;
    b.leak.n = p.leak_columns;
    b.leak.scalar[1] = true;
  }
  return b;
}

/// prelu over the whole output, in place.
void run_leaks(const MatMul& b, const KernelArgs& args) noexcept {
  const float* slope = args.optional_input<float>(b.ports.slope);
  const std::int64_t rows = b.leak.rows;
  parallel(args.pool, static_cast<std::size_t>(b.leaks * rows), [&](std::size_t i) {
    ElementwiseCall call = b.leak;
    const auto row = static_cast<std::int64_t>(i);
    call.rows = 1;
    call.out = args.output<float>(0) + row * call.n;
    call.in[0] = call.out;
    call.in[1] = slope + row % rows;
    run_elementwise(call);
  });
}

void run(const MatMul& b, const KernelArgs& args) noexcept {
  PixelGemmCall call;
  call.weights = args.input<float>(1);
  call.bias = args.optional_input<float>(b.ports.bias);
  call.residual = args.optional_input<float>(b.ports.residual);
  call.slope = args.optional_input<float>(b.ports.slope);
  call.out = args.output<float>(0);
  multiply(b.product, args.input<float>(0), call, args.pool);
  if (b.leaks > 0) run_leaks(b, args);
}

}  // namespace

constexpr KernelDef kMatMul = kernel_def<MatMulParams, bind, run>("matmul_panels");

PixelGemm matmul_gemm(const MatMulParams& p) { return bind(p).product.gemm; }

}  // namespace stowage
