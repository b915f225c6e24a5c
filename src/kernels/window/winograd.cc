// SPDX-License-Identifier: Apache-2.0
#include "kernels/window/winograd.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/index.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "kernels/gemm/tiles.h"
#include "kernels/layouts.h"
#include "kernels/window/winograd_transform.h"

namespace stowage {

namespace {

/// Tiles that go through the three stages together: often enough to read filters for, few enough
/// for their places to stay in the caches of a core. The same on every machine: plans count the
/// scratch.
constexpr std::int64_t kStrip = 48;
/// Of multiples of so many pixel_gemm leaves no tile of less than four over, on any instruction
/// set.
constexpr std::int64_t kWhole = 12;
/// Fewer tiles would read the filters for too little.
constexpr std::int64_t kLeastTiles = 24;
/// Output channels whose products are kept until they are transformed.
constexpr std::int64_t kGroupChannels = 64;
constexpr std::int64_t kLineFloats = 16;

struct Winograd {
  WinogradTiles tiles;
  std::int64_t count = 0;  ///< tiles of all images
  std::int64_t in_blocks = 0, out_blocks = 0;
  std::int64_t strip = 0, strips = 0;  ///< tiles
  std::int64_t unit = 1;               ///< in which tiles are shared out
  std::int64_t group = 0, groups = 0;  ///< panels of output channels
  std::int64_t panels = 0;
  /// A task has a part of the strips and a share of the groups, and a slot of the scratch. Tasks of
  /// one part make the same places, each for itself: that is less than fetching from another core.
  std::int64_t parts = 1, shares = 1;
  std::int64_t in_tile = 0, in_place = 0, out_tile = 0, out_place = 0;
  PixelGemm gemm;                  ///< of a whole group
  std::int64_t u_place = 0;        ///< of a panel and a place
  std::shared_ptr<float> filters;  ///< [group][place][panel][in channel][lanes of a panel]
  int bias = -1;

  int places() const { return tiles.form.places(); }

  std::int64_t in_floats() const { return places() * in_place; }

  std::int64_t out_floats() const { return places() * out_place; }

  std::int64_t slot_floats() const { return in_floats() + out_floats(); }

  std::int64_t scratch_floats() const { return parts * shares * slot_floats(); }

  std::int64_t filter_floats() const { return places() * panels * u_place; }

  std::int64_t panels_of(std::int64_t g) const { return std::min(group, panels - g * group); }

