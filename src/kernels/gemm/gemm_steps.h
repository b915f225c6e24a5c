// SPDX-License-Identifier: Apache-2.0
// y = posts(x b + bias) for one row x where every weight in b is an integer from -128 to 127 times
// one step, as in models with 8-bit weights. Such a product takes as long as its weights take to
// come from memory, so they are kept in half of the bytes: the integers as bfloat16, which has all
// of them. They are added up as they are, and the sum is multiplied by the step: what is rounded is
// what f32 weights would round, but a sum overflows where |x| is above 1e36.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/kernel.h"
#include "kernels/post.h"

namespace stowage {

/// Weights, input 1, are a constant in the layout that kGemm reads; the words are made of them when
/// the kernel is bound.
struct GemmStepsParams {
  std::int64_t n = 0, k = 0;
  float step = 0;
  int bias = -1;  ///< the input, a padded vector
  Posts posts;
  int threads = 1;

  void fields(Archive& a) {
    a("n", n)("k", k)("step", step)("bias", bias)("posts", posts)("threads", threads);
  }
};

/// Words of two weights, of rows 2 i (the low half) and 2 i + 1 of b: [panel][i][column]. The last
/// row of an odd k has zeros beside it.
struct GemmSteps {
  std::int64_t n = 0, k = 0;
  std::int64_t blocks = 0, panel = 1, panels = 0;  ///< of lanes; blocks a panel
  std::int64_t row = 0, panel_words = 0;           ///< words
  std::int64_t shares = 1;                         ///< tasks: each has a share of the panels
  float step = 0;
  int bias = -1;
  BoundPosts posts;
  std::shared_ptr<std::uint32_t> words;
};

/// Panels of a product.
struct GemmStepsCall {
  const float* x = nullptr;
  const float* bias = nullptr;  ///< may be null
  const float* operands[kMostPosts] = {};
  float* y = nullptr;
  std::int64_t panel_begin = 0, panel_end = 0;
};

extern const KernelDef kGemmSteps;

}  // namespace stowage
