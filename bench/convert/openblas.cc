// SPDX-License-Identifier: Apache-2.0
// OpenBLAS's out-of-place transposition of matrices, one for each of a batch.
#include <cblas.h>

#include "bench/convert/permutation.h"

namespace stowage::bench {

Move make_openblas(const Case& c, ThreadPool& pool) {
  const auto t = transposition_of(c);
  if (!t || c.src != DType::f32 || pool.threads() != 1) return {};
  openblas_set_num_threads(1);
  return [t = *t](const void* from, void* to) {
    const auto rows = static_cast<blasint>(t.rows), columns = static_cast<blasint>(t.columns);
    for (std::size_t i = 0; i < t.batch; ++i) {
      const std::size_t at = i * t.rows * t.columns;
      cblas_somatcopy(CblasRowMajor, CblasTrans, rows, columns, 1,
                      static_cast<const float*>(from) + at, columns, static_cast<float*>(to) + at,
                      rows);
    }
  };
}

}  // namespace stowage::bench
