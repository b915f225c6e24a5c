// SPDX-License-Identifier: Apache-2.0
// The functions that the elementwise kernel computes, and one call of it.
#pragma once

#include <cstdint>

namespace stowage {

enum class Fn : std::uint8_t {
  // of one element; a and b are alpha and beta, or the bounds of clip
  clip,
  leaky_relu,
  neg,
  abs,
  sign,
  sigmoid,
  tanh,
  exp,
  log,
  expm1,
  log1p,
  sqrt,
  floor,
  ceil,
  round,
  reciprocal,
  erf,
  softplus,
  softsign,
  elu,
  selu,
  hard_sigmoid,
  hard_swish,
  mish,
  swish,
  gelu,
  gelu_tanh,
  thresholded_relu,
  square,
  scale,
  // of two
  add,
  sub,
  mul,
  div,
  min,
  max,
  prelu,
  // x * scale + shift, and its clip to the bounds a and b
  affine,
  affine_clip,
};

/// `rows` rows of `n` contiguous results. An operand of a row is contiguous too, or one element.
struct ElementwiseCall {
  Fn fn = Fn::add;
  float a = 0, b = 0;
  std::int64_t rows = 1, n = 1;
  const float* in[3] = {};
  std::int64_t in_stride[3] = {};  ///< from row to row
  bool scalar[3] = {};
  float* out = nullptr;
  std::int64_t out_stride = 0;
};

/// Reads up to one vector behind each row. `out` may be one of the inputs.
void run_elementwise(const ElementwiseCall& call) noexcept;

}  // namespace stowage
