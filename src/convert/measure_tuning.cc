// SPDX-License-Identifier: Apache-2.0
// Which tuning of conversions is fastest on this machine.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <vector>

#include "convert/conversion.h"
#include "stowage/machine.h"

namespace stowage {
namespace {

/// Planes of so many elements, and as many bytes in each.
struct Sample {
  std::int64_t channels, pixels;
  DType dtype;
};

/// Within L2 and beyond, near and far, at distances that crowd the same sets and others.
constexpr Sample kSamples[] = {
    {64, 12544, DType::f32}, {256, 3136, DType::f32}, {64, 4096, DType::f32},
    {64, 1024, DType::f32},  {64, 256, DType::f32},   {1000, 1003, DType::f32},
    {33, 12543, DType::f32}, {64, 12544, DType::u8},
};

constexpr ConversionTuning kWalks[] = {
    {.prefetch_for_write = true, .streams = 0},
    {.prefetch_for_write = true, .streams = 16},
    {.prefetch_for_write = false, .streams = 16},
};
constexpr int kRounds = 15;

double ns_of(const conversion::Program& program, const Tensor& source, Tensor& target) {
  const auto* const from = reinterpret_cast<const conversion::Byte*>(source.data());
  auto* const to = reinterpret_cast<conversion::Byte*>(target.data());
  // As many calls as move some MiB, after one that puts the caches into its own state.
  const auto calls = static_cast<int>((4u << 20) / (program.bytes_moved() + 1) + 1);
  program.run(from, to, nullptr);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) program.run(from, to, nullptr);
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  return took.count() / calls;
}

/// The fastest of them. Another than the first has to be faster by 5 % on the whole and slower by
/// 5 % nowhere.
ConversionTuning fastest(const std::vector<ConversionTuning>& candidates, NextUse next_use) {
  // Of each candidate: how its time compares with the first one's, on the whole and at worst.
  std::vector<double> sum(candidates.size(), 0), worst(candidates.size(), 0);
  int measured = 0;
  for (const Sample& sample : kSamples) {
    const Shape shape("ap", {sample.channels, sample.pixels});
    for (const bool back : {false, true}) {
      const Layout planes = Layout::row_major(shape);
      const Layout pixels = Layout::row_major(std::vector<Axis>{shape.axis(1), shape.axis(0)});
      const Tensor source(sample.dtype, shape, back ? pixels : planes);
      Tensor target(sample.dtype, shape, back ? planes : pixels);
      std::vector<double> best(candidates.size(), std::numeric_limits<double>::infinity());
      for (int round = 0; round < kRounds; ++round) {
        for (std::size_t k = 0; k < candidates.size(); ++k) {
          conversion::Options options{.next_use = next_use};
          static_cast<ConversionTuning&>(options.tuning) = candidates[k];
          const conversion::Program program(sample.dtype, source.mapping(), sample.dtype,
                                            target.mapping(), {}, options);
          best[k] = std::min(best[k], ns_of(program, source, target));
        }
      }
      for (std::size_t k = 0; k < candidates.size(); ++k) {
        const double change = std::log(best[k] / best[0]);
        sum[k] += change;
        worst[k] = std::max(worst[k], change);
      }
      ++measured;
    }
  }
  const double twentieth = std::log(1.05);
  std::size_t chosen = 0;
  for (std::size_t k = 1; k < candidates.size(); ++k) {
    const bool pays = sum[k] / measured < -twentieth && worst[k] < twentieth;
    if (pays && sum[k] < sum[chosen]) chosen = k;
  }
  return candidates[chosen];
}

}  // namespace

ConversionTuning measure_conversion_tuning() {
  std::vector<ConversionTuning> walks = {default_conversion_tuning()};
  for (ConversionTuning walk : kWalks) {
    walk.non_temporal = walks[0].non_temporal;
    if (walk != walks[0]) walks.push_back(walk);
  }
  const ConversionTuning walk = fastest(walks, NextUse::soon);
  ConversionTuning other = walk;
  other.non_temporal = !walk.non_temporal;
  return fastest({walk, other}, NextUse::later);
}

}  // namespace stowage
