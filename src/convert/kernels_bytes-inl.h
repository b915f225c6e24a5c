// SPDX-License-Identifier: Apache-2.0
// Few rows or columns of bytes by instructions that put any 64 of the bytes of two vectors into any
// order.
#if defined(STOWAGE_CONVERT_BYTES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef STOWAGE_CONVERT_BYTES_INL_H
#undef STOWAGE_CONVERT_BYTES_INL_H
#else
#define STOWAGE_CONVERT_BYTES_INL_H
#endif

#include <utility>

#include "convert/kernels_transpose-inl.h"

#if HWY_TARGET <= HWY_AVX3_DL
HWY_BEFORE_NAMESPACE();

namespace stowage::conversion {
namespace HWY_NAMESPACE {

/// Between kN rows of 64 bytes and 64 columns of kN, one after the other: kN registers either way.
/// Each register of the result takes bytes from all, two sources at a time.
template <int kN>
struct ByteShuffle {
  static constexpr int kPairs = (kN + 1) / 2;
  alignas(64) Byte index[kN][kPairs][64];
  std::uint64_t mask[kN][kPairs];

  /// `from(i)`: which byte of the source becomes byte i of the result.
  template <class F>
  constexpr explicit ByteShuffle(F from) : index{}, mask{} {
    for (int i = 0; i < 64 * kN; ++i) {
      const int source = from(i), pair = source / 128;
      index[i / 64][pair][i % 64] = static_cast<Byte>(source % 128);
      mask[i / 64][pair] |= std::uint64_t{1} << (i % 64);
    }
  }

