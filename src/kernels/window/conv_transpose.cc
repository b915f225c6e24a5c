// SPDX-License-Identifier: Apache-2.0
#include "kernels/window/conv_transpose.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/checked.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "kernels/gemm/task_grid.h"
#include "kernels/layouts.h"

namespace stowage {

namespace {

constexpr int kTableEntries = 2048, kMostPixels = 512;
/// Strides beyond this make too many phases.
constexpr std::int64_t kMostPhases = 256;

struct Phase {
  std::array<PhaseAxis, 3> axes;
  PixelGemm gemm;
  TaskGrid grid;
  std::int64_t first_task = 0;  // of one image and group

  std::int64_t pixels() const { return axes[0].count * axes[1].count * axes[2].count; }
};

struct Deconv {
  Window w;
  std::int64_t batch = 1, group = 1, group_channels = 1;
  std::int64_t in_image = 0, in_group = 0, in_pixel = 0;
  std::int64_t out_image = 0, out_group = 0, out_pixel = 0;
  std::int64_t w_group = 0;
  std::vector<Phase> phases;
  std::int64_t tasks = 0;  // of one image and group
  int bias = -1;
};

/// Table and output offsets for pixels [begin, begin + count) of a phase.
void fill_table(const Deconv& d, const Phase& phase, const float* image, std::int64_t begin,
                std::int64_t count, std::int64_t pitch, const float** table, std::int64_t* at) {
  const Window& w = d.w;
  const auto& [az, ay, ax] = phase.axes;
  std::int64_t jx = begin % ax.count, jy = begin / ax.count % ay.count,
               jz = begin / ax.count / ay.count;
  for (std::int64_t p = 0; p < count; ++p) {
    const std::int64_t oz = az.first + jz * w.stride[0], oy = ay.first + jy * w.stride[1],
                       ox = ax.first + jx * w.stride[2];
    at[p] = ((oz * w.out[1] + oy) * w.out[2] + ox) * d.out_pixel;
    const float** entry = table + p;
    for (const std::int64_t bz : az.base) {
      for (const std::int64_t by : ay.base) {
        const std::int64_t z = bz + jz, y = by + jy;
        const bool row_inside = z >= 0 && z < w.in[0] && y >= 0 && y < w.in[1];
        const float* row = image + (z * w.in[1] + y) * w.in[2] * d.in_pixel;
        for (const std::int64_t bx : ax.base) {
          const std::int64_t x = bx + jx;
          const bool inside = row_inside && x >= 0 && x < w.in[2];
          *entry = inside ? row + x * d.in_pixel : zero_run();
          entry += pitch;
        }
      }
    }
    if (++jx == ax.count) {
      jx = 0;
      if (++jy == ay.count) {
        jy = 0;
        ++jz;
      }
    }
  }
}

void run_task(const Deconv& d, const KernelArgs& args, std::int64_t task) noexcept {
  const std::int64_t n = task / d.tasks / d.group, g = task / d.tasks % d.group;
  task %= d.tasks;
  const auto next =
      std::upper_bound(d.phases.begin(), d.phases.end(), task,
                       [](std::int64_t t, const Phase& phase) { return t < phase.first_task; });
  const Phase& phase = *(next - 1);
  task -= phase.first_task;
  const std::int64_t share = task % phase.grid.shares, block = task / phase.grid.shares;

  const std::int64_t out = n * d.out_image + g * d.out_group, channel = g * d.group_channels;
  PixelGemmCall call;
  call.weights = args.input<float>(1) + g * d.w_group;
  call.bias = args.optional_input<float>(d.bias, channel);
  phase.gemm.posts.resolve(args, out, channel, call.operands);
  call.out = args.output<float>(0) + out;
  const std::int64_t panels = phase.gemm.panels(tile_lanes());
  call.panel_begin = panels * share / phase.grid.shares;
  call.panel_end = panels * (share + 1) / phase.grid.shares;

  const float* table[kTableEntries];
  std::int64_t at[kMostPixels];
  const std::int64_t taps = std::max(phase.gemm.taps(), 1);
  const std::int64_t most = std::min<std::int64_t>(kMostPixels, kTableEntries / taps);
  const float* image = args.input<float>(0) + n * d.in_image + g * d.in_group;
  const std::int64_t end = std::min((block + 1) * phase.grid.block, phase.pixels());
  for (std::int64_t begin = block * phase.grid.block; begin < end; begin += most) {
    call.count = static_cast<int>(std::min(most, end - begin));
    fill_table(d, phase, image, begin, call.count, most, table, at);
    call.pixels = table;
    call.pixel_stride = most;
    call.out_at = at;
    pixel_gemm(phase.gemm, call);
  }
}

/// Phases of all axes; false when there are too many, or too many taps.
bool add_phases(const PixelGemm& gemm, std::int64_t tap_floats, int threads, Deconv& d) {
  const Extents3& s = d.w.stride;
  if (checked_mul(checked_mul(s[0], s[1]), s[2]) > kMostPhases) return false;
  for (std::int64_t i = 0; i < s[0] * s[1] * s[2]; ++i) {
    Phase phase;
    phase.axes = {phase_axis(d.w, 0, i / s[2] / s[1]), phase_axis(d.w, 1, i / s[2] % s[1]),
                  phase_axis(d.w, 2, i % s[2])};
    if (phase.pixels() == 0) continue;
    phase.gemm = gemm;
    for (const std::int64_t kz : phase.axes[0].taps) {
      for (const std::int64_t ky : phase.axes[1].taps) {
        for (const std::int64_t kx : phase.axes[2].taps) {
          phase.gemm.w_tap.push_back(((kz * d.w.kernel[1] + ky) * d.w.kernel[2] + kx) * tap_floats);
        }
      }
    }
    const std::int64_t taps = phase.gemm.taps();
    if (taps > kTableEntries) return false;
    const std::int64_t most_taps = std::max<std::int64_t>(taps, 1);
    const std::int64_t phases = s[0] * s[1] * s[2];
    phase.grid =
        share_pixels(phase.pixels(), gemm.panels(tile_lanes()), d.batch * d.group * phases, threads,
                     std::min<std::int64_t>(kMostPixels, kTableEntries / most_taps), false);
    phase.first_task = d.tasks;
    d.tasks += phase.grid.blocks * phase.grid.shares;
    d.phases.push_back(std::move(phase));
  }
  return true;
}

/// Floats of a row of weights: a panel of output channels.
std::int64_t weights_row(std::int64_t out_channels) {
  const std::int64_t lanes = tile_lanes();
  return tile_panel(ceil_div(out_channels, lanes)) * lanes;
}

/// Nothing when there are too many phases or taps.
std::optional<Deconv> place(const ConvTransposeParams& p) {
  const std::int64_t lanes = tile_lanes();
  const std::int64_t all_in = p.in_channels * p.group, all_out = p.out_channels * p.group;
  const std::int64_t out_blocks = ceil_div(p.out_channels, lanes);
  const std::int64_t in_blocks = ceil_div(p.in_channels, lanes);
  Deconv d;
  d.w = p.w;
  d.batch = p.batch;
  d.group = p.group;
  d.group_channels = p.out_channels;
  d.bias = p.bias;
  PixelGemm g;
  g.channels = p.out_channels;
  g.panel = tile_panel(out_blocks);
  g.w_row = weights_row(p.out_channels);
  g.posts = BoundPosts(p.posts);
  std::int64_t tap_floats = 0;
  if (p.blocked) {
    const std::int64_t plane = d.w.in_pixels() * lanes;
    d.in_pixel = d.out_pixel = lanes;
    d.in_image = ceil_div(all_in, lanes) * plane;
    d.in_group = in_blocks * plane;
    g.outer = in_blocks;
    g.in_outer = plane;
    g.run = in_blocks == 1 ? p.in_channels : lanes;
    g.last_run = p.in_channels - (in_blocks - 1) * lanes;
    tap_floats = lanes * g.w_row;
    g.w_outer = d.w.taps() * tap_floats;
    g.w_panel = ceil_div(all_in, lanes) * g.w_outer;
    d.w_group = in_blocks * g.w_outer;
    g.out_block = d.w.out_pixels() * lanes;
    d.out_image = ceil_div(all_out, lanes) * g.out_block;
    d.out_group = out_blocks * g.out_block;
  } else {
    d.in_pixel = all_in;
    d.in_image = d.w.in_pixels() * all_in;
    d.in_group = p.in_channels;
    g.run = g.last_run = p.in_channels;
    tap_floats = all_in * g.w_row;
    g.w_panel = d.w.taps() * tap_floats;
    d.w_group = p.in_channels * g.w_row;
    g.out_block = lanes;
    g.out_padded = false;
    d.out_pixel = all_out;
    d.out_image = d.w.out_pixels() * all_out;
    d.out_group = p.out_channels;
  }
  if (!add_phases(g, tap_floats, p.threads, d)) return std::nullopt;
  return d;
}

Deconv bind(const ConvTransposeParams& p, const BindArgs& args) {
  Deconv d = *place(p);
  const float* weights = args.constant<float>(1);
  if (weights == nullptr || d.phases.empty()) return d;
  const PixelGemm& gemm = d.phases[0].gemm;
  const bool finite = all_finite(weights, gemm.panels(tile_lanes()) * gemm.w_panel);
  for (Phase& phase : d.phases) phase.gemm.skips_padding = finite;
  return d;
}

void run(const Deconv& d, const KernelArgs& args) noexcept {
  parallel(args.pool, static_cast<std::size_t>(d.batch * d.group * d.tasks),
           [&](std::size_t i) { run_task(d, args, static_cast<std::int64_t>(i)); });
}

}  // namespace

constexpr KernelDef kConvTransposeBlocked =
    kernel_def<ConvTransposeParams, bind, run>("conv_transpose_blocked", takes_any);
constexpr KernelDef kConvTransposeChannelsLast =
    kernel_def<ConvTransposeParams, bind, run>("conv_transpose_channels_last", takes_any);

std::optional<TileWork> conv_transpose_work(const ConvTransposeParams& p) {
  const auto d = place(p);
  if (!d) return std::nullopt;
  TileWork work;
  for (const Phase& phase : d->phases) {
    const TileWork part = tile_work(phase.gemm, phase.pixels());
    work.useful += part.useful;
    work.spent += part.spent;
  }
  return work;
}

Layout conv_transpose_weights_layout(const Shape& shape, const ConvTransposeParams& p) {
  const std::int64_t lanes = tile_lanes(), row = weights_row(p.out_channels);
  const std::string taps = spatial_text(shape);
  return layout_by_position(
      shape, p.blocked ? text("$1/", row, " $0/", lanes, taps, " $0%", lanes, " $1%", row)
                       : text("$1/", row, taps, " $0 $1%", row));
}

}  // namespace stowage
