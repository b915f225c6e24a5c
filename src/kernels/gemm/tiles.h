// SPDX-License-Identifier: Apache-2.0
// The one inner loop of convolutions and matrix products:
//
//   out[p][o] = posts(bias[o] + sum over taps t and channels k of pixel[t][p][k] * w[t][k][o])
//
// A pixel is a pointer to a run of input channels: stride, dilation and padding live in the table
// of pointers alone. Weights are panels of a few blocks of output channels, a row a channel.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/post.h"

namespace stowage {

/// f32 lanes of the instruction set that pixel_gemm will use: a block of output channels.
int tile_lanes() noexcept;

/// Costs are counted in multiply-adds of a vector. A core does about as many of elements in a cycle
/// however long its vectors are, but of other instructions as many of vectors: what takes as long
/// as `of_8_lanes` multiply-adds of 8 lanes, in those of tile_lanes().
double in_multiply_adds(double of_8_lanes) noexcept;

/// How many blocks a panel of weights should hold when there are `blocks` in all and a panel may
/// not straddle them.
int tile_panel(std::int64_t blocks) noexcept;

/// As tile_panel, for panels that must tile `blocks` without remainder.
int tile_panel_dividing(std::int64_t blocks) noexcept;

/// Floats of weights that stay in the L2 of a core while all tiles of pixels go over them.
std::int64_t slab_floats() noexcept;

/// Floats that zero_run() holds.
inline constexpr std::int64_t kZeroRun = 4096;

/// Zeros, for a tap that falls into the padding.
const float* zero_run() noexcept;

/// No infinity and no NaN is among them: zeros times any of them are zeros.
bool all_finite(const float* x, std::int64_t count) noexcept;

/// What is the same for every call of a bound kernel. Distances are in floats.
struct PixelGemm {
  // The sum runs over outer x taps x run; the last outer step is only last_run long.
  std::int64_t outer = 1, in_outer = 0;  ///< pixels other than zero_run() advance by in_outer
  std::int64_t run = 0, last_run = 0;
  std::vector<std::int64_t> w_tap;  ///< where the weights of each tap begin
  std::int64_t w_outer = 0, w_row = 0, w_panel = 0;

  std::int64_t channels = 0;   ///< output channels
  int panel = 1;               ///< blocks a panel
  std::int64_t out_block = 0;  ///< between blocks of a pixel
  /// The last block of a pixel has room for all lanes, and tails of weights and bias are zero.
  bool out_padded = true;
  /// Taps that fall into the padding for all pixels of a tile are left out: weights are finite.
  bool skips_padding = false;

  BoundPosts posts;
  std::int64_t slab = slab_floats();  ///< weights of a panel before the next tile of pixels

  int taps() const { return static_cast<int>(w_tap.size()); }

  std::int64_t panels(int lanes) const {
    const std::int64_t width = std::int64_t{panel} * lanes;
    return (channels + width - 1) / width;
  }
};

struct PixelGemmCall {
  const float* const* pixels = nullptr;  ///< [tap * pixel_stride + pixel]
  std::int64_t pixel_stride = 0;
  int count = 0;                         ///< pixels
  const std::int64_t* out_at = nullptr;  ///< of each pixel, in `out` and what lies as it does
  const float* weights = nullptr;
  const float* bias = nullptr;             ///< may be null; readable in whole blocks
  const float* operands[kMostPosts] = {};  ///< of the posts; of channels: readable in whole blocks
  float* out = nullptr;
  std::int64_t panel_begin = 0, panel_end = 0;
};

void pixel_gemm(const PixelGemm& gemm, const PixelGemmCall& call) noexcept;

/// Counted in multiply-adds of a vector.
struct TileWork {
  double useful = 0;  ///< products of channels that there are
  double spent = 0;   ///< what takes as long as all of pixel_gemm, with the table that it reads

  double efficiency() const { return spent > 0 ? useful / spent : 1; }
};

TileWork tile_work(const PixelGemm& gemm, std::int64_t pixels) noexcept;

}  // namespace stowage
