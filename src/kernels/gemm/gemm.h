// SPDX-License-Identifier: Apache-2.0
// General matrix product: y = alpha a' b' + beta c, where a' is a or its transpose, likewise b',
// and c broadcasts to y.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/gemm/matrix.h"
#include "kernels/kernel.h"
#include "kernels/post.h"

namespace stowage {

/// y = alpha a' b' + beta c: a' is m x k, b' is k x n.
struct GemmFacts {
  std::int64_t m = 0, n = 0, k = 0;
  bool trans_a = false, trans_b = false;
  float alpha = 1, beta = 1;
  bool has_c = false;
  std::int64_t c_rows = 1, c_columns = 1;  ///< extents of c, 1 where it broadcasts

  void fields(Archive& a) {
    a("m", m)("n", n)("k", k)("trans_a", trans_a)("trans_b", trans_b)("alpha", alpha);
    a("beta", beta)("has_c", has_c)("c_rows", c_rows)("c_columns", c_columns);
  }
};

struct GemmParams {
  GemmFacts f;
  Posts posts;
  bool b_heavy = false;  ///< b is more bytes than the rest
  int threads = 1;

  void fields(Archive& a) { a("f", f)("posts", posts)("b_heavy", b_heavy)("threads", threads); }
};

struct Gemm {
  GemmFacts f;
  MatrixProduct product;
  bool c_is_bias = false;                ///< else it is post 0, an addition of the result's shape
  bool scale_a = false, fill_c = false;  ///< made in scratch: alpha a; beta c in the result's shape
  std::size_t c_scratch = 0;             ///< where the latter begins, in floats
  std::size_t scratch_floats = 0;
};

Gemm bind_gemm(const GemmParams& p);

extern const KernelDef kGemm;

}  // namespace stowage
