// SPDX-License-Identifier: Apache-2.0
// Windows that slide over each channel by itself, in blocks of channels or with the channels last:
// depthwise convolution, max and average pooling; and convolution of groups of so few channels that
// a block holds several.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/post.h"
#include "kernels/window/window.h"

namespace stowage {

class ThreadPool;

struct Slide {
  enum class Kind { depthwise, max, average } kind = Kind::max;
  Window w;
  std::int64_t images = 1, channels = 1;
  /// depthwise: output channel o reads input channel o / multiplier; `channels` are the outputs'.
  std::int64_t multiplier = 1;
  /// depthwise: channels of a group, as many in as out. More than 1 only with a multiplier of 1.
  std::int64_t width = 1;
  /// average: one over the number of taps that count at each output index of each axis.
  std::array<std::vector<float>, 3> scale;
  BoundPosts posts;

  /// Distances in floats.
  struct Side {
    std::int64_t pixel = 0, block = 0, image = 0;
    bool padded = true;  ///< the last block of a pixel has room for all lanes
  };

  Side in, out;
};

/// Blocks of channels on either end, or the channels last.
struct SlideEnds {
  bool in_blocked, out_blocked;
};

inline constexpr SlideEnds kSlideEnds[] = {
    {true, true}, {false, true}, {true, false}, {false, false}};

/// Sets in and out.
void place(Slide& s, SlideEnds ends) noexcept;

struct SlideCall {
  const float* in = nullptr;
  const float* weights = nullptr;  ///< depthwise: blocks of channels, taps, of a group, lanes
  const float* bias = nullptr;     ///< may be null; padded
  const float* operands[kMostPosts] = {};  ///< of the posts; of channels: padded
  float* out = nullptr;
  ThreadPool* pool = nullptr;
};

/// Most rows of taps (kernel d times kernel h) that slide() takes.
inline constexpr std::int64_t kSlideRows = 64;

/// The window is one that slide() takes: with a multiplier over 1 its rows are copied, and a few
/// must fit into a buffer. Groups are 1, 2, 4 or 8 channels wide, and a block holds whole ones.
bool slide_fits(const Slide& s) noexcept;

/// The window is a square of 3 or 5 with stride 1 or 2 whose columns are walked along.
bool slide_walks(const Slide& s) noexcept;

void slide(const Slide& s, const SlideCall& call, int threads) noexcept;

/// The fraction of a processor's multiply-adds that slide() gets done.
double slide_efficiency(const Slide& s) noexcept;

/// Bytes that come into the cache again: with the channels last, lines hold two blocks of channels.
double slide_extra_bytes(const Slide& s) noexcept;

/// Max or average over all input pixels of a channel.
void slide_global(const Slide& s, const SlideCall& call, int threads) noexcept;

}  // namespace stowage
