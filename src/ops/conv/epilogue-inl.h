// SPDX-License-Identifier: Apache-2.0
// Activations on vectors, for the kernels that apply Node::epilogue. Included once a target.
#if defined(STOWAGE_OPS_CONV_EPILOGUE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef STOWAGE_OPS_CONV_EPILOGUE_INL_H_
#undef STOWAGE_OPS_CONV_EPILOGUE_INL_H_
#else
#define STOWAGE_OPS_CONV_EPILOGUE_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "graph/graph.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class D, class V>
HWY_INLINE V logistic(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  return hn::Div(one, hn::Add(one, hn::Exp(d, hn::Neg(x))));
}

/// `slope` is read for prelu only.
template <class D, class V>
HWY_INLINE V activate(D d, const Activation& act, V x, V slope) {
  const V zero = hn::Zero(d);
  const V a = hn::Set(d, act.a);
  switch (act.kind) {
    case Activation::Kind::none:
      return x;
    case Activation::Kind::clip:
      return hn::Min(hn::Max(x, a), hn::Set(d, act.b));
    case Activation::Kind::leaky:
      return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(x, a), x);
    case Activation::Kind::prelu:
      return hn::IfThenElse(hn::Lt(x, zero), hn::Mul(x, slope), x);
    case Activation::Kind::sigmoid:
      return logistic(d, x);
    case Activation::Kind::tanh:
      return hn::Tanh(d, x);
    case Activation::Kind::hard_sigmoid:
      return hn::Min(hn::Max(hn::MulAdd(x, a, hn::Set(d, act.b)), zero), hn::Set(d, 1.0f));
    case Activation::Kind::hard_swish: {
      const V gate = hn::MulAdd(x, hn::Set(d, 1.0f / 6), hn::Set(d, 0.5f));
      return hn::Mul(x, hn::Min(hn::Max(gate, zero), hn::Set(d, 1.0f)));
    }
    case Activation::Kind::silu:
      return hn::Mul(x, logistic(d, x));
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
