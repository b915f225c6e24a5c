// SPDX-License-Identifier: Apache-2.0
// The transforms of Winograd's method over blocks of channels. A tile of the input becomes as many
// places; those of the products become the pixels of its results.
#pragma once

#include <cstdint>

#include "kernels/post.h"
#include "kernels/window/window.h"
#include "kernels/window/winograd.h"

namespace stowage {

/// What is the same for all tiles of a convolution. Distances are in floats.
struct WinogradTiles {
  WinogradForm form;
  Window w;
  std::int64_t in_channels = 1, out_channels = 1;
  std::int64_t rows = 1, columns = 1;  ///< of tiles in a plane, those inside one another too

  struct Side {
    std::int64_t pixel = 0, block = 0, image = 0;
    bool padded = true;  ///< the last block has room for all lanes
  };

  Side in, out;
  BoundPosts posts;
};

/// Tiles are numbered through rows, planes and images.
struct WinogradInput {
  const float* in = nullptr;
  std::int64_t first = 0, count = 0;               ///< tiles
  float* to = nullptr;                             ///< place 0 of the first tile, block 0
  std::int64_t place_stride = 0, tile_stride = 0;  ///< of `to`
};

struct WinogradOutput {
  const float* from = nullptr;                     ///< place 0 of the first tile, `block_begin`
  std::int64_t place_stride = 0, tile_stride = 0;  ///< of `from`
  std::int64_t first = 0, count = 0;               ///< tiles
  std::int64_t block_begin = 0, block_end = 0;     ///< of channels
  const float* bias = nullptr;                     ///< may be null; readable in whole blocks
  const float* operands[kMostPosts] = {};          ///< of the posts
  float* out = nullptr;
};

/// A place of a tile: the blocks of channels of each tap of the first axis of the window.
void winograd_input(const WinogradTiles& tiles, const WinogradInput& call) noexcept;
void winograd_output(const WinogradTiles& tiles, const WinogradOutput& call) noexcept;

/// Of `channels` output channels, at most kWinogradMostRow: [tap][channel] to
/// [place * place_stride + channel]. In double precision, then rounded.
void winograd_weights(const WinogradForm& form, const float* taps, std::int64_t channels, float* to,
                      std::int64_t place_stride) noexcept;

inline constexpr std::int64_t kWinogradMostRow = 64;

}  // namespace stowage
