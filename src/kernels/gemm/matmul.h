// SPDX-License-Identifier: Apache-2.0
// Batches of matrix products with b in panels.
#pragma once

#include <cstdint>

#include "kernels/gemm/matrix.h"
#include "kernels/kernel.h"
#include "kernels/post.h"

namespace stowage {

struct MatMulParams {
  std::int64_t m = 1, n = 1, k = 1;
  MatrixBatches batches;
  int bias = -1;  ///< the input
  Posts posts;
  bool b_heavy = false;  ///< b is more bytes than the rest
  int threads = 1;

  void fields(Archive& a) {
    a("m", m)("n", n)("k", k)("batches", batches)("bias", bias)("posts", posts);
    a("b_heavy", b_heavy)("threads", threads);
  }
};

extern const KernelDef kMatMul;

/// The product of one matrix: its panels say how b lies.
PixelGemm matmul_gemm(const MatMulParams& p);

}  // namespace stowage
