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
  EpiloguePorts ports;
  Activation activation;
  /// Slopes along axis 1 where the panels run along another: applied to the product afterwards,
  /// `leaks` times, to `leak_rows` rows of `leak_columns` elements, one slope a row.
  std::int64_t leaks = 0, leak_rows = 0, leak_columns = 0;
  bool b_heavy = false;  ///< b is more bytes than the rest
  int threads = 1;

  void fields(Archive& a) {
    a("m", m)("n", n)("k", k)("batches", batches)("ports", ports)("activation", activation);
    a("leaks", leaks)("leak_rows", leak_rows)("leak_columns", leak_columns);
    a("b_heavy", b_heavy)("threads", threads);
  }
};

extern const KernelDef kMatMul;

/// The product of one matrix: its panels say how b lies.
PixelGemm matmul_gemm(const MatMulParams& p);

}  // namespace stowage
