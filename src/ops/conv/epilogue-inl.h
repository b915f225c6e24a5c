// SPDX-License-Identifier: Apache-2.0
// Activations on vectors, for the kernels that apply Node::epilogue. Included once a target.
#if defined(STOWAGE_OPS_CONV_EPILOGUE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef STOWAGE_OPS_CONV_EPILOGUE_INL_H_
#undef STOWAGE_OPS_CONV_EPILOGUE_INL_H_
#else
#define STOWAGE_OPS_CONV_EPILOGUE_INL_H_
#endif

#include <hwy/highway.h>

#include "graph/graph.h"
#include "ops/math-inl.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::HWY_NAMESPACE {

/// `slope` is read for prelu only.
template <class D, class V>
HWY_INLINE V activate(D d, const Activation& act, V x, V slope) {
  const V a = hn::Set(d, act.a), b = hn::Set(d, act.b);
  switch (act.kind) {
    case Activation::Kind::none:
      return x;
    case Activation::Kind::clip:
      return clip(x, a, b);
    case Activation::Kind::leaky:
      return leak(d, x, a);
    case Activation::Kind::prelu:
      return leak(d, x, slope);
    case Activation::Kind::sigmoid:
      return sigmoid(d, x);
    case Activation::Kind::tanh:
      return tanh(d, x);
    case Activation::Kind::hard_sigmoid:
      return hard_sigmoid(d, x, a, b);
    case Activation::Kind::hard_swish:
      return hard_swish(d, x);
    case Activation::Kind::silu:
      return silu(d, x);
    case Activation::Kind::gelu:
      return gelu(d, x);
    case Activation::Kind::gelu_tanh:
      return gelu_tanh(d, x);
    case Activation::Kind::mish:
      return mish(d, x);
    case Activation::Kind::elu:
      return elu(d, x, a);
    case Activation::Kind::softplus:
      return softplus(d, x);
  }
  return x;
}

/// Applying it to zero lanes leaves them zero, and it costs two instructions.
HWY_INLINE bool is_plain(const Activation& act) {
  return act.kind == Activation::Kind::none ||
         (act.kind == Activation::Kind::clip && act.a <= 0 && act.b >= 0);
}

}  // namespace stowage::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#endif
