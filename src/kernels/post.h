// SPDX-License-Identifier: Apache-2.0
// What a kernel applies to its results before it stores them.
#pragma once

#include "base/archive.h"

namespace stowage {

/// An elementwise function that a kernel can apply to its result before storing it.
struct Activation {
  enum class Kind {
    none,
    clip,          ///< min(max(x, a), b): Relu is (0, inf), Relu6 (0, 6)
    leaky,         ///< x < 0 ? a * x : x
    prelu,         ///< x < 0 ? slope[channel] * x : x; slope is the node input `slope_input`
    sigmoid,       ///< 1 / (1 + exp(-x))
    tanh,          ///
    hard_sigmoid,  ///< min(max(a * x + b, 0), 1)
    hard_swish,    ///< x * min(max(x / 6 + 0.5, 0), 1)
    silu,          ///< x * sigmoid(x)
    gelu,          ///< x * (1 + erf(x / sqrt(2))) / 2
    gelu_tanh,     ///< x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2
    mish,          ///< x * tanh(softplus(x))
    elu,           ///< x < 0 ? a * (exp(x) - 1) : x
    softplus,      ///< log(1 + exp(x))
  } kind = Kind::none;
  float a = 0, b = 0;

  void fields(Archive& archive) { archive("kind", kind)("a", a)("b", b); }
};

/// Where the inputs are that are not always there; -1: absent.
struct EpiloguePorts {
  int bias = -1, residual = -1, slope = -1;
  bool one_slope = false;

  void fields(Archive& a) {
    a("bias", bias)("residual", residual)("slope", slope)("one_slope", one_slope);
  }
};

}  // namespace stowage
