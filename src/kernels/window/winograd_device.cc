// SPDX-License-Identifier: Apache-2.0
#include "kernels/window/winograd_device.h"

#include <algorithm>
#include <bit>

#include "base/checked.h"
#include "base/index.h"
#include "base/text.h"
#include "kernels/expressions.h"
#include "kernels/window/conv_device.h"

namespace stowage {

namespace {

constexpr std::int64_t kTile = 4, kTaps = 3, kResults = 2;

/// Texels of output channels that follow each other in the table, and that a group reads together:
/// 128 bytes where there are as many.
std::int64_t out_block(std::int64_t out_texels) {
  return std::min<std::int64_t>(static_cast<std::int64_t>(std::bit_ceil(idx(out_texels))), 8);
}

/// G g for three taps that lie `step` apart.
std::array<double, kTile> transformed(const double* g, std::size_t step) {
  const double even = g[0] + g[2 * step], odd = g[step];
  return {g[0], (even + odd) / 2, (even - odd) / 2, g[2 * step]};
}

/// G g Gt of 3 x 3 taps.
std::array<float, kTile * kTile> transformed(const float* taps) {
  std::array<double, kTaps * kTaps> g;
  std::copy_n(taps, g.size(), g.begin());
  std::array<double, kTile * kTaps> rows;
  for (std::size_t b = 0; b < kTaps; ++b) {
    const auto column = transformed(g.data() + b, kTaps);
    for (std::size_t i = 0; i < kTile; ++i) rows[i * kTaps + b] = column[i];
  }
  std::array<float, kTile * kTile> u;
  for (std::size_t i = 0; i < kTile; ++i) {
    const auto row = transformed(rows.data() + i * kTaps, 1);
    for (std::size_t j = 0; j < kTile; ++j) u[i * kTile + j] = static_cast<float>(row[j]);
  }
  return u;
}

/// As winograd.cl reads them, slowest first: block of output texels, texel of input channels, place
/// in the tile, lane of the input, output texel in the block, lane of the output. What sticks out
/// is zero.
std::vector<float> filters(const Shape& k, const float* weights) {
  const std::int64_t out_texels = texels_of(k[0]), in_texels = texels_of(k[1]);
  const std::int64_t block = out_block(out_texels);
  const std::int64_t row = block * kTexel;  // of output channels
  std::vector<float> out(
      idx(ceil_div(out_texels, block) * in_texels * kTexel * kTile * kTile * row));
  for (std::int64_t o = 0; o < k[0]; ++o) {
    for (std::int64_t c = 0; c < k[1]; ++c) {
      const auto u = transformed(weights + (o * k[1] + c) * kTaps * kTaps);
      const std::int64_t tiles = (o / row * in_texels + c / kTexel) * kTile * kTile;
      for (std::size_t place = 0; place < u.size(); ++place) {
        const std::int64_t at = (tiles + static_cast<std::int64_t>(place)) * kTexel + c % kTexel;
        out[idx(at * row + o % row)] = u[place];
      }
    }
  }
  return out;
}

}  // namespace

double winograd_filter_bytes(std::int64_t out_channels, std::int64_t in_channels) {
  const std::int64_t out_texels = texels_of(out_channels), block = out_block(out_texels);
  return static_cast<double>(ceil_div(out_texels, block) * block) * static_cast<double>(kTexel) *
         static_cast<double>(texels_of(in_channels) * kTexel) * static_cast<double>(kTile * kTile) *
         sizeof(float);
}

void launch_winograd(const WinogradDeviceParams& p, const LaunchArgs& args, Launch& launch) {
  const Shape &y = args.out[0].mapping.shape(), &k = args.in[1].mapping.shape();
  launch.source = "winograd";
  launch.operands = {{"x", 0, false}, {"y", 0, true}};
  if (p.bias >= 0) launch.operands.push_back({"b", p.bias, false});
  const auto* weights =
      args.constants.size() > 1 ? reinterpret_cast<const float*>(args.constants[1]) : nullptr;
  launch.tables.push_back({"filters",
                           weights == nullptr ? std::vector<float>() : filters(k, weights),
                           static_cast<std::size_t>(winograd_filter_bytes(k[0], k[1]))});
  const std::int64_t tiles_h = ceil_div(y[2], kResults), tiles_w = ceil_div(y[3], kResults);
  launch.scalar("pad_h", p.w.pad_begin[1]);
  launch.scalar("pad_w", p.w.pad_begin[2]);
  launch.scalar("tiles_h", tiles_h);
  launch.scalar("tiles_w", tiles_w);
  launch.scalar("in_texels", texels_of(k[1]));
  const std::int64_t out_texels = texels_of(k[0]), block = out_block(out_texels);
  launch.defines = {{"SPLIT", text(p.split)},
                    {"GROUP", text(kWinogradGroup)},
                    {"OUT_BLOCK", text(block)},
                    {"BIAS(o)", p.bias >= 0 ? "READ_b(o)" : "((float4)(0))"}};
  add_posts(launch, args, p.posts, {y, 1, {"n", "o", "h", "w"}}, 1);
  launch.items = {out_texels, y[0] * tiles_h * tiles_w, p.split};
  // Without a sum to share, two of what devices run in step.
  const int wide = p.split > 1 ? kWinogradGroup : 2 * kWinogradGroup;
  launch.group = {static_cast<int>(block), wide / static_cast<int>(block), p.split};
  launch.fixed_group = p.split > 1;
}

}  // namespace stowage
