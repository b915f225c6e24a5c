// SPDX-License-Identifier: Apache-2.0
#include "kernels/window/conv.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/checked.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "kernels/gemm/task_grid.h"
#include "kernels/layouts.h"

namespace stowage {

namespace {

// Tables live on the stack of the task.
constexpr int kTableEntries = 2048, kMostPixels = 512;
constexpr std::int64_t kCopyFloats = 6144;
/// Pixels at the border of the image that a task must be able to copy before it has to stop.
constexpr std::int64_t kLeastBorder = 16;

/// A row of the window that is so short is copied behind the one before, so that a tile has one
/// long sum instead of many short ones, whose products take no longer than what is around them.
constexpr std::int64_t kGatheredRun = 8;

struct PixelConv {
  Window w;
  std::int64_t batch = 1, group = 1;
  PixelGemm gemm;
  std::int64_t in_image = 0, in_group = 0, in_pixel = 0;
  std::int64_t out_image = 0, out_group = 0, out_pixel = 0;
  std::int64_t w_group = 0;
  /// Taps of one row of the window are one run: channels last, no dilation along w.
  bool rows = false;
  bool gathers = false;    ///< and they are copied behind each other: one tap
  Extents3 taps{1, 1, 1};  ///< of the table, or that are gathered
  /// For each tap of the w axis, where it lies inside the input.
  std::vector<OutRange> inside;
  TaskGrid grid;
  int bias = -1;
};

/// Fills the table for runs of output pixels of one row.
class TableBuilder {
 public:
  TableBuilder(const PixelConv& conv, const float* image, std::int64_t first) noexcept
      : c_(conv), image_(image), next_(first) {
    x_ = first % c_.w.out[2];
    y_ = first / c_.w.out[2] % c_.w.out[1];
    z_ = first / c_.w.out[2] / c_.w.out[1];
  }

  /// Up to `most` pixels; fewer when the copies of padded runs fill their buffer.
  int fill(std::int64_t most) noexcept {
    copied_ = 0;
    most = std::min<std::int64_t>({most, kMostPixels, stride()});
    std::int64_t count = 0;
    while (count < most) {
      std::int64_t length = std::min(most - count, c_.w.out[2] - x_);
      if (c_.gathers) {
        length = std::min(length, (kCopyFloats - copied_) / gathered());
        if (length == 0) break;
      } else if (c_.rows && x_ >= c_.inside[0].begin && x_ < c_.inside[0].end) {
        length = std::min(length, c_.inside[0].end - x_);
      } else if (c_.rows) {
        length = 1;
        if (copied_ + c_.gemm.taps() * c_.gemm.run > kCopyFloats) break;
      }
      if (c_.gathers) {
        gather(count, length);
      } else {
        add_run(count, length);
      }
      for (std::int64_t i = 0; i < length; ++i) at[count + i] = (next_ + i) * c_.out_pixel;
      count += length;
      next_ += length;
      step(length);
    }
    return static_cast<int>(count);
  }

  std::int64_t stride() const noexcept { return kTableEntries / c_.gemm.taps(); }

  const float* table[kTableEntries];
  std::int64_t at[kMostPixels];

 private:
  void step(std::int64_t length) noexcept {
    x_ += length;
    if (x_ < c_.w.out[2]) return;
    x_ = 0;
    if (++y_ < c_.w.out[1]) return;
    y_ = 0;
    ++z_;
  }

  /// The row of the input under a row of the window; null where it is padding.
  const float* input_row(std::int64_t kz, std::int64_t ky) const noexcept {
    const Window& w = c_.w;
    const std::int64_t z = z_ * w.stride[0] - w.pad_begin[0] + kz * w.dilation[0];
    const std::int64_t y = y_ * w.stride[1] - w.pad_begin[1] + ky * w.dilation[1];
    const bool inside = z >= 0 && z < w.in[0] && y >= 0 && y < w.in[1];
    return inside ? image_ + (z * w.in[1] + y) * w.in[2] * c_.in_pixel : nullptr;
  }

