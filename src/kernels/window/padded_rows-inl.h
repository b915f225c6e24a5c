// SPDX-License-Identifier: Apache-2.0
// The channels that a vector of slide() holds, and copies of the input rows under a window with its
// padding around them. Included once a target.
#if defined(STOWAGE_KERNELS_PADDED_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef STOWAGE_KERNELS_PADDED_ROWS_INL_H_
#undef STOWAGE_KERNELS_PADDED_ROWS_INL_H_
#else
#define STOWAGE_KERNELS_PADDED_ROWS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "base/checked.h"
#include "kernels/first_lanes-inl.h"
#include "kernels/vectors-inl.h"
#include "kernels/window/slide.h"

HWY_BEFORE_NAMESPACE();

namespace stowage::HWY_NAMESPACE {
namespace {

/// The vector of input channels that a block of output channels reads. With a multiplier a lane is
/// some channel of one block, or of the one behind it.
class Channels {
 public:
  Channels(const Slide& s, std::int64_t block)
      : single_(s.multiplier == 1), offset_(block * s.in.block), behind_(s.in.block) {
    if (single_) return;
    const std::int64_t first = block * kLanes / s.multiplier;
    const bool blocked = s.in.padded;
    const std::int64_t start = blocked ? first / kLanes * kLanes : first;
    offset_ = blocked ? start / kLanes * s.in.block : start;
    const std::int64_t last = s.channels / s.multiplier - 1;
    for (std::int64_t i = 0; i < kLanes; ++i) {
      const std::int64_t at = std::min((block * kLanes + i) / s.multiplier, last) - start;
      lane_[i] = static_cast<std::int32_t>(at % kLanes);
      second_[i] = at < kLanes ? 0.0f : 1.0f;
      two_ = two_ || at >= kLanes;
    }
  }

  /// Where the vectors of a pixel are, behind the pixel's place in the image.
  std::int64_t offset() const { return offset_; }

  /// Copies `count` pixels to `to`, a vector each.
  HWY_INLINE void copy(const float* in, std::int64_t pixel, std::int64_t count, float* to) const {
    if (!single_) return repeat(in, pixel, count, to);
    for (std::int64_t x = 0; x < count; ++x) {
      hn::Store(hn::LoadU(kTag, in + x * pixel), kTag, to + x * kLanes);
    }
  }

 private:
  HWY_NOINLINE void repeat(const float* in, std::int64_t pixel, std::int64_t count,
                           float* to) const {
    const auto lane = hn::SetTableIndices(kTag, lane_);
    if (!two_) {
      for (std::int64_t x = 0; x < count; ++x) {
        const V v = hn::TableLookupLanes(hn::LoadU(kTag, in + x * pixel), lane);
        hn::Store(v, kTag, to + x * kLanes);
      }
      return;
    }
    const auto second = hn::Gt(hn::Load(kTag, second_), hn::Zero(kTag));
    for (std::int64_t x = 0; x < count; ++x) {
      const V a = hn::TableLookupLanes(hn::LoadU(kTag, in + x * pixel), lane);
      const V b = hn::TableLookupLanes(hn::LoadU(kTag, in + behind_ + x * pixel), lane);
      hn::Store(hn::IfThenElse(second, b, a), kTag, to + x * kLanes);
    }
  }

  bool single_, two_ = false;
  std::int64_t offset_, behind_;
  HWY_ALIGN std::int32_t lane_[kLanes];
  HWY_ALIGN float second_[kLanes];  // 1 where the lane is of the block behind
};

/// Copies of the input rows under a window, padded along w, so that no pixel is at a border. A row
/// that the next window sees too stays.
class PaddedRows {
 public:
  /// Copying pays where every input pixel is read about as often as an output is written.
  static bool pays(const Window& w) {
    return w.stride[2] == 1 && w.out[2] <= kMostPixels && w.kernel[0] == 1 && w.kernel[2] > 1 &&
           slots_of(w, 1) <= kSlideRows &&
           slots_of(w, 1) * width_of(w, w.out[2]) * kLanes <= kFloats;
  }

  /// Output columns that it can hold the input for, in strips of nearly equal width; 0 when there
  /// is no room for one.
  static std::int64_t strip(const Window& w) {
    const std::int64_t slots = slots_of(w, 0) * slots_of(w, 1);
    const std::int64_t room = kFloats / kLanes / slots - width_of(w, 1);
    if (slots > kSlideRows || room < 0) return 0;
    return ceil_div(w.out[2], ceil_div(w.out[2], room / w.stride[2] + 1));
  }

  PaddedRows(const Window& w, const Channels& channels, std::int64_t in_pixel, V padding)
      : w_(w), channels_(channels), in_pixel_(in_pixel), padding_(padding) {}

  /// From now on for the output columns [begin, end).
  void start(std::int64_t begin, std::int64_t end) {
    first_ = begin * w_.stride[2] - w_.pad_begin[2];
    width_ = width_of(w_, end - begin);
    from_ = std::clamp<std::int64_t>(-first_, 0, width_);
    count_ = std::clamp<std::int64_t>(w_.in[2] - first_, from_, width_) - from_;
    const std::int64_t slots = (mask_z_ + 1) * (mask_y_ + 1);
    std::fill(held_, held_ + slots, -1);
    for (std::int64_t i = 0; i < slots * width_; ++i) {
      hn::Store(padding_, kTag, cells_ + i * kLanes);
    }
  }

  /// The column of the input where the copies begin.
  std::int64_t first() const { return first_; }

  /// The copy of input row (z, y), which lies at `in`.
  HWY_INLINE const float* row(std::int64_t z, std::int64_t y, const float* in) {
    const std::int64_t slot = (z & mask_z_) * (mask_y_ + 1) + (y & mask_y_);
    float* const to = cells_ + slot * width_ * kLanes;
    const std::int64_t key = z * w_.in[1] + y;
    if (held_[slot] != key) {
      held_[slot] = key;
      channels_.copy(in + (first_ + from_) * in_pixel_, in_pixel_, count_, to + from_ * kLanes);
    }
    return to;
  }

 private:
  static constexpr std::int64_t kFloats = 8192;
  /// In wider rows the border matters less than the copies.
  static constexpr std::int64_t kMostPixels = 32;

  /// A power of two, so that a row finds its slot fast.
  static std::int64_t slots_of(const Window& w, std::size_t axis) {
    std::int64_t n = 1;
    while (n < (w.kernel[axis] - 1) * w.dilation[axis] + 1) n *= 2;
    return n;
  }

  /// Columns of the input under that many of the output.
  static std::int64_t width_of(const Window& w, std::int64_t columns) {
    return (columns - 1) * w.stride[2] + (w.kernel[2] - 1) * w.dilation[2] + 1;
  }

  const Window& w_;
  const Channels& channels_;
  const std::int64_t in_pixel_;
  const V padding_;
  const std::int64_t mask_z_ = slots_of(w_, 0) - 1, mask_y_ = slots_of(w_, 1) - 1;
  std::int64_t first_ = 0, width_ = 0, from_ = 0, count_ = 0;
  std::int64_t held_[kSlideRows];
  HWY_ALIGN float cells_[kFloats];
};

}  // namespace
}  // namespace stowage::HWY_NAMESPACE

HWY_AFTER_NAMESPACE();

#endif
