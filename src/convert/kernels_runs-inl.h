// SPDX-License-Identifier: Apache-2.0
// Casts of short runs, each where it belongs.
#if defined(STOWAGE_CONVERT_RUNS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef STOWAGE_CONVERT_RUNS_INL_H
#undef STOWAGE_CONVERT_RUNS_INL_H
#else
#define STOWAGE_CONVERT_RUNS_INL_H
#endif

#include <algorithm>
#include <type_traits>

#include "convert/kernels_cast-inl.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::conversion {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE

/// kN elements.
template <Fast kFrom, Fast kTo, int kN>
HWY_INLINE void cast_few(const Byte* src, Byte* dst) {
  constexpr int kLanes = std::min<int>(kN, HWY_MAX_BYTES / 4);
  const hn::FixedTag<float, kLanes> df;
  const auto* const from = reinterpret_cast<const typename Stored<kFrom>::Type*>(src);
  auto* const to = reinterpret_cast<typename Stored<kTo>::Type*>(dst);
  HWY_UNROLL(4)
  for (int i = 0; i < kN; i += kLanes)
    store_from_float<kTo>(df, load_as_float<kFrom>(df, from + i), to + i);
}

/// Of a copy: the compiler reads it once, whatever is written.
template <class F>
HWY_INLINE void each_run(const CastRuns runs, const F& f) {
  for (std::int64_t r = 0; r < runs.rows; ++r) {
    const Byte* src = runs.src + r * runs.is;
    Byte* dst = runs.dst + r * runs.os;
    for (std::int64_t k = 0; k < runs.across; ++k, src += runs.across_is, dst += runs.across_os)
      f(src, dst);
  }
}

/// Of at most twice kN elements: the first kN and, where there are more, the last kN.
template <Fast kFrom, Fast kTo, int kN>
HWY_INLINE void runs_of_two(const CastRuns& runs) {
  constexpr auto kFew = [](const Byte* src, Byte* dst)
                            HWY_ATTR { cast_few<kFrom, kTo, kN>(src, dst); };
  if (runs.n == kN) return each_run(runs, kFew);
  const std::int64_t from = (runs.n - kN) *
                            static_cast<std::int64_t>(sizeof(typename Stored<kFrom>::Type)),
                     to = (runs.n - kN) *
                          static_cast<std::int64_t>(sizeof(typename Stored<kTo>::Type));
  each_run(runs, [&](const Byte* src, Byte* dst) HWY_ATTR {
    kFew(src, dst);
    kFew(src + from, dst + to);
  });
}

template <Fast kFrom, Fast kTo>
void cast_runs(const CastRuns& runs) {
  if (runs.n < 8) return runs_of_two<kFrom, kTo, 4>(runs);
  if (runs.n < 16) return runs_of_two<kFrom, kTo, 8>(runs);
  if (runs.n <= 32) return runs_of_two<kFrom, kTo, 16>(runs);
  constexpr std::int64_t kFrom16 = 16 * sizeof(typename Stored<kFrom>::Type),
                         kTo16 = 16 * sizeof(typename Stored<kTo>::Type);
  const std::int64_t steps = (runs.n - 1) / 16, from = (runs.n - 16) * (kFrom16 / 16),
                     to = (runs.n - 16) * (kTo16 / 16);
  each_run(runs, [&](const Byte* src, Byte* dst) HWY_ATTR {
    for (std::int64_t i = 0; i < steps; ++i)
      cast_few<kFrom, kTo, 16>(src + i * kFrom16, dst + i * kTo16);
    cast_few<kFrom, kTo, 16>(src + from, dst + to);
  });
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace stowage::conversion

HWY_AFTER_NAMESPACE();

#endif