  /// `length` pixels of the current row, from the current one.
  void add_run(std::int64_t column, std::int64_t length) noexcept {
    const Window& w = c_.w;
    const float** entry = table + column;
    const std::int64_t pitch = stride();
    for (std::int64_t kz = 0; kz < c_.taps[0]; ++kz) {
      for (std::int64_t ky = 0; ky < c_.taps[1]; ++ky) {
        const float* row = input_row(kz, ky);
        for (std::int64_t kx = 0; kx < c_.taps[2]; ++kx, entry += pitch) {
          const std::int64_t x0 = x_ * w.stride[2] - w.pad_begin[2] + kx * w.dilation[2];
          if (row == nullptr) {
            std::fill(entry, entry + length, zero_run());
            continue;
          }
          const OutRange& range = c_.inside[static_cast<std::size_t>(kx)];
          const std::int64_t begin = std::clamp<std::int64_t>(range.begin - x_, 0, length);
          const std::int64_t end = std::clamp<std::int64_t>(range.end - x_, begin, length);
          if (c_.rows && begin == end) {
            *entry = copy_run(row, x0);
            continue;
          }
          for (std::int64_t i = 0; i < begin; ++i) entry[i] = zero_run();
          const float* p = row + x0 * c_.in_pixel;
          const std::int64_t ahead = w.stride[2] * c_.in_pixel;
          for (std::int64_t i = begin; i < end; ++i) entry[i] = p + i * ahead;
          for (std::int64_t i = end; i < length; ++i) entry[i] = zero_run();
        }
      }
    }
  }

  /// The run of a window row that sticks out, with zeros where there is padding.
  const float* copy_run(const float* row, std::int64_t x0) noexcept {
    float* to = copies_ + copied_;
    copied_ += c_.gemm.run;
    const std::int64_t begin = std::clamp<std::int64_t>(-x0, 0, c_.w.kernel[2]);
    const std::int64_t end = std::clamp<std::int64_t>(c_.w.in[2] - x0, begin, c_.w.kernel[2]);
    std::fill(to, to + c_.gemm.run, 0.0f);
    std::copy(row + (x0 + begin) * c_.in_pixel, row + (x0 + end) * c_.in_pixel,
              to + begin * c_.in_pixel);
    return to;
  }

  /// The windows of `length` pixels of the current row.
  void gather(std::int64_t column, std::int64_t length) noexcept {
    const std::int64_t run = c_.gemm.run / (c_.taps[0] * c_.taps[1]);
    float* const first = copies_ + copied_;
    for (std::int64_t i = 0; i < length; ++i) table[column + i] = first + i * gathered();
    copied_ += length * gathered();
    float* to = first;
    for (std::int64_t kz = 0; kz < c_.taps[0]; ++kz) {
      for (std::int64_t ky = 0; ky < c_.taps[1]; ++ky, to += run) {
        gather_row(input_row(kz, ky), length, run, to);
      }
    }
  }

  /// The part of those windows that is in one row of the input; null: of padding. Of a window
  /// inside the input it copies as much as the longest run, always: the next row overwrites what
  /// was too much.
  void gather_row(const float* row, std::int64_t length, std::int64_t run,
                  float* to) const noexcept {
    const Window& w = c_.w;
    const std::int64_t pitch = gathered(), step = w.stride[2] * c_.in_pixel;
    const std::int64_t row_end = row == nullptr ? 0 : w.in[2] * c_.in_pixel;
    std::int64_t from = (x_ * w.stride[2] - w.pad_begin[2]) * c_.in_pixel;
    for (std::int64_t i = 0; i < length; ++i, to += pitch, from += step) {
      if (from >= 0 && from + run <= row_end) {
        std::memcpy(to, row + from, kGatheredRun * sizeof(float));
        continue;
      }
      std::fill_n(to, kGatheredRun, 0.0f);
      const std::int64_t end = std::min(run, row_end - from);
      for (std::int64_t j = std::max<std::int64_t>(-from, 0); j < end; ++j) to[j] = row[from + j];
    }
  }

  /// Floats from one gathered window to the next.
  std::int64_t gathered() const noexcept { return c_.gemm.run + 2 * kGatheredRun; }