  /// Register kTo of the result, from pair kPair on.
  template <int kTo, int kPair = 0>
  HWY_INLINE __m512i make(const __m512i (&x)[kN], __m512i out = __m512i()) const {
    if constexpr (kPair == kPairs) {
      return out;
    } else {
      const __m512i order = _mm512_load_si512(index[kTo][kPair]);
      __m512i next;
      if constexpr (2 * kPair + 1 == kN) {
        next = _mm512_mask_permutexvar_epi8(out, mask[kTo][kPair], order, x[2 * kPair]);
      } else {
        next = _mm512_permutex2var_epi8(x[2 * kPair], order, x[2 * kPair + 1]);
        if constexpr (kPair > 0) next = _mm512_mask_mov_epi8(out, mask[kTo][kPair], next);
      }
      return make<kTo, kPair + 1>(x, next);
    }
  }
};

/// f(0) to f(kN - 1), as constants, so that arrays that they index stay in registers.
template <class F, int... kI>
HWY_INLINE void for_each(std::integer_sequence<int, kI...>, const F& f) {
  (f(std::integral_constant<int, kI>()), ...);
}

template <int kN, class F>
HWY_INLINE void for_each(const F& f) {
  for_each(std::make_integer_sequence<int, kN>(), f);
}

/// Into how many parts of equal size kN is taken first: the fewest, since each part costs a step of
/// as many shuffles as half of them, for each register.
constexpr int first_parts(int n) { return n % 2 == 0 ? 2 : n % 3 == 0 ? 3 : n; }

/// kN registers, of 64 columns of kN bytes, become kN rows.
template <int kN>
HWY_INLINE void part_registers(__m512i (&x)[kN]) {
  constexpr int kParts = first_parts(kN), kRest = kN / kParts;
  static constexpr ByteShuffle<kParts> kShuffle([](int i) { return i % 64 * kParts + i / 64; });
  __m512i part[kParts][kRest];
  for_each<kRest>([&](auto group) HWY_ATTR __attribute__((always_inline)) {
    __m512i from[kParts];
    for_each<kParts>([&](auto j) HWY_ATTR
                     __attribute__((always_inline)) { from[j()] = x[group() * kParts + j()]; });
    for_each<kParts>([&](auto j) HWY_ATTR __attribute__((always_inline)) {
      part[j()][group()] = kShuffle.template make<j()>(from);
    });
  });
  for_each<kParts>([&](auto j) HWY_ATTR __attribute__((always_inline)) {
    if constexpr (kRest > 1) part_registers<kRest>(part[j()]);
    for_each<kRest>([&](auto k) HWY_ATTR
                    __attribute__((always_inline)) { x[k() * kParts + j()] = part[j()][k()]; });
  });
}

/// kN rows of 64 bytes become kN registers of 64 columns: the same steps undone.
template <int kN>
HWY_INLINE void join_registers(__m512i (&x)[kN]) {
  constexpr int kParts = first_parts(kN), kRest = kN / kParts;
  static constexpr ByteShuffle<kParts> kShuffle([](int i) { return i % kParts * 64 + i / kParts; });
  __m512i part[kParts][kRest];
  for_each<kParts>([&](auto j) HWY_ATTR __attribute__((always_inline)) {
    for_each<kRest>([&](auto k) HWY_ATTR
                    __attribute__((always_inline)) { part[j()][k()] = x[k() * kParts + j()]; });
    if constexpr (kRest > 1) join_registers<kRest>(part[j()]);
  });
  for_each<kRest>([&](auto group) HWY_ATTR __attribute__((always_inline)) {
    __m512i from[kParts];
    for_each<kParts>([&](auto j) HWY_ATTR
                     __attribute__((always_inline)) { from[j()] = part[j()][group()]; });
    for_each<kParts>([&](auto j) HWY_ATTR __attribute__((always_inline)) {
      x[group() * kParts + j()] = kShuffle.template make<j()>(from);
    });
  });
}

/// Compilers would load it for each of its uses.
HWY_INLINE __m512i load_once(const Byte* p) {
  __m512i x = _mm512_loadu_si512(p);
  asm("" : "+v"(x));
  return x;
}

/// Few registers gain nothing by another order.
template <int kN>
StepOrder order_of_registers(const TransposeBlock& t) {
  constexpr int kLeast = 6;
  return kN < kLeast ? StepOrder::straight : t.order_of_steps();
}

/// kN rows whose columns follow each other without a gap.
template <int kN>
void join_bytes(const TransposeBlock& t) {
  const Byte* rows[kN];  // bytes may alias t
  for (int k = 0; k < kN; ++k) rows[k] = t.row(k);
  Byte* const first = t.column(0);
  const bool ahead = t.tuning->prefetch_for_write;
  in_steps<64>(t.na, order_of_registers<kN>(t), [&](std::int64_t a) HWY_ATTR {
    Byte* const to = first + a * kN;
    if (ahead) prefetch_ahead(to, kN * 64);
    __m512i x[kN];
    for_each<kN>([&](auto k) HWY_ATTR
                 __attribute__((always_inline)) { x[k()] = load_once(rows[k()] + a); });
    join_registers<kN>(x);
    for_each<kN>([&](auto k) HWY_ATTR
                 __attribute__((always_inline)) { _mm512_storeu_si512(to + k() * 64, x[k()]); });
  });
}

/// kN columns whose rows follow each other without a gap.
template <int kN>
void part_bytes(const TransposeBlock& t) {
  const TileTag<1, kBlocks> d;
  Byte* to[kN];  // bytes may alias t
  for (int k = 0; k < kN; ++k) to[k] = t.column(k);
  const Byte* const first = t.row(0);
  const bool ahead = t.tuning->prefetch_for_write;
  in_steps<64>(t.nb, order_of_registers<kN>(t), [&](std::int64_t b) HWY_ATTR {
    const Byte* const from = first + b * kN;
    __m512i x[kN];
    for_each<kN>([&](auto k) HWY_ATTR
                 __attribute__((always_inline)) { x[k()] = load_once(from + k() * 64); });
    part_registers<kN>(x);
    for_each<kN>([&](auto k) HWY_ATTR __attribute__((always_inline)) {
      write(hn::Vec<decltype(d)>{x[k()]}, d, to[k()] + b, ahead);
    });
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace stowage::conversion

HWY_AFTER_NAMESPACE();
#endif

#endif
