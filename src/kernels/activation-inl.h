// SPDX-License-Identifier: Apache-2.0
// Activations on vectors, for the kernels that apply them to their results. Included once a target.
#if defined(STOWAGE_KERNELS_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef STOWAGE_KERNELS_ACTIVATION_INL_H_
#undef STOWAGE_KERNELS_ACTIVATION_INL_H_
#else
#define STOWAGE_KERNELS_ACTIVATION_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/math-inl.h"
#include "kernels/post.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::HWY_NAMESPACE {

/// Calls body(f) once, where f(x, slope) is the activation of a vector: `body` loops over the
/// values of a tile. `slope` is read for prelu only.
template <class D, class Body>
HWY_INLINE void with_activation(D d, const Activation& act, Body body) {
  using V = hn::Vec<D>;
  const V a = hn::Set(d, act.a), b = hn::Set(d, act.b);
  switch (act.kind) {
    case Activation::Kind::none:
      return;
    case Activation::Kind::clip:
      return body([&](V x, V) HWY_ATTR { return clip(x, a, b); });
    case Activation::Kind::leaky:
      return body([&](V x, V) HWY_ATTR { return leak(d, x, a); });
    case Activation::Kind::prelu:
      return body([&](V x, V slope) HWY_ATTR { return leak(d, x, slope); });
    case Activation::Kind::sigmoid:
      return body([&](V x, V) HWY_ATTR { return sigmoid(d, x); });
    case Activation::Kind::tanh:
      return body([&](V x, V) HWY_ATTR { return tanh(d, x); });
    case Activation::Kind::hard_sigmoid:
      return body([&](V x, V) HWY_ATTR { return hard_sigmoid(d, x, a, b); });
    case Activation::Kind::hard_swish:
      return body([&](V x, V) HWY_ATTR { return hard_swish(d, x); });
    case Activation::Kind::silu:
      return body([&](V x, V) HWY_ATTR { return silu(d, x); });
    case Activation::Kind::gelu:
      return body([&](V x, V) HWY_ATTR { return gelu(d, x); });
    case Activation::Kind::gelu_tanh:
      return body([&](V x, V) HWY_ATTR { return gelu_tanh(d, x); });
    case Activation::Kind::mish:
      return body([&](V x, V) HWY_ATTR { return mish(d, x); });
    case Activation::Kind::elu:
      return body([&](V x, V) HWY_ATTR { return elu(d, x, a); });
    case Activation::Kind::softplus:
      return body([&](V x, V) HWY_ATTR { return softplus(d, x); });
  }
}

/// Applying it to zero lanes leaves them zero, and it costs two instructions.
HWY_INLINE bool is_plain(const Activation& act) {
  return act.kind == Activation::Kind::none ||
         (act.kind == Activation::Kind::clip && act.a <= 0 && act.b >= 0);
}

}  // namespace stowage::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#endif