  const PixelConv& c_;
  const float* image_;
  std::int64_t x_, y_, z_, next_;
  std::int64_t copied_ = 0;
  float copies_[kCopyFloats];
};

void run_task(const PixelConv& c, const KernelArgs& args, std::int64_t task) noexcept {
  const std::int64_t share = task % c.grid.shares;
  task /= c.grid.shares;
  const std::int64_t block = task % c.grid.blocks;
  task /= c.grid.blocks;
  const std::int64_t g = task % c.group, n = task / c.group;

  const std::int64_t panels = c.gemm.panels(tile_lanes());
  const std::int64_t channel = g * c.gemm.channels;
  PixelGemmCall call;
  const std::int64_t out = n * c.out_image + g * c.out_group;
  call.weights = args.input<float>(1) + g * c.w_group;
  call.bias = args.optional_input<float>(c.bias, channel);
  c.gemm.posts.resolve(args, out, channel, call.operands);
  call.out = args.output<float>(0) + out;
  call.panel_begin = panels * share / c.grid.shares;
  call.panel_end = panels * (share + 1) / c.grid.shares;

  std::int64_t begin = block * c.grid.block;
  const std::int64_t end = std::min(begin + c.grid.block, c.w.out_pixels());
  TableBuilder builder(c, args.input<float>(0) + n * c.in_image + g * c.in_group, begin);
  while (begin < end) {
    call.count = builder.fill(end - begin);
    call.pixels = builder.table;
    call.pixel_stride = builder.stride();
    call.out_at = builder.at;
    pixel_gemm(c.gemm, call);
    begin += call.count;
  }
}

/// False when the window is too large for the tables.
bool place(const ConvFacts& f, ConvEnds v, PixelConv& c) {
  const std::int64_t lanes = tile_lanes();
  const std::int64_t all_in = f.in_channels * f.group, all_out = f.out_channels * f.group;
  const std::int64_t in_blocks = ceil_div(f.in_channels, lanes);
  const std::int64_t out_blocks = ceil_div(f.out_channels, lanes);
  c.w = f.w;
  c.batch = f.batch;
  c.group = f.group;
  c.taps = f.w.kernel;
  PixelGemm& g = c.gemm;
  g.channels = f.out_channels;
  g.panel = f.group > 1 && v.in_blocked ? tile_panel_dividing(out_blocks) : tile_panel(out_blocks);
  g.w_row = v.in_blocked || f.group == 1 ? g.panel * lanes : out_blocks * lanes;

  if (v.in_blocked) {
    const std::int64_t plane = f.w.in_pixels() * lanes;
    c.in_pixel = lanes;
    c.in_image = ceil_div(all_in, lanes) * plane;
    c.in_group = in_blocks * plane;
    g.outer = in_blocks;
    g.in_outer = plane;
    g.run = in_blocks == 1 ? f.in_channels : lanes;
    g.last_run = f.in_channels - (in_blocks - 1) * lanes;
  } else {
    c.in_pixel = all_in;
    c.in_image = f.w.in_pixels() * all_in;
    c.in_group = f.in_channels;
    const std::int64_t row_run = f.w.kernel[2] * f.in_channels;
    const std::int64_t window = f.w.kernel[0] * f.w.kernel[1] * row_run;
    const bool copied = window * kLeastBorder <= kCopyFloats;
    const OutRange whole = outputs_inside(f.w, 2, 0, f.w.kernel[2] - 1);
    const bool border = whole.begin > 0 || whole.end < f.w.out[2];
    c.rows = f.group == 1 && f.w.dilation[2] == 1 && row_run <= kZeroRun && (copied || !border);
    if (c.rows) c.taps[2] = 1;
    c.gathers = c.rows && copied && row_run <= kGatheredRun && window > row_run && g.panel > 1;
    g.run = g.last_run = c.gathers ? window : c.rows ? row_run : f.in_channels;
  }
  for (std::int64_t kx = 0; kx < c.taps[2]; ++kx) {
    const std::int64_t reach = (c.rows ? f.w.kernel[2] - 1 : 0) * f.w.dilation[2];
    c.inside.push_back(outputs_inside(f.w, 2, kx * f.w.dilation[2], reach));
  }
  const std::int64_t taps = c.gathers ? 1 : c.taps[0] * c.taps[1] * c.taps[2];
  if (taps > kTableEntries || (!v.in_blocked && g.run > kZeroRun)) return false;
  const std::int64_t tap_rows = v.in_blocked ? lanes : g.run;
  for (std::int64_t t = 0; t < taps; ++t) g.w_tap.push_back(t * tap_rows * g.w_row);
  g.w_outer = taps * tap_rows * g.w_row;
  g.w_panel = v.in_blocked || f.group == 1 ? g.outer * g.w_outer : g.panel * lanes;
  c.w_group = v.in_blocked ? out_blocks / g.panel * g.w_panel : g.w_outer;

  const std::int64_t pixels = f.w.out_pixels();
  if (v.out_blocked) {
    c.out_pixel = lanes;
    g.out_block = pixels * lanes;
    c.out_image = ceil_div(all_out, lanes) * g.out_block;
    c.out_group = out_blocks * g.out_block;
  } else {
    c.out_pixel = all_out;
    g.out_block = lanes;
    c.out_image = pixels * all_out;
    c.out_group = f.out_channels;
    g.out_padded = false;
  }
  return true;
}

/// Nothing when the window is too large for the tables.
std::optional<PixelConv> place(const ConvParams& p) {
  PixelConv c;
  if (!place(p.facts, p.variant, c)) return std::nullopt;
  const std::int64_t most =
      std::min<std::int64_t>(kMostPixels, kTableEntries / std::ssize(c.gemm.w_tap));
  c.grid = share_pixels(p.facts.w.out_pixels(), c.gemm.panels(tile_lanes()),
                        p.facts.batch * p.facts.group, p.threads, most, p.weights_heavy);
  c.bias = p.bias;
  c.gemm.posts = BoundPosts(p.posts);
  return c;
}

PixelConv bind(const ConvParams& p, const BindArgs& args) {
  PixelConv c = *place(p);
  const Extents3 none{0, 0, 0};
  if (const float* weights = args.constant<float>(1);
      weights != nullptr && (c.w.pad_begin != none || c.w.pad_end != none)) {
    const std::int64_t panels = c.gemm.panels(tile_lanes());
    c.gemm.skips_padding =
        all_finite(weights, c.group > 1 ? c.group * c.w_group : panels * c.gemm.w_panel);
  }
  return c;
}

void run(const PixelConv& c, const KernelArgs& args) noexcept {
  const std::int64_t tasks = c.batch * c.group * c.grid.blocks * c.grid.shares;
  parallel(args.pool, static_cast<std::size_t>(tasks),
           [&](std::size_t i) { run_task(c, args, static_cast<std::int64_t>(i)); });
}

}  // namespace

constexpr KernelDef kConvBlocked = kernel_def<ConvParams, bind, run>("conv_blocked", takes_any);
constexpr KernelDef kConvChannelsLast =
    kernel_def<ConvParams, bind, run>("conv_channels_last", takes_any);

std::optional<PixelGemm> conv_gemm(const ConvParams& p) {
  auto conv = place(p);
  if (!conv) return std::nullopt;
  return std::move(conv->gemm);
}

Layout conv_weights_layout(const Shape& shape, const ConvParams& p, const PixelGemm& gemm) {
  const ConvFacts& f = p.facts;
  const ConvEnds v = p.variant;
  const std::int64_t lanes = tile_lanes(), row = gemm.w_row;
  const std::string taps = spatial_text(shape);
  if (v.in_blocked) {
    return layout_by_position(shape,
                              text("$0/", row, " $1/", lanes, taps, " $1%", lanes, " $0%", row));
  }
  if (f.group == 1) return layout_by_position(shape, text("$0/", row, taps, " $1 $0%", row));
  return layout_by_position(
      shape, text("$0/", f.out_channels, taps, " $1 ($0%", f.out_channels, ")~", row));
}

}  // namespace stowage
