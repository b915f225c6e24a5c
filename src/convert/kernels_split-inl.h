// SPDX-License-Identifier: Apache-2.0
// Pixels of bytes into planes of floats, in one step.
#if defined(STOWAGE_CONVERT_SPLIT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef STOWAGE_CONVERT_SPLIT_INL_H
#undef STOWAGE_CONVERT_SPLIT_INL_H
#else
#define STOWAGE_CONVERT_SPLIT_INL_H
#endif

#include <algorithm>
#include <array>
#include <cstring>

#include "convert/kernels_tile-inl.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::conversion {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR

/// One channel of four pixels as the low bytes of four words; 0x80 makes a zero.
template <int kChannels>
constexpr std::array<std::array<Byte, 16>, kChannels> channel_orders() {
  std::array<std::array<Byte, 16>, kChannels> out{};
  for (int c = 0; c < kChannels; ++c) {
    for (int i = 0; i < 16; ++i)
      out[static_cast<std::size_t>(c)][static_cast<std::size_t>(i)] =
          i % 4 == 0 ? static_cast<Byte>(i / 4 * kChannels + c) : Byte{0x80};
  }
  return out;
}

/// Four pixels in each 16 bytes of a vector.
template <int kChannels, bool kAhead>
void split_pixels_of(const PixelRun& run) {
  static constexpr auto kOrders = channel_orders<kChannels>();
  constexpr std::int64_t kStep = 4 * kBlocks, kPiece = 4 * kChannels,
                         kReach = (kBlocks - 1) * kPiece + 16;
  const TileTag<1, kBlocks> bytes;
  const hn::Repartition<std::int32_t, decltype(bytes)> words;
  const hn::Repartition<float, decltype(bytes)> d;
  hn::Vec<decltype(d)> mean[kChannels], norm[kChannels];
  for (int c = 0; c < kChannels; ++c) {
    mean[c] = hn::Set(d, run.mean[c]);
    norm[c] = hn::Set(d, run.norm[c]);
  }
  float* to[kChannels];  // bytes may alias the run
  for (int c = 0; c < kChannels; ++c) to[c] = run.to[c];
  const auto move = [&](const Byte* from, float* const* at, std::int64_t offset) HWY_ATTR {
    const auto pixels = load_rows<1, kBlocks>(EvenRows<1>(from, kPiece), 0);
    HWY_UNROLL(4)
    for (int c = 0; c < kChannels; ++c) {
      const auto order = hn::LoadDup128(bytes, kOrders[static_cast<std::size_t>(c)].data());
      const auto x = hn::ConvertTo(d, hn::BitCast(words, hn::TableLookupBytesOr0(pixels, order)));
      hn::StoreU(hn::Mul(hn::Sub(x, mean[c]), norm[c]), d, at[c] + offset);
    }
  };
  const std::int64_t n = run.n, room = run.src_end - run.src - kReach,
                     safe = room < 0 ? 0 : std::min(n, room / kChannels + kStep);
  const Byte* from = run.src;
  std::int64_t i = 0;
  for (; i + kStep <= safe; i += kStep, from += kStep * kChannels) {
    for (int c = 0; kAhead && c < kChannels; ++c)
      prefetch_for_write(reinterpret_cast<const Byte*>(to[c] + i) + 4 * kLine);
    move(from, to, i);
  }
  for (; i < n; i += kStep, from += kStep * kChannels) {
    const std::int64_t rest = std::min(kStep, n - i);
    Byte copy[kReach] = {};
    std::memcpy(copy, from, static_cast<std::size_t>(rest * kChannels));
    float planes[kChannels][kStep];
    float* at[kChannels];
    for (int c = 0; c < kChannels; ++c) at[c] = planes[c];
    move(copy, at, 0);
    for (int c = 0; c < kChannels; ++c)
      std::memcpy(to[c] + i, planes[c], static_cast<std::size_t>(rest) * sizeof(float));
  }
}

template <bool kAhead>
void split_pixels_as(const PixelRun& run) {
  if (run.channels == 2) return split_pixels_of<2, kAhead>(run);
  if (run.channels == 3) return split_pixels_of<3, kAhead>(run);
  split_pixels_of<4, kAhead>(run);
}

inline void split_pixels(const PixelRun& run) {
  run.prefetch_for_write ? split_pixels_as<true>(run) : split_pixels_as<false>(run);
}

inline constexpr auto kSplitPixels = &split_pixels;

#else

inline constexpr void (*kSplitPixels)(const PixelRun&) = nullptr;

#endif

}  // namespace HWY_NAMESPACE
}  // namespace stowage::conversion

HWY_AFTER_NAMESPACE();

#endif
