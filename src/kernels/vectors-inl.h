// SPDX-License-Identifier: Apache-2.0
// What kernels call a vector of floats, a block of channels. Included once a target.
#if defined(STOWAGE_KERNELS_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef STOWAGE_KERNELS_VECTORS_INL_H_
#undef STOWAGE_KERNELS_VECTORS_INL_H_
#else
#define STOWAGE_KERNELS_VECTORS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

/// Before a loop over the registers of a tile: it is written out.
#undef STOWAGE_UNROLL
#if defined(__clang__)
#define STOWAGE_UNROLL _Pragma("clang loop unroll(full)")
#else
#define STOWAGE_UNROLL _Pragma("GCC unroll 16")
#endif

namespace stowage::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

inline constexpr D kTag;
inline constexpr std::int64_t kLanes = static_cast<std::int64_t>(hn::MaxLanes(D()));

}  // namespace stowage::HWY_NAMESPACE

#endif
