// SPDX-License-Identifier: Apache-2.0
// Matrix products as pixel_gemm: a pixel is a row of A, weights are panels of columns of B.
#pragma once

#include <string>
#include <vector>

#include "base/archive.h"
#include "kernels/gemm/task_grid.h"
#include "kernels/gemm/tiles.h"
#include "stowage/layout.h"

namespace stowage {

class ThreadPool;

/// Batches of matrix products, row-major over some axes, with broadcast operands.
struct MatrixBatches {
  struct AxisSteps {
    std::int64_t extent = 1, a = 0, b = 0;  ///< steps in matrices; 0 repeats the operand's

    void fields(Archive& archive) { archive("extent", extent)("a", a)("b", b); }
  };

  std::vector<AxisSteps> axes;
  std::int64_t count = 1;

  struct Pair {
    std::int64_t a, b;
  };

  void fields(Archive& a) { a("axes", axes)("count", count); }

  /// The matrices of a and b that batch `i` multiplies.
  Pair at(std::int64_t i) const noexcept;
};

/// C[m, n] += A[m, k] B[k, n] for some batches. Rows of A and C follow each other.
struct MatrixProduct {
  std::int64_t m = 0, n = 0, k = 0;
  MatrixBatches batches;
  PixelGemm gemm;
  TaskGrid grid;

  /// Sets gemm and grid from the rest.
  void prepare(int threads, bool weights_heavy);
  /// Floats of one packed B.
  std::int64_t packed_floats() const;
};

/// Layout of B in panels: axes 0 .. rank-3 as they are, `k_axis` a row, `n_axis` in panels.
Layout panel_layout(const Shape& shape, int k_axis, int n_axis, const PixelGemm& gemm);

/// `call` gives weights, bias, operands and out; the rest is filled in.
void multiply(const MatrixProduct& product, const float* a, const PixelGemmCall& call,
              ThreadPool* pool) noexcept;

}  // namespace stowage