  std::int64_t strip_begin(std::int64_t s) const {
    return std::min(count, round_up(count * s / strips, unit));
  }
};

/// Places lie a line more than whole sets of the caches apart: all of a tile are written together.
std::int64_t place_distance(std::int64_t floats) {
  return round_up(floats, kLineFloats) + kLineFloats;
}

WinogradTiles::Side side(bool blocked, std::int64_t pixels, std::int64_t channels) {
  const std::int64_t lanes = tile_lanes();
  if (!blocked) return {channels, lanes, pixels * channels, false};
  return {lanes, pixels * lanes, ceil_div(channels, lanes) * pixels * lanes, true};
}

/// How tiles and output channels are cut: tiles first, channels where tiles are few.
void cut(Winograd& c, int threads) {
  const std::int64_t lanes = tile_lanes(), width = c.gemm.panel * lanes;
  c.group = std::min(c.panels, std::max<std::int64_t>(kGroupChannels / width, 1));
  c.strips = ceil_div(c.count, kStrip);
  c.groups = ceil_div(c.panels, c.group);
  if (threads > 1) {
    // Two tasks for each thread where there is enough for all, in case a core is taken away.
    const std::int64_t tasks = c.strips >= 4 * threads ? 2 * threads : threads;
    c.parts = std::clamp<std::int64_t>(c.count / kLeastTiles, 1, tasks);
    c.shares = std::min(c.panels, ceil_div(tasks, c.parts));
    c.parts = std::min(c.count, std::max(c.parts, ceil_div(tasks, c.shares)));
    c.strips = std::min(c.count, round_up(c.strips, c.parts));
    c.groups = std::max(c.groups, c.shares);
  }
  c.strip = ceil_div(c.count, c.strips);
  // The rest of a division by few would weigh more than a tile that is left over.
  if (c.strip >= 3 * kWhole) c.unit = kWhole;
  c.strip = round_up(c.strip, c.unit);
  c.group = ceil_div(c.panels, c.groups);
  c.groups = ceil_div(c.panels, c.group);
  c.shares = std::min(c.shares, c.groups);
}

Winograd place(const WinogradParams& p, const WinogradForm& form) {
  const ConvFacts& f = p.facts;
  const std::int64_t lanes = tile_lanes();
  Winograd c;
  WinogradTiles& t = c.tiles;
  t.form = form;
  t.w = f.w;
  t.in_channels = f.in_channels;
  t.out_channels = f.out_channels;
  const auto tiles = [&](std::size_t axis, const WinogradAxis& a) {
    std::int64_t& dilation = t.w.dilation[axis];
    if (a.taps == 1) dilation = 1;
    const std::int64_t extent = f.w.out[axis];
    return std::min(dilation, extent) * ceil_div(ceil_div(extent, dilation), a.results);
  };
  t.rows = tiles(1, form.y);
  t.columns = tiles(2, form.x);
  t.in = side(p.variant.in_blocked, f.w.in_pixels(), f.in_channels);
  t.out = side(p.variant.out_blocked, f.w.out_pixels(), f.out_channels);
  t.posts = BoundPosts(p.posts);
  c.count = f.batch * f.w.out[0] * t.rows * t.columns;
  c.in_blocks = ceil_div(f.in_channels, lanes);
  c.out_blocks = ceil_div(f.out_channels, lanes);
  c.bias = p.bias;

  PixelGemm& g = c.gemm;
  g.panel = tile_panel(c.out_blocks);
  g.run = g.last_run = f.in_channels;
  g.w_row = g.panel * lanes;
  for (std::int64_t tap = 0; tap < f.w.kernel[0]; ++tap)
    g.w_tap.push_back(tap * f.in_channels * g.w_row);
  g.w_panel = c.u_place = f.w.kernel[0] * f.in_channels * g.w_row;
  g.out_block = lanes;
  c.panels = ceil_div(c.out_blocks, g.panel);
  cut(c, p.threads);
  g.channels = c.group * g.w_row;
  c.in_tile = f.w.kernel[0] * c.in_blocks * lanes;
  c.in_place = place_distance(c.strip * c.in_tile);
  c.out_tile = g.channels;
  c.out_place = place_distance(c.strip * c.out_tile);
  return c;
}

template <std::size_t Form>
Winograd bind(const WinogradParams& p, const BindArgs& args) {
  constexpr WinogradForm form = kWinogradForms[Form];
  Winograd c = place(p, form);
  const std::int64_t row = c.gemm.w_row, places = c.places();
  c.filters.reset(static_cast<float*>(allocate(idx(c.filter_floats()) * sizeof(float))), Free());
  const float* taps = args.constant<float>(1);
  for (std::int64_t panel = 0; panel < c.panels; ++panel) {
    const std::int64_t g = panel / c.group, stride = c.panels_of(g) * c.u_place;
    float* to = c.filters.get() + g * c.group * places * c.u_place + panel % c.group * c.u_place;
    for (std::int64_t i = 0; i < c.tiles.in_channels; ++i, to += row) {
      for (const std::int64_t tap : c.gemm.w_tap) {
        winograd_weights(form, taps, row, to + tap, stride);
        taps += form.y.taps * form.x.taps * row;
      }
    }
  }
  return c;
}

/// A group of output channels of tiles whose places are at `in`.
void run_group(const Winograd& c, const KernelArgs& args, std::int64_t g, const float* in,
               std::int64_t first, std::int64_t count, float* products) noexcept {
  const float* pixels[kWinogradMostTaps * kStrip];
  std::int64_t at[kStrip];
  for (std::int64_t i = 0; i < count; ++i) at[i] = i * c.out_tile;
  const std::int64_t panels = c.panels_of(g), taps = c.gemm.taps(), plane = c.in_tile / taps;
  PixelGemmCall call;
  call.pixels = pixels;
  call.pixel_stride = count;
  call.count = static_cast<int>(count);
  call.out_at = at;
  call.weights = c.filters.get() + g * c.group * c.places() * c.u_place;
  call.panel_end = panels;
  call.out = products;
  for (int place = 0; place < c.places(); ++place) {
    for (std::int64_t tap = 0; tap < taps; ++tap)
      for (std::int64_t i = 0; i < count; ++i)
        pixels[tap * count + i] = in + i * c.in_tile + tap * plane;
    pixel_gemm(c.gemm, call);
    in += c.in_place;
    call.weights += panels * c.u_place;
    call.out += c.out_place;
  }
  WinogradOutput out;
  out.from = products;
  out.place_stride = c.out_place;
  out.tile_stride = c.out_tile;
  out.first = first;
  out.count = count;
  out.block_begin = g * c.group * c.gemm.panel;
  out.block_end = std::min(out.block_begin + panels * c.gemm.panel, c.out_blocks);
  out.bias = args.optional_input<float>(c.bias);
  c.tiles.posts.resolve(args, 0, 0, out.operands);
  out.out = args.output<float>(0);
  winograd_output(c.tiles, out);
}

WinogradInput input_call(const Winograd& c, const float* x, float* to) {
  WinogradInput in;
  in.in = x;
  in.to = to;
  in.place_stride = c.in_place;
  in.tile_stride = c.in_tile;
  return in;
}

void run(const Winograd& c, const KernelArgs& args) noexcept {
  parallel(args.pool, idx(c.parts * c.shares), [&](std::size_t i) {
    const auto slot = static_cast<std::int64_t>(i);
    const std::int64_t part = slot / c.shares, share = slot % c.shares;
    float* const in = reinterpret_cast<float*>(args.scratch) + slot * c.slot_floats();
    WinogradInput call = input_call(c, args.input<float>(0), in);
    for (std::int64_t s = c.strips * part / c.parts; s < c.strips * (part + 1) / c.parts; ++s) {
      call.first = c.strip_begin(s);
      call.count = c.strip_begin(s + 1) - call.first;
      winograd_input(c.tiles, call);
      const std::int64_t end = c.groups * (share + 1) / c.shares;
      for (std::int64_t g = c.groups * share / c.shares; g < end; ++g) {
        run_group(c, args, g, in, call.first, call.count, in + c.in_floats());
      }
    }
  });
}

template <std::size_t Form>
constexpr KernelDef row(const char* name) {
  return kernel_def<WinogradParams, bind<Form>, run>(name, takes_any);
}

}  // namespace

constexpr std::array<KernelDef, std::size(kWinogradForms)> kWinogradKernels = {
    row<0>("conv_winograd2"),      row<1>("conv_winograd4"),      row<2>("conv_winograd6"),
    row<3>("conv_winograd2_5x5"),  row<4>("conv_winograd4_5x5"),  row<5>("conv_winograd2_7x7"),
    row<6>("conv_winograd4_1x3"),  row<7>("conv_winograd6_1x3"),  row<8>("conv_winograd4_1x5"),
    row<9>("conv_winograd2_1x7"),  row<10>("conv_winograd4_3x1"), row<11>("conv_winograd6_3x1"),
    row<12>("conv_winograd4_5x1"), row<13>("conv_winograd2_7x1")};

bool winograd_fits(const ConvFacts& f, const WinogradForm& form) noexcept {
  constexpr std::int64_t kMostSums = 1024;
  const std::int64_t sums = f.w.kernel[0] * f.in_channels;
  const int size = std::max(form.y.size(), form.x.size());
  if (size > 6 && sums > kMostSums) return false;
  if (size > 4 && sums > 2 * kMostSums) return false;
  const auto fits = [&](std::size_t axis, const WinogradAxis& a) {
    return f.w.kernel[axis] == a.taps && f.w.stride[axis] == 1 &&
           (a.taps == 1 || f.w.dilation[axis] == 1 || 2 * f.w.dilation[axis] <= f.w.out[axis]);
  };
  return f.group == 1 && f.w.kernel[0] <= kWinogradMostTaps && fits(1, form.y) && fits(2, form.x);
}

Layout winograd_weights_layout(const Shape& shape) {
  const std::int64_t lanes = tile_lanes();
  const std::int64_t row = tile_panel(ceil_div(shape[0], lanes)) * lanes;
  std::string order = text("$0/", row);
  for (int i = 1; i < shape.rank(); ++i) order += text(" $", i);
  return layout_by_position(shape, text(order, " $0%", row));
}

WinogradWork winograd_work(const WinogradParams& p, const WinogradForm& form) {
  // In multiply-adds of a vector, fitted to convolutions of real models: for a block of channels
  // and a place what the transforms take, along one axis or two, that of results with the products
  // that are stored for it and read again; for a vector of filters what waiting for it takes, once.
  // Of 8 and 16 lanes (docs/performance.md).
  const double input = in_multiply_adds(14), output = in_multiply_adds(10.5);
  const double filter = in_multiply_adds(8);
  // Done for a block and a place, in either transform.
  const double additions = (form.y.taps > 1 ? 1.5 : 0) + (form.x.taps > 1 ? 1.5 : 0);
  const Winograd c = place(p, form);
  const auto lanes = static_cast<double>(tile_lanes());
  const auto planes = static_cast<double>(p.facts.w.kernel[0]);
  const auto places = static_cast<double>(c.places());
  const auto count = static_cast<double>(c.count);
  PixelGemm gemm = c.gemm;
  gemm.channels = p.facts.out_channels;
  const auto strips = static_cast<double>(c.strips);
  const double products = places * strips * tile_work(gemm, ceil_div(c.count, c.strips)).spent;
  const auto in = static_cast<double>(c.in_blocks), out = static_cast<double>(c.out_blocks);
  const double transforms =
      count * places * (input * planes * in * static_cast<double>(c.shares) + output * out);
  const double filters = static_cast<double>(c.filter_floats()) / lanes;
  const double posts =
      posts_cost(c.tiles.posts) * out * static_cast<double>(p.facts.batch * p.facts.w.out_pixels());
  const double useful = places * count * planes * static_cast<double>(p.facts.in_channels) *
                        static_cast<double>(p.facts.out_channels) / lanes;
  WinogradWork work;
  const double done = useful + additions * count * places * (planes * in + out);
  work.flops = 2 * lanes * done;
  work.efficiency = done / (products + transforms + filter * filters + posts);
  work.extra_bytes =
      static_cast<double>(sizeof(float)) *
      (static_cast<double>(c.filter_floats()) -
       static_cast<double>(p.facts.in_channels * c.panels * c.gemm.w_row * p.facts.w.taps()));
  work.scratch_bytes = idx(c.scratch_floats()) * sizeof(float);
  return work;
}

}  // namespace stowage
