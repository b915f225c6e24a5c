// SPDX-License-Identifier: Apache-2.0
// Scaled dot-product attention (Vaswani et al. 2017, arXiv:1706.03762) over the last two axes:
//
//   y = posts(softmax(scale * q k + mask) v)
//
// A task has some rows of q and takes them through both products while their scores are in the
// cache of its core: the scores of all rows, m x n for each head, are never in memory together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/gemm/matrix.h"
#include "kernels/kernel.h"
#include "kernels/post.h"

namespace stowage {

/// The other axes, of which all have as many, are batches: heads, images. Those of k and v may
/// have one element where q has more.
struct AttentionParams {
  Mapping q, y;               ///< ... x m x d and ... x m x e, attention_rows_fit
  Shape k, v;                 ///< ... x d x n and ... x n x e, in panels
  std::optional<Shape> mask;  ///< ... x n, row-major; broadcast to the scores on the right
  float scale = 1;
  Posts posts;
  std::int64_t rows = 1;     ///< a task
  std::int64_t workers = 1;  ///< tasks at a time, each with scratch of its own

  void fields(Archive& a) {
    a("q", q)("y", y)("k", k)("v", v)("mask", mask)("scale", scale)("posts", posts);
    a("rows", rows)("workers", workers);
  }

  /// Sets rows and workers from the rest.
  void share(int threads);

  std::int64_t m() const { return q.shape()[q.shape().rank() - 2]; }

  std::int64_t n() const { return k[k.rank() - 1]; }

  std::int64_t d() const { return k[k.rank() - 2]; }

  std::int64_t e() const { return v[v.rank() - 1]; }

  /// Products of matrices.
  std::int64_t batches() const { return q.shape().elements() / (m() * d()); }

  /// The products q k and scores v, whose panels say how k and v lie.
  MatrixProduct scores() const;
  MatrixProduct sums() const;
};

/// The last axis is contiguous, every other one has one stride, and there are no tails.
bool attention_rows_fit(const Mapping& mapping);

std::size_t attention_scratch_bytes(const AttentionParams& p);

extern const KernelDef kAttention;

}  // namespace stowage
