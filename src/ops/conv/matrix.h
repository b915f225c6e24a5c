// SPDX-License-Identifier: Apache-2.0
// Matrix products as pixel_gemm: a pixel is a row of A, weights are panels of columns of B.
#pragma once

#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "ops/conv/pixel_conv.h"
#include "ops/conv/tiles.h"

namespace stowage {

/// C[m, n] += A[m, k] B[k, n] for some batches. Rows of A and C follow each other.
struct MatrixProduct {
  std::int64_t m = 0, n = 0, k = 0;
  /// Where the matrices of each batch begin, in floats; b in panels.
  std::vector<std::int64_t> a_at, b_at, c_at;
  PixelGemm gemm;
  TaskGrid grid;

  /// Sets gemm, and grid for `batches`.
  void prepare(std::int64_t batches, int threads, bool weights_heavy);
  /// Floats of one packed B.
  std::int64_t packed_floats() const;
};

/// Layout of B in panels: axes 0 .. rank-3 as they are, `k_axis` a row, `n_axis` in panels.
Layout panel_layout(const Shape& shape, int k_axis, int n_axis, const PixelGemm& gemm);

/// `call` gives weights, bias, residual, slope and out; the rest is filled in.
void multiply(const MatrixProduct& product, const float* a, const PixelGemmCall& call,
              ThreadPool* pool) noexcept;

}  // namespace stowage
