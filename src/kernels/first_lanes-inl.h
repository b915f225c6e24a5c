// SPDX-License-Identifier: Apache-2.0
// Loads and stores of part of a vector that touch nothing else. Included once a target.
#if defined(STOWAGE_KERNELS_FIRST_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef STOWAGE_KERNELS_FIRST_LANES_INL_H_
#undef STOWAGE_KERNELS_FIRST_LANES_INL_H_
#else
#define STOWAGE_KERNELS_FIRST_LANES_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();

namespace stowage::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// hn::MaskedLoad and hn::BlendedStore touch the selected lanes only.
#undef STOWAGE_HAS_MASKED_MEMORY
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
#define STOWAGE_HAS_MASKED_MEMORY 1
#else
#define STOWAGE_HAS_MASKED_MEMORY 0
#endif

/// Writes the first `n` lanes, 0 <= n <= Lanes(d). What follows them in memory belongs to somebody
/// else, perhaps to another thread: it is not even read. (hn::BlendedStore would do on x86, but
/// loads, blends and stores whole vectors on NEON and WASM.)
template <class D, class V>
HWY_INLINE void store_first(D d, V v, std::int64_t n, float* to) {
#if STOWAGE_HAS_MASKED_MEMORY
  hn::BlendedStore(v, hn::FirstN(d, static_cast<std::size_t>(n)), d, to);
#else
  HWY_ALIGN float lanes[hn::MaxLanes(d)];
  hn::Store(v, d, lanes);
  // A bound that the compiler knows makes it stores instead of a call of memcpy.
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(hn::MaxLanes(d)); ++i) {
    if (i < n) to[i] = lanes[i];
  }
#endif
}

/// Reads the first `n` lanes; the others are zero.
template <class D>
HWY_INLINE hn::Vec<D> load_first(D d, const float* from, std::int64_t n) {
#if STOWAGE_HAS_MASKED_MEMORY
  return hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(n)), d, from);
#else
  HWY_ALIGN float lanes[hn::MaxLanes(d)] = {};
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(hn::MaxLanes(d)); ++i) {
    if (i < n) lanes[i] = from[i];
  }
  return hn::Load(d, lanes);
#endif
}

}  // namespace stowage::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#endif
