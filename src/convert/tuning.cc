// SPDX-License-Identifier: Apache-2.0
#include "convert/tuning.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "stowage/machine.h"

namespace stowage {
namespace {

bool is_intel() noexcept {
#if defined(__x86_64__) && defined(__GNUC__)
  unsigned leaf = 0, name[3] = {};
  if (__get_cpuid(0, &leaf, &name[0], &name[2], &name[1]) == 0) return false;
  return std::memcmp(name, "GenuineIntel", sizeof name) == 0;
#else
  return false;
#endif
}

/// What each family did best with, measured by bench/convert (docs/conversion.md): cores of Intel
/// wait for each line that a store misses, so that it pays to ask for it; the others follow few
/// streams by themselves, and lose by being asked. Those of Intel with vectors of 64 bytes are of
/// servers, whose L3 takes lines no faster than memory does.
ConversionTuning of_processor() noexcept {
  if (!is_intel()) return {.prefetch_for_write = false, .streams = 16, .non_temporal = false};
  return {.prefetch_for_write = true, .streams = 0, .non_temporal = vector_lanes() == 16};
}

/// One word, so that no thread sees a half of one tuning and a half of another, without a lock.
std::uint32_t packed(const ConversionTuning& t) noexcept {
  return static_cast<std::uint32_t>(t.streams) << 2 | (t.non_temporal ? 2U : 0U) |
         (t.prefetch_for_write ? 1U : 0U);
}

std::atomic<std::uint32_t>& in_use() noexcept {
  static std::atomic<std::uint32_t> tuning = packed(of_processor());
  return tuning;
}

}  // namespace

ConversionTuning default_conversion_tuning() noexcept { return of_processor(); }

ConversionTuning conversion_tuning() noexcept {
  const std::uint32_t word = in_use().load(std::memory_order_relaxed);
  return {.prefetch_for_write = (word & 1U) != 0,
          .streams = static_cast<int>(word >> 2),
          .non_temporal = (word & 2U) != 0};
}

void set_conversion_tuning(const ConversionTuning& tuning) noexcept {
  ConversionTuning kept = tuning;
  kept.streams = std::clamp(kept.streams, 0, kMostStreams);
  kept.prefetch_for_write |= kept.streams == 0;
  in_use().store(packed(kept), std::memory_order_relaxed);
}

namespace conversion {

Tuning current_tuning() noexcept { return {conversion_tuning()}; }

}  // namespace conversion

}  // namespace stowage
