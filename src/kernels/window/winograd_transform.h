// SPDX-License-Identifier: Apache-2.0
// The transforms of Winograd's F(m x m, 3 x 3) over blocks of channels. A tile of the input, of
// (m + 2) x (m + 2) pixels, becomes as many places; those of the products become m x m pixels.
#pragma once

#include <cstdint>

#include "kernels/post.h"
#include "kernels/window/window.h"

namespace stowage {

/// What is the same for all tiles of a convolution. Distances are in floats.
struct WinogradTiles {
  int tile = 4;  ///< m: 2, 4 or 6 results along either axis
  Window w;
  std::int64_t in_channels = 1, out_channels = 1;
  std::int64_t rows = 1, columns = 1;  ///< of tiles in an image, those inside one another too

  struct Side {
    std::int64_t pixel = 0, block = 0, image = 0;
    bool padded = true;  ///< the last block has room for all lanes
  };

  Side in, out;
  BoundPosts posts;

  int places() const { return (tile + 2) * (tile + 2); }
};

/// Tiles are numbered through rows and images.
struct WinogradInput {
  const float* in = nullptr;
  std::int64_t first = 0, count = 0;               ///< tiles
  std::int64_t block_begin = 0, block_end = 0;     ///< of channels
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

void winograd_input(const WinogradTiles& tiles, const WinogradInput& call) noexcept;
void winograd_output(const WinogradTiles& tiles, const WinogradOutput& call) noexcept;

/// Of `channels` output channels, at most kWinogradMostRow: 3 x 3 taps, [tap][channel], to
/// [place * place_stride + channel]. In double precision, then rounded.
void winograd_weights(int tile, const float* taps, std::int64_t channels, float* to,
                      std::int64_t place_stride) noexcept;

inline constexpr std::int64_t kWinogradMostRow = 64;

}  // namespace stowage
