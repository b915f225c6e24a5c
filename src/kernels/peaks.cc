// SPDX-License-Identifier: Apache-2.0
#include "kernels/peaks.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/peaks.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::HWY_NAMESPACE {
namespace {

/// Two units with a latency of four or five, and registers for two operands.
constexpr int kChains = 12;

float run_multiply_adds(std::int64_t steps) {
  const V a = hn::Set(kTag, 0.999f), b = hn::Set(kTag, 0.001f);
  V acc[kChains];
  STOWAGE_UNROLL
  for (int i = 0; i < kChains; ++i) acc[i] = hn::Set(kTag, static_cast<float>(i));
  for (std::int64_t s = 0; s < steps; ++s) {
    STOWAGE_UNROLL
    for (int i = 0; i < kChains; ++i) acc[i] = hn::MulAdd(acc[i], a, b);
  }
  V sum = acc[0];
  STOWAGE_UNROLL
  for (int i = 1; i < kChains; ++i) sum = hn::Add(sum, acc[i]);
  return hn::GetLane(hn::SumOfLanes(kTag, sum));
}

std::int64_t flops_of_step() { return 2 * kChains * kLanes; }

static_assert(kPeakGroup % (4 * kLanes) == 0);

float run_read(const float* x, std::int64_t count) {
  V acc[4] = {hn::Zero(kTag), hn::Zero(kTag), hn::Zero(kTag), hn::Zero(kTag)};
  for (std::int64_t i = 0; i < count; i += 4 * kLanes) {
    STOWAGE_UNROLL
    for (int j = 0; j < 4; ++j) acc[j] = hn::Add(acc[j], hn::LoadU(kTag, x + i + j * kLanes));
  }
  const V sum = hn::Add(hn::Add(acc[0], acc[1]), hn::Add(acc[2], acc[3]));
  return hn::GetLane(hn::SumOfLanes(kTag, sum));
}

void run_triad(float* z, const float* x, const float* y, std::int64_t count) {
  const V half = hn::Set(kTag, 0.5f);
  for (std::int64_t i = 0; i < count; i += 4 * kLanes) {
    V v[4];
    STOWAGE_UNROLL
    for (int j = 0; j < 4; ++j) {
      v[j] = hn::MulAdd(hn::LoadU(kTag, x + i + j * kLanes), half,
                        hn::LoadU(kTag, y + i + j * kLanes));
    }
    STOWAGE_UNROLL
    for (int j = 0; j < 4; ++j) hn::StoreU(v[j], kTag, z + i + j * kLanes);
  }
}

}  // namespace
}  // namespace stowage::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace stowage {

namespace {

HWY_EXPORT(run_multiply_adds);
HWY_EXPORT(flops_of_step);
HWY_EXPORT(run_read);
HWY_EXPORT(run_triad);

}  // namespace

float multiply_adds(std::int64_t steps) noexcept {
  return HWY_DYNAMIC_DISPATCH(run_multiply_adds)(steps);
}

std::int64_t multiply_adds_flops() noexcept { return HWY_DYNAMIC_DISPATCH(flops_of_step)(); }

float read_all(const float* x, std::int64_t count) noexcept {
  return HWY_DYNAMIC_DISPATCH(run_read)(x, count);
}

void triad(float* z, const float* x, const float* y, std::int64_t count) noexcept {
  HWY_DYNAMIC_DISPATCH(run_triad)(z, x, y, count);
}

}  // namespace stowage
#endif
